/** Pure: the rules for a single payout, except its limits and its funds. Acceptance and preview use the same list. */
import { refuseField, refuseFields, Refusal, catchRefusal } from '../kernel/api/index.ts'
import type { Rail, VerificationState } from '@partner-payments/wire'
import { type Currency, isFiat, partnerKey, present } from '../kernel/index.ts'
import { type AccountSnapshots, type AccountState, getBalanceState, blocksOutbound } from '../ledger/index.ts'
import {
  type ChooseConnector,
  type ForecastPayment,
  isInForce,
  internalConnectorId,
  isIban,
  isQrIban,
  listMissingRequirements,
  formatMissing,
  type PayerData,
  missingPayerFields,
  payerRegion,
  qrMistake,
  qrMistakes,
  parseDomesticAccount,
} from '../rails/index.ts'
import { countriesOfAccount, type CountryRules } from '../screening/index.ts'
import type { Payee, PayeeCheck } from '../parties/beneficiaries/index.ts'
import { findLackingCapability, verificationRefusal, type Payer } from '../parties/customers/index.ts'
import { type ControlRequirements, debitedCurrency } from './controls/index.ts'
import type { PayoutsDeps } from './deps.ts'
import { beneficiaryMapKey, type Creditor, type PayoutCall, type Route, chooseRoute } from './calls.ts'
import { requireSupportedCurrency, unknownCountry } from './rules.ts'

/** Call that the rules accept, with its creditor. */
export type ValidPayout = {
  readonly call: PayoutCall
  readonly rail: Rail
  readonly connector: string
  readonly creditor: Creditor
  readonly customerId: string | null
  /** State of the customer's verification. Null: the payout has no customer. */
  readonly verificationState: VerificationState | null
  /** When the beneficiary was created. Null: the payout has none. */
  readonly beneficiarySince: Date | null
  /** Time since which the beneficiary has its account and its name. Null: the payout has none. */
  readonly beneficiaryUnchangedSince: Date | null
  /** Last result of the verification of the beneficiary's name and account. Null: none. */
  readonly payeeCheck: PayeeCheck | null
  readonly beneficiary: { readonly id: string; readonly alias: string | null } | null
}

/** Payout that the rules accept, with the requirements of the operator's rules. */
export type ControlledPayout = ValidPayout & ControlRequirements

type CreditorAccount = Omit<Creditor, 'name'>
export type ValidationInput = {
  readonly call: PayoutCall
  readonly route: Route
  readonly beneficiary: Payee | undefined
  /** Undefined: the beneficiary has none. */
  readonly account: CreditorAccount | undefined
  /** Accounts, with the state of the balance that is debited. */
  readonly accounts: AccountSnapshots
  readonly countryRules: CountryRules
  /** Undefined: the payout is the partner's own, or its beneficiary is refused. */
  readonly customer: Payer | undefined
  readonly executionDay: ExecutionDay
  /** Customer data for the bank. Undefined: no bank requires them for this payout. */
  readonly payer: PayerData | undefined
  /** The amount needs a proof of who controls the wallet, and none exists. */
  readonly isUnproved: boolean
}
/** Returns the expected execution day of a payment by a connector, `YYYY-MM-DD`. */
export type ExecutionDay = (connector: string, payment: ForecastPayment) => string
/** `notApplicable`: the rule does not apply to the call, or an earlier rule has refused the part that it checks. */
export type RuleResult = Refusal | 'passed' | 'notApplicable'
/** Rule for one call. `coming`: what a payment will need from a later day on. */
type Rule = {
  readonly name: string
  readonly judge: (judged: ValidationInput) => RuleResult
  readonly coming?: (judged: ValidationInput) => string | undefined
}

/** Rules in the order in which they refuse a request. */
export const payoutRules: readonly Rule[] = [
  {
    name: 'currency',
    judge: ({ call: { operation, currency } }) => {
      const refused = catchRefusal(() => requireSupportedCurrency(operation, currency))
      return refused instanceof Refusal ? refused : 'passed'
    },
  },
  {
    name: 'connection',
    judge: ({ call: { currency }, route }) =>
      route.connector === undefined
        ? new Refusal('currency_not_supported', noConnectorText(currency, route))
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
    judge: ({ beneficiary, account }) => {
      if (beneficiary === undefined) return 'notApplicable'
      if (account === undefined) return refuseNotPayable('has no bank account; use a beneficiary with one')
      // Registered when more numbers counted as IBANs.
      return isFiat(beneficiary.currency) &&
        !isIban(account.account) &&
        parseDomesticAccount(account.account) === undefined
        ? refuseNotPayable('has an account number that is not a valid IBAN; use a beneficiary with a valid one')
        : 'passed'
    },
  },
  {
    name: 'beneficiaryBank',
    judge: ({ call: { currency, payee }, route, account }) => {
      if (currency !== 'EUR' || account === undefined || route.rail === 'Sepa') return 'notApplicable'
      if (route.connector === internalConnectorId) return 'notApplicable'
      if (account.bic === null && 'creditor' in payee)
        return new Refusal(
          'payer_account_unknown',
          'The account is outside SEPA, and the BIC of its bank is not known.',
        )
      return account.bic === null
        ? refuseNotPayable(
            'has an account outside SEPA, which is paid by SWIFT; use a beneficiary with the BIC of its bank',
          )
        : 'passed'
    },
  },
  { name: 'qrReference', judge: judgeQrReference },
  { name: 'requirements', judge: judgeRequirements, coming: comingRequirements },
  { name: 'country', judge: judgeCountry },
  { name: 'customer', judge: judgeCustomer },
  { name: 'account', judge: judgeAccounts },
  { name: 'payer', judge: judgePayer },
  { name: 'walletOwnership', judge: judgeWallet },
]

function noConnectorText(currency: Currency, { rail }: Route): string {
  if (!isFiat(currency)) return `No chain is connected that transfers ${currency}.`
  return `No bank is connected that pays ${currency}${currency === 'EUR' && rail === 'Swift' ? ' outside SEPA' : ''}.`
}

/** Lists the required fields that the beneficiary lacks, now and later. Undefined: none is required. */
function missingFields({ call, route, beneficiary, account, executionDay }: ValidationInput) {
  const { currency, amount } = call
  if (beneficiary === undefined || account === undefined || !isFiat(currency)) return undefined
  if (route.connector === undefined || route.connector === internalConnectorId) return undefined
  // The day is computed only if a field is missing: most payments need none.
  const payee = { ...account, currency, address: account.address ?? null }
  // The rule `beneficiaryBank` checks the BIC.
  const lackingFrom = (day: string) => listMissingRequirements(payee, day).filter(({ field }) => field !== 'bic')
  if (lackingFrom('').length === 0) return { now: [], coming: [] }
  const payment = { amount, currency, creditorAccount: account.account, creditorBic: account.bic }
  const day = executionDay(route.connector, payment)
  const lacking = lackingFrom(day)
  return {
    now: lacking.filter((one) => isInForce(one, day)),
    coming: lacking.filter((one) => !isInForce(one, day)),
  }
}

/** Checks the bank's required fields: it would refuse the payment after the money was reserved. Refuses: beneficiary_not_payable. */
function judgeRequirements(judged: ValidationInput): RuleResult {
  const lacking = missingFields(judged)?.now
  if (lacking === undefined) return 'notApplicable'
  return lacking.length === 0
    ? 'passed'
    : refuseNotPayable(`lacks ${formatMissing(lacking)}; update the beneficiary first`)
}

function comingRequirements(judged: ValidationInput): string | undefined {
  const coming = missingFields(judged)?.coming ?? []
  return coming.length === 0 ? undefined : `The beneficiary will need ${formatMissing(coming)}.`
}

/** Checks the country. Payouts from before a rule are held when the worker screens them. Refuses: country_not_supported. */
function judgeCountry({ call, account, countryRules }: ValidationInput): RuleResult {
  if (account === undefined) return 'notApplicable'
  const owner = { ...account, address: account.address?.country ?? null }
  const refused = countriesOfAccount(owner).find(({ country }) => countryRules.isRefused('payouts', country))
  if (refused === undefined) return 'passed'
  return invalid(
    'country_not_supported',
    payeePointer(call),
    `has an ${refused.role === 'address' ? 'address' : 'account'} in ${refused.country}; the operator accepts no payouts to this country`,
  )
}

/** Checks the QR reference. Refuses: validation_failed. */
function judgeQrReference({ call, account }: ValidationInput): RuleResult {
  if (account === undefined || !isFiat(call.currency)) return 'notApplicable'
  const mistake = qrMistake(account.account, call.reference)
  if (mistake === undefined) return isQrIban(account.account) ? 'passed' : 'notApplicable'
  return refuseField({ pointer: '/reference', code: 'invalid_value', message: qrMistakes[mistake] })
}

/** Checks the ownership of the wallet. Refuses: ownership_proof_required. */
function judgeWallet({ call, account, isUnproved }: ValidationInput): RuleResult {
  if (account === undefined || isFiat(call.currency)) return 'notApplicable'
  return isUnproved
    ? invalid('ownership_proof_required', payeePointer(call), 'pays a wallet without a proof of who controls it')
    : 'passed'
}

/** Lists the KYC fields that a payment lacks about its payer. */
export function payerFieldsMissing(
  payer: PayerData,
  account: CreditorAccount,
  { currency, amount }: PayoutCall,
): readonly string[] {
  const region = payerRegion(account.account, account.bic)
  const { isPerson, address } = payer
  const named = {
    name: isPerson ? ['kyc.fullName'] : ['kyc.legalName'],
    account: [],
    address: [
      ...(address.town === null ? ['kyc.city'] : []),
      ...(address.country === null ? ['kyc.addressCountryCode'] : []),
    ],
    document: ['kyc.personalIdentificationNumber'],
  } as const
  return missingPayerFields(payer, { region, currency, amount }).flatMap((field): readonly string[] => named[field])
}

/** Checks the payer's data. Refuses: validation_failed, by the setting `payerData` of the bank. */
function judgePayer({ call, account, payer }: ValidationInput): RuleResult {
  if (account === undefined || payer === undefined) return 'notApplicable'
  const message = (field: string) => `needs ${field} of the customer, which its bank asks for with this payment`
  const missing = payerFieldsMissing(payer, account, call)
  const refused = catchRefusal(() =>
    refuseFields(
      missing.map((field) => ({ pointer: payeePointer(call), code: 'invalid_value', message: message(field) })),
    ),
  )
  return refused instanceof Refusal ? refused : 'passed'
}

/**
 * Checks that a payout's customer is verified, and with a quote also verified for the exchange. A refund goes back to
 * the payer in any case. Refuses: customer_not_verified.
 */
function judgeCustomer({ call, customer }: ValidationInput): RuleResult {
  if (customer === undefined || call.operation === 'createCheckoutRefund') return 'notApplicable'
  const { gate, verificationState } = customer
  const lacking =
    findLackingCapability(gate, 'Pay', call.currency) ??
    (call.quote === undefined ? undefined : findLackingCapability(gate, 'Convert'))
  return lacking === undefined ? 'passed' : verificationRefusal(verificationState, lacking, payeePointer(call))
}

/** Returns the field of the payee. A refund has none: its payee is the payer of the session. */
function payeePointer({ operation, payee }: PayoutCall): string {
  if (operation === 'createCheckoutRefund') return ''
  return 'beneficiaryId' in payee ? '/beneficiaryId' : '/customerId'
}

/** Checks the states of the accounts. Refuses: account_blocked. */
function judgeAccounts({ call, accounts, customer }: ValidationInput): RuleResult {
  const debited = debitedCurrency(call)
  const state = getBalanceState(accounts, call.caller.partnerId, debited)
  if (blocksOutbound(state)) return refuseOutboundBlocked(`The ${debited} balance`, state)
  if (customer === undefined || !blocksOutbound(customer.accountState)) return 'passed'
  return refuseOutboundBlocked('The account of the customer', customer.accountState)
}

const refuseOutboundBlocked = (what: string, state: AccountState) =>
  new Refusal('account_blocked', `${what} is ${state === 'Closed' ? 'closed' : 'blocked for outgoing payments'}.`)

type FoundPayee = {
  readonly beneficiaries: ReadonlyMap<string, Payee>
  readonly customers: ReadonlyMap<string, Payer>
  readonly balances: { readonly accounts: AccountSnapshots }
  readonly countryRules: CountryRules
  readonly ownIbans: ReadonlySet<string>
  readonly payers: ReadonlyMap<string, PayerData>
  readonly unproved: ReadonlySet<PayoutCall>
}

export function toValidationInput(
  call: PayoutCall,
  choose: ChooseConnector,
  { beneficiaries, customers, balances: { accounts }, countryRules, ownIbans, payers, unproved }: FoundPayee,
  executionDay: ExecutionDay,
): ValidationInput {
  const { caller, payee } = call
  // Keyed by partner and id: the batch has beneficiaries of other partners.
  const beneficiary =
    'beneficiaryId' in payee ? beneficiaries.get(beneficiaryMapKey(caller.partnerId, payee.beneficiaryId)) : undefined
  const customerId = 'customerId' in payee ? payee.customerId : beneficiary?.customerId
  const customer = customers.get(partnerKey(caller.partnerId, customerId ?? ''))
  const account = 'creditor' in payee ? payee.creditor : beneficiary && toCreditorAccount(beneficiary)
  const route = chooseRoute(call, account, choose, ownIbans)
  return {
    call,
    route,
    payer:
      route.connector === internalConnectorId ? undefined : payers.get(partnerKey(caller.partnerId, customerId ?? '')),
    beneficiary,
    account,
    accounts,
    countryRules,
    customer,
    executionDay,
    isUnproved: unproved.has(call),
  }
}

/** Creates the forecast of execution days by the connectors. If a connector refuses the payment, the day is today. */
export const executionDayAt =
  ({ connectorOf }: Pick<PayoutsDeps, 'connectorOf'>, now: Date): ExecutionDay =>
  (connector, payment) => {
    const forecast = connectorOf(connector)?.forecast(payment, now)
    return forecast?.possible === true ? forecast.valueDate : now.toISOString().slice(0, 'YYYY-MM-DD'.length)
  }

/**
 * Checks all rules. Refuses: validation_failed (reference, data of the payer), currency_not_supported, not_found,
 * beneficiary_currency_mismatch, beneficiary_not_payable, payer_account_unknown, country_not_supported,
 * customer_not_verified, account_blocked, ownership_proof_required.
 */
export function validatePayout(judged: ValidationInput): ValidPayout {
  for (const { judge } of payoutRules) {
    const judgement = judge(judged)
    if (judgement instanceof Refusal) throw judgement
  }
  const { call, beneficiary, route } = judged
  const verificationState = judged.customer?.verificationState ?? null
  const going = {
    call,
    verificationState,
    rail: route.rail,
    connector: present(
      route.connector,
      `no connector for a payout in ${call.currency} of partner ${call.caller.partnerId}`,
    ),
  }
  if (!('beneficiaryId' in call.payee)) {
    const { creditor, customerId } = call.payee
    // The beneficiaries of an erased customer are deleted.
    if (judged.customer?.isErased !== false) throw invalid('not_found', payeePointer(call), 'no such customer')
    const withoutBeneficiary = {
      beneficiary: null,
      beneficiarySince: null,
      beneficiaryUnchangedSince: null,
      payeeCheck: null,
    }
    return { ...going, creditor, customerId, ...withoutBeneficiary }
  }
  const { id, alias, customerId, name, createdAt, unchangedSince, payeeCheck } = present(
    beneficiary,
    `no beneficiary ${call.payee.beneficiaryId}`,
  )
  const account = present(judged.account, `no account for beneficiary ${id}`)
  const named = { creditor: { ...account, name }, beneficiary: { id, alias } }
  const since = { beneficiarySince: createdAt, beneficiaryUnchangedSince: unchangedSince, payeeCheck }
  return { ...going, customerId, ...named, ...since }
}

/** Builds the creditor's account. Undefined: the beneficiary is from an earlier version, without an account. */
function toCreditorAccount({
  currency,
  iban,
  domesticAccount,
  accountType,
  bic,
  walletAddress,
  country,
  address,
}: Payee): CreditorAccount | undefined {
  if (!isFiat(currency))
    return walletAddress === null
      ? undefined
      : { account: walletAddress, bic: null, country: country ?? unknownCountry }
  const account = iban ?? domesticAccount
  return account === null || country === null ? undefined : { account, bic, country, accountType, address }
}

const invalid = (
  code:
    | 'not_found'
    | 'beneficiary_currency_mismatch'
    | 'beneficiary_not_payable'
    | 'country_not_supported'
    | 'ownership_proof_required',
  pointer: string,
  message: string,
) => refuseField({ pointer, code: 'invalid_value', message }, code)
const refuseNotPayable = (message: string) => invalid('beneficiary_not_payable', '/beneficiaryId', message)
