/**
 * Counts payouts against their limits. The transaction that accepts a payout adds it to its counters, and no counter
 * exceeds its limit: limits are exact across processes. A batch that may exceed a limit locks its counters first. The
 * transaction that ends a payout without a settlement subtracts it again.
 */
import type { Refusal } from '../../kernel/api/index.ts'
import { type Currency, type Minor, nilId, present } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import {
  type Counter,
  counterMapKey,
  counterScopes,
  counterScopesOfAll,
  limitRefusal,
  type ApplicableLimit,
  type Limit,
  type RequiredApproval,
  type PeriodStarts,
  periodStarts,
  parseCounters,
} from './rules.ts'
import { type ControlledCall, controlledAmounts, controlledAmountsOfCall } from './sides.ts'
import * as store from './store.ts'

/** A payout with the limits that apply to it. */
type LimitedPayout = { readonly limits: readonly ApplicableLimit[] }
/** A payout with the approval that it needs. Null: it needs none. */
type PayoutWithApproval = LimitedPayout & { readonly approval: RequiredApproval | null }
/** Sums of counters, by the counters' map keys. A counter without a row is absent. */
export type UsedAmounts = ReadonlyMap<string, Minor>
/** A payout beyond a limit. `counters`: its counters, which other payouts of the batch may have filled. */
export type OverLimitPayout<Payout> = {
  readonly payout: Payout
  readonly refusal: Refusal
  readonly counters: readonly string[]
}

/** Returns the id of a call's customer. Null: the call has none. */
export type CustomerIdOf<Call> = (call: Call) => string | null

const beneficiaryIdOf = ({ payee }: ControlledCall) =>
  'beneficiaryId' in payee ? payee.beneficiaryId.toLowerCase() : null

/** Reads the limits that may apply to these calls. */
export const readLimits = async <Call extends ControlledCall>(
  tx: Tx,
  calls: readonly Call[],
  customerIdOf: CustomerIdOf<Call>,
): Promise<readonly Limit[]> => (calls.length === 0 ? [] : store.limitsFor(tx, limitScopesOf(calls, customerIdOf)))

/** Lists the keys of the limits to read. `references`: the currencies of rules across all currencies. */
function limitScopesOf<Call extends ControlledCall>(
  calls: readonly Call[],
  customerIdOf: CustomerIdOf<Call>,
  references: readonly Currency[] = [],
) {
  const scopeIds = calls.flatMap((call) => [beneficiaryIdOf(call), customerIdOf(call)]).filter((id) => id !== null)
  return {
    partnerIds: calls.map(({ caller }) => caller.partnerId),
    currencies: [
      ...new Set([
        ...references,
        ...calls.flatMap((call) => controlledAmountsOfCall(call).map(({ currency }) => currency)),
      ]),
    ],
    scopeIds: [...new Set([nilId, ...scopeIds])],
  }
}

export const limitCounters = ({ limits }: LimitedPayout): readonly Counter[] =>
  limits.flatMap(({ counter }) => counter ?? [])

/** Lists the amounts that a payout adds to its counters, with the maximum of each counter. */
const countedAmounts = ({ limits }: LimitedPayout) =>
  limits.flatMap(({ counter, limit, side }) =>
    counter === undefined ? [] : [{ ...counter, by: side.amount, most: limit.amount }],
  )

/**
 * Splits a batch into payouts within their limits and payouts beyond one, in order. Locks their counters until the
 * commit. A payout beyond a limit does not count for later ones. A payout that needs an approval does not count in the
 * daily sum without approval.
 */
export async function lockAndCheckLimits<Payout extends PayoutWithApproval>(
  tx: Tx,
  payouts: readonly Payout[],
): Promise<{ readonly within: readonly Payout[]; readonly exceeding: readonly OverLimitPayout<Payout>[] }> {
  return checkLimits(payouts, await lockUsed(tx, payouts.flatMap(limitCounters)))
}

/** Checks payouts in order against the sums of their counters. Adds those within their limits to the sums. */
export function checkLimits<Payout extends PayoutWithApproval>(
  payouts: readonly Payout[],
  counted: UsedAmounts,
): { readonly within: readonly Payout[]; readonly exceeding: readonly OverLimitPayout<Payout>[] } {
  const used = new Map(counted)
  const exceeding: OverLimitPayout<Payout>[] = []
  const within = payouts.flatMap((asked) => {
    const payout = withDayApproval(asked, used)
    const refusal = firstExceeded(payout, used)
    const counters = countedAmounts(payout)
    if (refusal !== undefined) exceeding.push({ payout, refusal, counters: counters.map(({ mapKey }) => mapKey) })
    else for (const { mapKey, by } of counters) used.set(mapKey, (used.get(mapKey) ?? 0n) + by)
    return refusal === undefined ? [payout] : []
  })
  return { within, exceeding }
}

/** Adds the approval that a payout needs if it exceeds the daily sum without approval. */
export function withDayApproval<Payout extends PayoutWithApproval>(payout: Payout, used: UsedAmounts): Payout {
  const beyond = payout.limits.find((limit) => limit.otherwise !== undefined && limitRefusal(limit, used) !== undefined)
  if (beyond?.otherwise === undefined) return payout
  return {
    ...payout,
    approval: beyond.otherwise,
    limits: payout.limits.filter(({ otherwise }) => otherwise === undefined),
  }
}

function firstExceeded({ limits }: LimitedPayout, used: UsedAmounts): Refusal | undefined {
  for (const limit of limits) {
    const refusal = limitRefusal(limit, used)
    if (refusal !== undefined) return refusal
  }
  return undefined
}

async function lockUsed(tx: Tx, counters: readonly Counter[]): Promise<Map<string, Minor>> {
  if (counters.length === 0) return new Map()
  const distinct = [...new Map(counters.map((counter) => [counter.mapKey, counter])).values()]
  store.ensureCounters(tx, distinct)
  return new Map(usedEntries(await store.lockCounters(tx, distinct)))
}

export const usedEntries = (rows: readonly store.CounterRow[]) =>
  rows.map((row) => [counterMapKey(row), row.used] as const)

/** Reads the counters in which these calls may count. Takes no lock. */
export async function readUsedAmounts<Call extends ControlledCall>(
  tx: Tx,
  calls: readonly Call[],
  customerIdOf: CustomerIdOf<Call>,
  references: readonly Currency[],
  now: Date,
): Promise<UsedAmounts> {
  if (calls.length === 0) return new Map()
  const scopes = references.length === 0 ? counterScopes : [...counterScopes, ...counterScopesOfAll]
  const counters = { ...limitScopesOf(calls, customerIdOf, references), scopes, starts: periodStarts(now) }
  return new Map(usedEntries(await store.readCounters(tx, counters)))
}

/** Reads the sums of these counters in the current periods. Takes no lock. */
export async function readCounterSums(
  tx: Tx,
  counters: readonly Counter[],
  starts: PeriodStarts,
): Promise<UsedAmounts> {
  if (counters.length === 0) return new Map()
  const wanted = {
    partnerIds: counters.map(({ partnerId }) => partnerId),
    currencies: [...new Set(counters.map(({ currency }) => currency))],
    scopeIds: [...new Set(counters.map(({ scopeId }) => scopeId))],
    scopes: [...new Set(counters.map(({ scope }) => scope))],
  }
  return new Map(usedEntries(await store.readCounters(tx, { ...wanted, starts })))
}

/**
 * Reports whether all payouts together are within their limits, according to sums that were read without a lock. If a
 * counter has grown since, `count` violates a constraint, and the batch runs again under the locks.
 */
export function fitWithinLimits(payouts: readonly LimitedPayout[], used: UsedAmounts): boolean {
  const asked = new Map<string, Minor>()
  return payouts.every(({ limits }) =>
    limits.every(({ limit, counter, side }) => {
      if (counter === undefined) return side.amount <= limit.amount
      const key = counter.mapKey
      const total = (asked.get(key) ?? used.get(key) ?? 0n) + side.amount
      asked.set(key, total)
      return total <= limit.amount
    }),
  )
}

/** Adds payouts to their counters. A sum beyond its limit is a check violation. */
export function countPayouts(tx: Tx, payouts: readonly LimitedPayout[]): void {
  const counted = payouts.flatMap(countedAmounts)
  if (counted.length > 0) store.addToCounters(tx, sumChanges(counted))
}

/** A payout that may be counted. Its row stores the names of its counters. */
type CountedPayout = Parameters<typeof parseCounters>[0] & {
  readonly amount: Minor
  readonly currency: Currency
  readonly soldAmount: Minor | null
  readonly soldCurrency: Currency | null
}

/**
 * Subtracts the amounts of payouts from the periods in which they were counted. Locks counters before ledger accounts,
 * as the acceptance does.
 */
export async function releaseLimits(tx: Tx, payouts: readonly CountedPayout[]): Promise<void> {
  const returned = payouts.flatMap((payout) =>
    parseCounters(payout, controlledAmounts(payout, soldAmountOf(payout))).map(({ amount, ...key }) => ({
      ...key,
      by: -amount,
    })),
  )
  if (returned.length === 0) return
  await store.lockCounters(tx, returned)
  store.changeCounters(tx, sumChanges(returned))
}

export const soldAmountOf = ({
  soldAmount: amount,
  soldCurrency: currency,
}: Pick<CountedPayout, 'soldAmount' | 'soldCurrency'>) =>
  amount === null || currency === null ? undefined : { amount, currency }

/** Adds up the changes of each counter. */
export const sumChanges = <Change extends store.CounterChange & Pick<Counter, 'mapKey'>>(
  changes: readonly Change[],
): readonly Change[] =>
  [...Map.groupBy(changes, ({ mapKey }) => mapKey).values()].map((group) => ({
    ...present(group[0], 'a group has a member'),
    by: group.reduce((sum, { by }) => sum + by, 0n),
  }))
