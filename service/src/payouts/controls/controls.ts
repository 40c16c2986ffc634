/**
 * The operator's rules for outgoing money: limits, fees, approvals and cooling-offs. Rules are read only for balances
 * that are marked as having rules. A process caches the rules that it has read until the change count in the balance's
 * row differs. Every batch reads that row anyway.
 */
import type { Rail, VerificationState } from '@partner-payments/wire'
import { type Currency, type Minor, nilId, partnerKey } from '../../kernel/index.ts'
import { type AccountSnapshots, hasBothAccounts, controlsVersion, type Ledger } from '../../ledger/index.ts'
import type { Tx } from '../../postgres/index.ts'
import type { ReferenceConverter, Rates, ReferenceAmount } from '../../rates/index.ts'
import type { PayeeCheck } from '../../parties/beneficiaries/index.ts'
import {
  requiredApproval,
  type ApprovalRule,
  hasCountedLimits,
  type CoolingOff,
  coolingOffEnd,
  dayApprovalRule,
  dayApprovalLimit,
  payoutFee,
  type FeeRule,
  type ApplicableLimit,
  type Limit,
  applicableLimits,
  type LimitTable,
  limitTable,
  type RequiredApproval,
  type PeriodStarts,
  periodStarts,
} from './rules.ts'
import { type CustomerIdOf, readLimits, readUsedAmounts, type UsedAmounts } from './counting.ts'
import {
  type BalanceKey,
  controlledBalances,
  type ControlledCall,
  debitedCurrency,
  type ControlledAmount,
  sideOverAllCurrencies,
  controlledAmountsOfCall,
  unknownAmount,
} from './sides.ts'
import { readFeeRules, readControlRules, limitsFor, readOwnLimits } from './store.ts'

/** The operator's rules for one balance of a partner. */
export type BalanceRules = {
  /** Limits. Those of single customers and beneficiaries are absent if they are too many to cache. */
  readonly limits: LimitTable
  readonly hasManyLimits: boolean
  /** Currency and limits of the rules across all currencies, which apply to every balance. Undefined: none. */
  readonly all: { readonly currency: Currency; readonly limits: LimitTable } | undefined
  /** True: payouts count towards a limit of a day or a month. */
  readonly isCounted: boolean
  readonly fees: readonly FeeRule[]
  readonly approvals: readonly ApprovalRule[]
  readonly coolingOffs: readonly CoolingOff[]
}

export type RuleReader = {
  /** Returns the cached rules. They may be outdated: they only decide which counters a batch reads early. */
  readonly lastRead: (balance: BalanceKey) => BalanceRules | undefined
  /** Reads the rules of the balances that have any, by `rulesKey`. `accounts` must contain these balances. */
  readonly read: (
    tx: Tx,
    balances: readonly BalanceKey[],
    accounts: AccountSnapshots,
  ) => Promise<ReadonlyMap<string, BalanceRules>>
}

/** Maximum number of cached balances: about 10 MB with a few rules each. */
const rulesCachedMax = 10_000
/** Maximum number of limits of single customers and beneficiaries that are cached for a balance. */
const ownLimitsMax = 100

const rulesKey = ({ partnerId, currency }: BalanceKey): string => partnerKey(partnerId, currency)

export function createRuleReader(): RuleReader {
  const kept = new Map<string, { readonly changes: number; readonly rules: BalanceRules }>()

  const keep = (key: string, changes: number, rules: BalanceRules) => {
    if (kept.size >= rulesCachedMax) kept.clear()
    kept.set(key, { changes, rules })
    return rules
  }

  /** Returns the rules of a balance. Undefined: it has none. */
  const rulesOf = async (
    tx: Tx,
    key: string,
    { partnerId, currency }: BalanceKey,
    accounts: AccountSnapshots,
  ): Promise<BalanceRules | undefined> => {
    const changes = controlsVersion(accounts, partnerId, currency)
    if (changes === undefined) return undefined
    const last = kept.get(key)
    // Rules that change between the two reads are cached with the earlier count, so that the next batch reads them again.
    return last?.changes === changes ? last.rules : keep(key, changes, await readRules(tx, partnerId, currency))
  }

  return {
    lastRead: (balance) => kept.get(rulesKey(balance))?.rules,
    read: async (tx, balances, accounts) => {
      const distinct = new Map(balances.map((balance) => [rulesKey(balance), balance]))
      const found = await Promise.all(
        [...distinct].map(async ([key, balance]) => [key, await rulesOf(tx, key, balance, accounts)] as const),
      )
      return new Map(found.flatMap(([key, rules]) => (rules === undefined ? [] : [[key, rules] as const])))
    },
  }
}

async function readRules(tx: Tx, partnerId: string, currency: Currency): Promise<BalanceRules> {
  const [partnerIds, currencies] = [[partnerId], [currency]]
  const [ofEach, own, fees, holding] = await Promise.all([
    limitsFor(tx, { partnerIds, currencies, scopeIds: [nilId] }),
    readOwnLimits(tx, partnerId, currency, ownLimitsMax + 1),
    readFeeRules(tx, partnerIds, currencies),
    readControlRules(tx, partnerIds, currencies),
  ])
  const hasManyLimits = own.length > ownLimitsMax
  const kept = hasManyLimits ? ofEach : [...ofEach, ...own]
  const limits = limitTable(kept.filter((limit) => !limit.allCurrencies))
  const overAll = [...ofEach, ...own, ...holding.approvals].find((rule) => rule.allCurrencies)
  const all = overAll && { currency: overAll.currency, limits: limitTable(kept.filter((each) => each.allCurrencies)) }
  const isCounted =
    hasManyLimits ||
    hasCountedLimits(limits) ||
    (all !== undefined && hasCountedLimits(all.limits)) ||
    holding.approvals.some((rule) => rule.aboveDayAmount !== null)
  return { limits, hasManyLimits, all, isCounted, fees, ...holding }
}

/** The rules for the calls of a batch, and the counted sums. `accounts`: fee accounts that were not read early. */
export type BatchControls = {
  readonly rules: ReadonlyMap<string, BalanceRules>
  readonly used: UsedAmounts
  readonly accounts: AccountSnapshots
  /** Limits of these calls, by `limitsKey`, for the balances that have too many to cache. */
  readonly manyLimits: ReadonlyMap<string, LimitTable>
  /** Undefined: no call has a rule across all currencies. */
  readonly convert: ReferenceConverter | undefined
}
/** A valid payout with the fields that the operator's rules need. */
type ValidPayout = {
  readonly call: ControlledCall
  readonly rail: Rail
  readonly customerId: string | null
  /** State of the customer's verification. Null: the payout has no customer. */
  readonly verificationState: VerificationState | null
  readonly beneficiary: { readonly id: string } | null
  readonly beneficiarySince: Date | null
  readonly beneficiaryUnchangedSince: Date | null
  readonly payeeCheck: PayeeCheck | null
}
/** Requirements of the operator's rules for a payout. */
export type ControlRequirements = {
  readonly limits: readonly ApplicableLimit[]
  /** Amount for rules across all currencies. Null: no such rule, or no recent rate. */
  readonly reference: ReferenceAmount | null
  readonly fee: Minor
  /** Null: no approval is needed. */
  readonly approval: RequiredApproval | null
  /** See `coolingOffEnd`. */
  readonly coolingOff: Date | undefined | null
}

/** Counters that a batch reads together with its first reads, by the cached rules. */
export type PrefetchedControls = { readonly counted: readonly ControlledCall[]; readonly used: UsedAmounts }

/** Reads the counters of a batch early, by the cached rules. Sends no statement if no payout is counted. */
export async function prefetchControls<Call extends ControlledCall>(
  tx: Tx,
  { lastRead }: RuleReader,
  calls: readonly Call[],
  cachedCustomerIdOf: (call: Call) => string | null | undefined,
  now: Date,
): Promise<PrefetchedControls> {
  const isCounted = (call: Call) => controlledBalances(call).some((balance) => lastRead(balance)?.isCounted === true)
  const counted = calls.filter((call) => isCounted(call) && cachedCustomerIdOf(call) !== undefined)
  const references = referencesOf(counted, lastRead)
  return {
    counted,
    used: await readUsedAmounts(tx, counted, (call) => cachedCustomerIdOf(call) ?? null, references, now),
  }
}

/** Lists the currencies of the rules across all currencies for these calls. */
const referencesOf = (calls: readonly ControlledCall[], rulesOf: RuleReader['lastRead']): readonly Currency[] => [
  ...new Set(calls.flatMap((call) => rulesOf(debitedBalance(call))?.all?.currency ?? [])),
]

const debitedBalance = (call: ControlledCall) => ({ partnerId: call.caller.partnerId, currency: debitedCurrency(call) })

/** Returns the movement of a fee, which the debited balance pays. */
export const feeMovement = (call: ControlledCall) =>
  ({ ...debitedBalance(call), debit: 'balance', credit: 'fees' }) as const
export const isCharged = (call: ControlledCall, rulesOf: RuleReader['lastRead']): boolean =>
  (rulesOf(debitedBalance(call))?.fees.length ?? 0) > 0

/** Reads the rules for these calls and the data that the rules need. Sends no statement if no balance has rules. */
export async function readControls<Call extends ControlledCall>(
  tx: Tx,
  {
    ledger,
    rates,
    rules: reader,
  }: {
    readonly ledger: Pick<Ledger, 'accountsOf'>
    readonly rates: Pick<Rates, 'converter'>
    readonly rules: RuleReader
  },
  calls: readonly Call[],
  accounts: AccountSnapshots,
  early: PrefetchedControls,
  customerIdOf: CustomerIdOf<Call>,
  now: Date,
): Promise<BatchControls> {
  const rules = await reader.read(tx, calls.flatMap(controlledBalances), accounts)
  const rulesOf = (balance: BalanceKey) => rules.get(rulesKey(balance))
  const has = (call: Call, what: (found: BalanceRules) => boolean) =>
    controlledBalances(call).some((balance) => {
      const found = rulesOf(balance)
      return found !== undefined && what(found)
    })
  const read = new Set<ControlledCall>(early.counted)
  const counted = calls.filter((call) => !read.has(call) && has(call, ({ isCounted }) => isCounted))
  const charged = calls.filter((call) => isCharged(call, rulesOf)).map(feeMovement)
  const withoutAccount = charged.filter((movement) => !hasBothAccounts(accounts, movement))
  const ofMany = calls.filter((call) => has(call, ({ hasManyLimits }) => hasManyLimits))
  const [used, feeAccounts, limits, convert] = await Promise.all([
    readUsedAmounts(tx, counted, customerIdOf, referencesOf(counted, rulesOf), now),
    ledger.accountsOf(tx, withoutAccount),
    readLimits(tx, ofMany, customerIdOf),
    referencesOf(calls, rulesOf).length === 0 ? undefined : rates.converter(tx),
  ])
  return {
    rules,
    used: new Map([...early.used, ...used]),
    accounts: feeAccounts,
    manyLimits: tablesOf(limits),
    convert,
  }
}

const limitsKey = ({ partnerId, currency }: BalanceKey, allCurrencies: boolean): string =>
  partnerKey(partnerId, currency, allCurrencies ? 'all' : 'one')

const tablesOf = (limits: readonly Limit[]): ReadonlyMap<string, LimitTable> =>
  new Map(
    [...Map.groupBy(limits, (limit) => limitsKey(limit, limit.allCurrencies))].map(([key, found]) => [
      key,
      limitTable(found),
    ]),
  )

/**
 * Adds to each payout the requirements of the operator's rules. Limits, approvals and cooling-offs apply to the paid
 * and to the sold amount; rules across all currencies apply to the amount that leaves the balance, in their currency. The
 * fee is that of the debited balance; a payout by quote also has the fee of its quote.
 */
export function addRequirements<Payout extends ValidPayout>(
  payouts: readonly Payout[],
  controls: BatchControls,
  now: Date,
): readonly (Payout & ControlRequirements)[] {
  const starts = periodStarts(now)
  return payouts.map((payout) => {
    const sides = controlledAmountsOfCall(payout.call)
    const ofAll = sideOverAll(payout.call, sides[0], controls)
    const required = [...sides, ...(ofAll === undefined ? [] : [ofAll])].map((side) =>
      requirementsOfSide(payout, side, controls, starts, now),
    )
    const approval = soonestApproval(required.flatMap(({ approval: needed }) => needed ?? []))
    const limits = required.flatMap(({ limits: holding }) => holding)
    return {
      ...payout,
      // A payout that needs an approval does not count in the daily sum without approval.
      limits: approval === null ? limits : limits.filter(({ otherwise }) => otherwise === undefined),
      approval,
      reference: ofAll?.reference ?? null,
      coolingOff: longestCoolingOff(required.map(({ coolingOff }) => coolingOff)),
      // The side that leaves the balance comes first.
      fee: required[0]?.fee ?? 0n,
    }
  })
}

/** Returns the amount for rules across all currencies. Undefined: no such rule applies to the call. */
function sideOverAll(
  call: ControlledCall,
  leaving: ControlledAmount,
  { rules, convert }: BatchControls,
): ControlledAmount | undefined {
  const currency = rules.get(rulesKey(debitedBalance(call)))?.all?.currency
  return currency && sideOverAllCurrencies(leaving, currency, convert?.(leaving, currency))
}

/** Computes the sum of a payout's bulk in the currency of the amount. */
function bulkSumOf(
  { bulk }: ControlledCall,
  { name, currency }: ControlledAmount,
  { convert }: BatchControls,
): Minor | null {
  if (bulk === undefined) return null
  if (name !== 'all') return bulk.sum
  return bulk.sums.reduce((sum, each) => sum + (convert?.(each, currency)?.amount ?? unknownAmount), 0n)
}

type SideRequirements = Omit<ControlRequirements, 'reference'>
const withoutRules: SideRequirements = { limits: [], approval: null, coolingOff: null, fee: 0n }

function requirementsOfSide(
  payout: ValidPayout,
  side: ControlledAmount,
  controls: BatchControls,
  starts: PeriodStarts,
  now: Date,
): SideRequirements {
  const { partnerId } = payout.call.caller
  const isOfAll = side.name === 'all'
  const rules = controls.rules.get(
    rulesKey(isOfAll ? debitedBalance(payout.call) : { partnerId, currency: side.currency }),
  )
  if (rules === undefined) return withoutRules
  const {
    customerId,
    verificationState,
    beneficiary,
    beneficiarySince,
    beneficiaryUnchangedSince: unchangedSince,
    payeeCheck,
  } = payout
  const payee = { partnerId, customerId, verificationState, beneficiaryId: beneficiary?.id ?? null }
  const charged = { partnerId, rail: payout.rail, ...side }
  const day = dayApprovalRule(rules.approvals, charged, now)
  const kept = isOfAll ? (rules.all?.limits ?? new Map()) : rules.limits
  const limits = controls.manyLimits.get(limitsKey({ partnerId, currency: side.currency }, isOfAll)) ?? kept
  return {
    limits: [
      ...applicableLimits(limits, payee, side, starts),
      ...(day === undefined ? [] : [dayApprovalLimit(day, payee, side, starts)]),
    ],
    approval: requiredApproval(
      rules.approvals,
      { ...charged, beneficiarySince, payeeCheck, bulkSum: bulkSumOf(payout.call, side, controls) },
      now,
    ),
    coolingOff: isOfAll ? null : coolingOffEnd(rules.coolingOffs, { ...charged, unchangedSince }, now),
    fee: isOfAll ? 0n : payoutFee(rules.fees, charged, now),
  }
}

/** Returns the approval that expires first. */
const soonestApproval = (needed: readonly RequiredApproval[]): RequiredApproval | null =>
  needed.toSorted((a, b) => a.expiresAt.getTime() - b.expiresAt.getTime())[0] ?? null

/** Combines the results: the latest time, otherwise a cooling-off that has passed, otherwise no rule. */
const longestCoolingOff = (
  coolingOffs: readonly ControlRequirements['coolingOff'][],
): ControlRequirements['coolingOff'] => {
  const times = coolingOffs.filter((each) => each instanceof Date).map((each) => each.getTime())
  if (times.length > 0) return new Date(Math.max(...times))
  return coolingOffs.includes(undefined) ? undefined : null
}
