/** Reads all data that a batch of payouts needs, before its transaction and without a lock. */
import { isFiat, partnerKey, type RowKey } from '../kernel/index.ts'
import type { BalancesSnapshot, FundsCheck } from '../ledger/index.ts'
import type { Tx } from '../postgres/index.ts'
import { internalConnectorId, type PayerData } from '../rails/index.ts'
import type { Payee } from '../parties/beneficiaries/index.ts'
import type { Payer } from '../parties/customers/index.ts'
import {
  type BatchControls,
  createRuleReader,
  debitedCurrency,
  feeMovement,
  isCharged,
  readControls,
  prefetchControls,
} from './controls/index.ts'
import type { CountryRules } from '../screening/index.ts'
import type { TakenReferences } from '../transactions/index.ts'
import { beneficiaryMapKey, idempotencyMapKey, type PayoutCall, reserveTransfers, chooseRoute } from './calls.ts'
import type { PayoutsDeps } from './deps.ts'
import * as store from './store.ts'

/**
 * Data read before the transaction. If another transaction changes them, the write violates a constraint and the batch
 * runs again.
 */
export type BatchData = {
  /** Payouts of the batch's idempotency keys. */
  readonly payouts: ReadonlyMap<string, store.PayoutRow>
  readonly beneficiaries: ReadonlyMap<string, Payee>
  readonly customers: ReadonlyMap<string, Payer>
  readonly balances: BalancesSnapshot
  readonly references: TakenReferences
  readonly controls: BatchControls
  readonly countryRules: CountryRules
  /** Payees' IBANs that this service has issued: their payouts need no bank. */
  readonly ownIbans: ReadonlySet<string>
  /** Customer data for banks, by `partnerKey`. Only customers whose bank requires them. */
  readonly payers: ReadonlyMap<string, PayerData>
  /** Calls to a wallet of an unknown owner whose amount requires a known one. */
  readonly unproved: ReadonlySet<PayoutCall>
}

/** About 20 MB. */
const cachedOwnersMax = 100_000

export function createLookUp(deps: PayoutsDeps, funds: FundsCheck) {
  const { beneficiaries, clock, customers, ledger, chooseConnector, ownIbans, rates, screening, transactions } = deps
  /** Customer of each beneficiary, which never changes: the customer is read in one round trip with the beneficiary. */
  const customerIds = new Map<string, string | null>()

  const remember = (payees: ReadonlyMap<string, Payee>) => {
    if (customerIds.size > cachedOwnersMax) customerIds.clear()
    for (const [key, { customerId }] of payees) customerIds.set(key, customerId)
  }

  const rules = createRuleReader()

  /** `unsaved`: payees of a preview that do not exist yet, by `beneficiaryMapKey`. */
  return async (
    tx: Tx,
    calls: readonly PayoutCall[],
    unsaved: ReadonlyMap<string, Payee> = new Map(),
  ): Promise<BatchData> => {
    const mark = funds.markRead()
    const now = clock.now()
    /** Returns the cached customer of a payee. Undefined: not known yet. */
    const cachedCustomerIdOf = ({ caller, payee }: PayoutCall) =>
      'customerId' in payee
        ? payee.customerId
        : customerIds.get(beneficiaryMapKey(caller.partnerId, payee.beneficiaryId))
    // Sent together, so that the batch waits for one round trip.
    const [accounts, payouts, saved, references, cachedCustomers, early, countryRules] = await Promise.all([
      // First: the balances count changes of customers, so that the write detects a change after this read
      // (ledger/service.ts).
      ledger.accountsOf(tx, movementsOfAll(calls, chooseConnector, rules.lastRead)),
      payoutsByKeys(tx, calls),
      beneficiaries.payeesByIds(tx, calls.flatMap(payeeKey)),
      transactions.taken(
        tx,
        calls.map(({ caller, reference }) => ({ partnerId: caller.partnerId, reference })),
      ),
      customers.payersByIds(
        tx,
        calls.flatMap((call) => findCustomer(call, (key) => customerIds.get(key))),
      ),
      prefetchControls(tx, rules, calls, cachedCustomerIdOf, now),
      screening.countries.recent(tx),
    ])
    remember(saved)
    const payees = unsaved.size === 0 ? saved : new Map([...saved, ...unsaved])
    const needed = calls.flatMap((call) => findCustomer(call, (key) => payees.get(key)?.customerId))
    const isMissing = ({ partnerId, id }: RowKey) => !cachedCustomers.has(partnerKey(partnerId, id))
    const customerIdOf = (call: PayoutCall) =>
      findCustomer(call, (key) => payees.get(key)?.customerId).map(({ id }) => id)[0] ?? null
    const [otherCustomers, parties, issued, controls, payers, unproved] = await Promise.all([
      customers.payersByIds(tx, needed.filter(isMissing)),
      ledger.partiesOf(
        tx,
        accounts,
        calls.map((call) => payingParty(call, customerIdOf(call))),
      ),
      findOwnIbans(ownIbans, tx, calls, payees),
      readControls(tx, { ledger, rates, rules }, calls, accounts, early, customerIdOf, now),
      readRequiredPayers(deps, calls, customerIdOf),
      readUnproved(deps, tx, calls, payees),
    ])
    return {
      payouts,
      beneficiaries: payees,
      customers: new Map([...cachedCustomers, ...otherCustomers]),
      balances: { accounts: new Map([...accounts, ...controls.accounts, ...parties]), mark },
      references,
      controls,
      countryRules,
      ownIbans: issued,
      payers,
      unproved,
    }
  }
}

/** Costs nothing unless a bank that may carry a call requires the data of payers. */
async function readRequiredPayers(
  { chooseConnector, connectorOf, readPayers }: PayoutsDeps,
  calls: readonly PayoutCall[],
  customerIdOf: (call: PayoutCall) => string | null,
): Promise<ReadonlyMap<string, PayerData>> {
  const isRequired = ({ caller: { partnerId }, currency }: PayoutCall) =>
    (['Sepa', 'Swift'] as const).some(
      (rail) => connectorOf(chooseConnector({ partnerId, currency, rail }) ?? '')?.payerData === 'require',
    )
  const keys = calls.filter(isRequired).flatMap((call) => {
    const customerId = customerIdOf(call)
    return customerId === null ? [] : [{ partnerId: call.caller.partnerId, customerId }]
  })
  if (keys.length === 0) return new Map()
  const read = await readPayers(keys)
  return new Map(
    keys.flatMap(({ partnerId, customerId }, index) => {
      const payer = read[index]
      return payer === undefined ? [] : [[partnerKey(partnerId, customerId), payer] as const]
    }),
  )
}

/** Costs nothing for fiat money, and for wallets that a provider keeps. */
async function readUnproved(
  { proofsMissing }: PayoutsDeps,
  tx: Tx,
  calls: readonly PayoutCall[],
  payees: ReadonlyMap<string, Payee>,
): Promise<ReadonlySet<PayoutCall>> {
  const toWallets = calls.flatMap((call) => {
    const { payee, caller, amount, currency } = call
    const found =
      'beneficiaryId' in payee ? payees.get(beneficiaryMapKey(caller.partnerId, payee.beneficiaryId)) : undefined
    if (isFiat(currency) || found === undefined || found.walletAddress === null || found.vasp !== null) return []
    const { customerId, walletAddress } = found
    const payment = { partnerId: caller.partnerId, customerId, address: walletAddress.toLowerCase(), amount, currency }
    return [{ call, payment }]
  })
  const missing =
    toWallets.length === 0
      ? []
      : await proofsMissing(
          tx,
          toWallets.map(({ payment }) => payment),
        )
  return new Set(toWallets.filter((_, index) => missing[index] === true).map(({ call }) => call))
}

/** Reads the payouts of the calls' idempotency keys, by key. */
export async function payoutsByKeys(
  tx: Tx,
  calls: readonly PayoutCall[],
): Promise<ReadonlyMap<string, store.PayoutRow>> {
  const keys = calls.flatMap(({ caller, operation, idempotencyKey }) =>
    idempotencyKey === null ? [] : [{ partnerId: caller.partnerId, operation, idempotencyKey }],
  )
  if (keys.length === 0) return new Map()
  const rows = await store.payoutsByKeys(tx, keys)
  return new Map(
    rows.flatMap((row) => {
      const key = idempotencyMapKey(row)
      return key === undefined ? [] : [[key, row] as const]
    }),
  )
}

/** Returns the party that a call pays from, if the balance is segregated. */
const payingParty = (call: PayoutCall, customerId: string | null) => {
  const { partnerId } = call.caller
  return { partnerId, currency: debitedCurrency(call), partyId: customerId ?? partnerId }
}

const payeeKey = ({ caller, payee }: PayoutCall) =>
  'beneficiaryId' in payee ? [{ partnerId: caller.partnerId, id: payee.beneficiaryId }] : []

/** Finds the IBANs of payees that this service has issued. Most payees have none of its bank codes, and need no statement. */
export async function findOwnIbans(
  { mayHave, among }: PayoutsDeps['ownIbans'],
  tx: Tx,
  calls: readonly PayoutCall[],
  payees: ReadonlyMap<string, Payee>,
): Promise<ReadonlySet<string>> {
  const candidates = new Set(calls.flatMap((call) => ibanOf(call, payees)).filter(mayHave))
  return new Set(candidates.size === 0 ? [] : await among(tx, [...candidates]))
}

/** Returns the IBAN that a call pays, if it is known. */
function ibanOf({ caller, payee }: PayoutCall, payees: ReadonlyMap<string, Payee>): readonly string[] {
  if ('creditor' in payee) return [payee.creditor.account]
  const iban = payees.get(beneficiaryMapKey(caller.partnerId, payee.beneficiaryId))?.iban ?? null
  return iban === null ? [] : [iban]
}

type Movement = Parameters<PayoutsDeps['ledger']['accountsOf']>[1][number]

/** Lists the movements of calls, with the fees that apply by the rules read last. */
const movementsOfAll = (
  calls: readonly PayoutCall[],
  choose: PayoutsDeps['chooseConnector'],
  lastRead: Parameters<typeof isCharged>[1],
): readonly Movement[] =>
  calls.flatMap((call) => {
    const moved = movementsOf(call, choose)
    return isCharged(call, lastRead) ? [...moved, feeMovement(call)] : moved
  })

/** Lists the reserves, and the balance in the payout's currency: its row says whether limits apply to payments in it. */
const movementsOf = (call: PayoutCall, choose: PayoutsDeps['chooseConnector']): readonly Movement[] => {
  const { caller, currency, quote } = call
  const { connector = internalConnectorId } = chooseRoute(call, undefined, choose, new Set())
  const reserves = reserveTransfers(call, { customerId: null, connector, fee: 0n })
  if (quote === undefined) return reserves
  return [...reserves, { partnerId: caller.partnerId, currency, debit: 'balance', credit: 'fx' } as const]
}

/** Finds the customer for the events of a call, if it has one. */
function findCustomer(
  { caller: { partnerId }, payee }: PayoutCall,
  ownerOf: (beneficiaryKey: string) => string | null | undefined,
): readonly RowKey[] {
  const id = 'customerId' in payee ? payee.customerId : ownerOf(beneficiaryMapKey(partnerId, payee.beneficiaryId))
  return typeof id === 'string' ? [{ partnerId, id }] : []
}
