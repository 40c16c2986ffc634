/** Pure: the rules for one payout, apart from its limits and its funds. Acceptance and preview judge by the same list. */
import { Refusal } from '../../api/index.ts'
import { isFiat, partnerKey, present } from '../../kernel/index.ts'
import { type AccountSnapshots, type AccountState, balanceStateIn, blocksOutbound } from '../../ledger/index.ts'
import type { Payee } from '../beneficiaries/index.ts'
import type { Payer } from '../customers/index.ts'
import { beneficiaryMapKey, type Creditor, debitedOf, outcomeOf, type PayoutCall } from './calls.ts'
import { requirePaidBy, unknownCountry } from './rules.ts'

/** A call that the rules allow, with the creditor that it pays. */
export type ValidPayout = {
  readonly call: PayoutCall
  readonly connector: string
  readonly creditor: Creditor
  readonly customerId: string | null
  /** When the beneficiary was created. Null: the payout has none. */
  readonly beneficiarySince: Date | null
  /** Since when the beneficiary has its account and its name. Null: the payout has none. */
  readonly beneficiaryUnchangedSince: Date | null
  readonly beneficiary: { readonly id: string; readonly alias: string | null } | null
}

/** What a rule judges. `beneficiary`: undefined if there is none with the id, or the call names none. */
type Judged = {
  readonly call: PayoutCall
  readonly connector: string | undefined
  readonly beneficiary: Payee | undefined
  /** With the state of the balance that is debited. */
  readonly accounts: AccountSnapshots
  /** Undefined: the payout is the partner's own, or its beneficiary is refused. */
  readonly customer: Payer | undefined
}
/** `notApplicable`: the call has nothing that the rule is about, or an earlier rule has refused what it is about. */
export type Judgement = Refusal | 'passed' | 'notApplicable'
type Rule = { readonly name: string; readonly judge: (judged: Judged) => Judgement }

/** In the order in which a request is refused. */
export const payoutRules: readonly Rule[] = [
  {
    name: 'currency',
    judge: ({ call: { operation, currency } }) => {
      const refused = outcomeOf(() => requirePaidBy(operation, currency))
      return refused instanceof Refusal ? refused : 'passed'
    },
  },
  {
    name: 'connection',
    judge: ({ call: { currency }, connector }) =>
      connector === undefined
        ? new Refusal(
            'currency_not_supported',
            `${isFiat(currency) ? 'No bank is connected that pays' : 'No chain is connected that transfers'} ${currency}.`,
          )
        : 'passed',
  },
  {
    name: 'beneficiary',
    judge: ({ call, beneficiary }) => {
      if (!('beneficiaryId' in call.payee)) return 'notApplicable'
      return beneficiary === undefined ? invalid('not_found', '/beneficiaryId', 'no such beneficiary') : 'passed'
    },
  },
  {
    name: 'beneficiaryCurrency',
    judge: ({ call: { currency, operation }, beneficiary }) => {
      if (beneficiary === undefined) return 'notApplicable'
      if (beneficiary.currency === currency) return 'passed'
      return invalid(
        'beneficiary_currency_mismatch',
        operation === 'createFxPayout' ? '/beneficiaryId' : '/currency',
        `must be ${beneficiary.currency}, the currency of the beneficiary`,
      )
    },
  },
  {
    name: 'beneficiaryAccount',
    judge: ({ beneficiary }) => {
      if (beneficiary === undefined) return 'notApplicable'
      return creditorOf(beneficiary) === undefined
        ? invalid('beneficiary_not_payable', '/beneficiaryId', 'has no bank account; use a beneficiary with an IBAN')
        : 'passed'
    },
  },
  { name: 'account', judge: judgeAccounts },
]

/** Refuses: account_blocked. */
function judgeAccounts({ call, accounts, customer }: Judged): Judgement {
  const debited = debitedOf(call)
  const state = balanceStateIn(accounts, call.caller.partnerId, debited)
  if (blocksOutbound(state)) return outboundBlocked(`The ${debited} balance`, state)
  if (customer === undefined || !blocksOutbound(customer.accountState)) return 'passed'
  return outboundBlocked('The account of the customer', customer.accountState)
}

const outboundBlocked = (what: string, state: AccountState) =>
  new Refusal('account_blocked', `${what} is ${state === 'Closed' ? 'closed' : 'blocked for what goes out'}.`)

type Found = {
  readonly beneficiaries: ReadonlyMap<string, Payee>
  readonly customers: ReadonlyMap<string, Payer>
  readonly balances: { readonly accounts: AccountSnapshots }
}

export function judgedOf(
  call: PayoutCall,
  connector: string | undefined,
  { beneficiaries, customers, balances: { accounts } }: Found,
): Judged {
  const { caller, payee } = call
  // By partner and id: the batch holds beneficiaries of other partners.
  const beneficiary =
    'beneficiaryId' in payee ? beneficiaries.get(beneficiaryMapKey(caller.partnerId, payee.beneficiaryId)) : undefined
  const customerId = 'customerId' in payee ? payee.customerId : beneficiary?.customerId
  const customer = customers.get(partnerKey(caller.partnerId, customerId ?? ''))
  return { call, connector, beneficiary, accounts, customer }
}

/** Refuses: currency_not_supported, not_found, beneficiary_currency_mismatch, beneficiary_not_payable, account_blocked. */
export function validate(judged: Judged): ValidPayout {
  for (const { judge } of payoutRules) {
    const judgement = judge(judged)
    if (judgement instanceof Refusal) throw judgement
  }
  const { call, beneficiary } = judged
  const connector = present(judged.connector, 'the rules require a connector')
  if (!('beneficiaryId' in call.payee)) {
    const { creditor, customerId } = call.payee
    // The beneficiaries of an erased customer are gone.
    if (judged.customer?.isErased !== false) throw invalid('not_found', '/customerId', 'no such customer')
    const withoutBeneficiary = { beneficiary: null, beneficiarySince: null, beneficiaryUnchangedSince: null }
    return { call, connector, creditor, customerId, ...withoutBeneficiary }
  }
  const { id, alias, customerId, name, createdAt, unchangedSince, ...account } = present(
    beneficiary,
    'the rules require the beneficiary',
  )
  const creditor = present(creditorOf(account), 'the rules require an account')
  const named = { creditor: { ...creditor, name }, beneficiary: { id, alias } }
  const since = { beneficiarySince: createdAt, beneficiaryUnchangedSince: unchangedSince }
  return { call, connector, customerId, ...named, ...since }
}

type Account = Pick<Payee, 'currency' | 'iban' | 'bic' | 'walletAddress' | 'country'>

/** Undefined: a beneficiary of an earlier version, without an account. */
function creditorOf({ currency, iban, bic, walletAddress, country }: Account): Omit<Creditor, 'name'> | undefined {
  if (!isFiat(currency))
    return walletAddress === null
      ? undefined
      : { account: walletAddress, bic: null, country: country ?? unknownCountry }
  return iban === null || country === null ? undefined : { account: iban, bic, country }
}

const invalid = (
  code: 'not_found' | 'beneficiary_currency_mismatch' | 'beneficiary_not_payable',
  pointer: string,
  message: string,
) => new Refusal(code, undefined, { errors: [{ pointer, code: 'invalid_value', message }] })
