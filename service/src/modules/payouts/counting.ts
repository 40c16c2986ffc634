/**
 * Counts payouts against their limits. The transaction that accepts a payout locks its counters, judges by them and adds to
 * them, so that limits are exact whatever process accepts. The transaction that ends it without a settlement gives back.
 */
import type { Refusal } from '../../api/index.ts'
import { type Minor, nilId, present } from '../../kernel/index.ts'
import type { BatchPosition, Tx } from '../../postgres/index.ts'
import type { PayoutCall } from './calls.ts'
import {
  counterMapKey,
  type CounterKey,
  exceeds,
  type HoldingLimit,
  type Limit,
  limitsOf,
  readCounted,
} from './limit-rules.ts'
import type { PayoutRow } from './store.ts'
import * as store from './store-limits.ts'
import type { ValidPayout } from './validate.ts'

/** A payout with the limits that hold for it. */
export type LimitedPayout = ValidPayout & { readonly limits: readonly HoldingLimit[] }
/** A payout beyond a limit. `counters`: those that a payout of the same batch may have filled. */
export type Exceeding = {
  readonly payout: LimitedPayout
  readonly refusal: Refusal
  readonly counters: readonly string[]
}

/** The limits of some calls, at least one. */
export function readLimits(
  tx: Tx,
  limited: readonly PayoutCall[],
  customerIdOf: (call: PayoutCall) => string | null,
): Promise<readonly Limit[]> {
  const beneficiaryIds = limited.flatMap(({ payee }) =>
    'beneficiaryId' in payee ? [payee.beneficiaryId.toLowerCase()] : [],
  )
  const customerIds = limited.map(customerIdOf).filter((id) => id !== null)
  return store.limitsFor(tx, {
    partnerIds: limited.map(({ caller }) => caller.partnerId),
    currencies: [...new Set(limited.map(({ currency }) => currency))],
    scopeIds: [...new Set([nilId, ...beneficiaryIds, ...customerIds])],
  })
}

const paymentOf = ({ call, customerId, beneficiary }: ValidPayout) => ({
  partnerId: call.caller.partnerId,
  currency: call.currency,
  customerId,
  beneficiaryId: beneficiary?.id ?? null,
})

export const withLimits = (payouts: readonly ValidPayout[], limits: readonly Limit[], now: Date) =>
  payouts.map((payout): LimitedPayout => ({ ...payout, limits: limitsOf(limits, paymentOf(payout), now) }))

export const countersOf = ({ limits }: LimitedPayout): readonly CounterKey[] =>
  limits.flatMap(({ counter }) => (counter === undefined ? [] : [counter]))

/**
 * Which payouts of a batch are within their limits, judged in their order. Locks their counters until the commit. A payout that
 * exceeds a limit takes nothing from those behind it.
 */
export async function withinLimits<Payout extends LimitedPayout>(
  tx: Tx,
  payouts: readonly Payout[],
  position: BatchPosition | undefined,
): Promise<{ readonly within: readonly Payout[]; readonly exceeding: readonly Exceeding[] }> {
  const used = await lockUsed(tx, payouts.flatMap(countersOf), position)
  const exceeding: Exceeding[] = []
  const within = payouts.filter((payout) => {
    const { amount } = payout.call
    const refusal = firstExceeded(payout, used)
    const keys = countersOf(payout).map(counterMapKey)
    if (refusal !== undefined) exceeding.push({ payout, refusal, counters: keys })
    else for (const key of keys) used.set(key, (used.get(key) ?? 0n) + amount)
    return refusal === undefined
  })
  return { within, exceeding }
}

function firstExceeded({ call, limits }: LimitedPayout, used: ReadonlyMap<string, Minor>): Refusal | undefined {
  for (const limit of limits) {
    const before = limit.counter === undefined ? 0n : (used.get(counterMapKey(limit.counter)) ?? 0n)
    const refusal = exceeds(limit, call.amount, before)
    if (refusal !== undefined) return refusal
  }
  return undefined
}

/** The earlier batches of this process hold the same counters until they end. To wait here costs no connection a lock wait. */
async function lockUsed(
  tx: Tx,
  counters: readonly CounterKey[],
  position: BatchPosition | undefined,
): Promise<Map<string, Minor>> {
  if (counters.length === 0) return new Map()
  await position?.earlierEnded
  const distinct = [...new Map(counters.map((key) => [counterMapKey(key), key])).values()]
  store.ensureCounters(tx, distinct)
  const rows = await store.lockCounters(tx, distinct)
  return new Map(rows.map((row) => [counterMapKey(row), row.used]))
}

/** What is counted so far, by the map keys of the counters. Takes no lock. */
export async function usedOf(tx: Tx, counters: readonly CounterKey[]): Promise<ReadonlyMap<string, Minor>> {
  if (counters.length === 0) return new Map()
  return new Map((await store.readCounters(tx, counters)).map((row) => [counterMapKey(row), row.used]))
}

/** Adds the accepted payouts to their counters, which `withinLimits` has locked. */
export function count(tx: Tx, payouts: readonly LimitedPayout[]): void {
  change(
    tx,
    payouts.flatMap((payout) => countersOf(payout).map((key) => ({ ...key, by: payout.call.amount }))),
  )
}

/**
 * Gives the amounts of payouts back to the periods in which they were counted. Takes the locks of counters before those of
 * ledger accounts, as acceptance does.
 */
export async function giveBack(tx: Tx, payouts: readonly PayoutRow[]): Promise<void> {
  const returned = payouts.flatMap((payout) => readCounted(payout).map((key) => ({ ...key, by: -payout.amount })))
  if (returned.length === 0) return
  await store.lockCounters(tx, returned)
  change(tx, returned)
}

function change(tx: Tx, changes: readonly store.CounterChange[]): void {
  if (changes.length === 0) return
  const byCounter = Map.groupBy(changes, counterMapKey)
  const summed = [...byCounter.values()].map((group) => ({
    ...present(group[0], 'a group has a member'),
    by: group.reduce((sum, { by }) => sum + by, 0n),
  }))
  store.changeCounters(tx, summed)
}
