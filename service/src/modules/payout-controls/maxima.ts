/**
 * Counts what each person approves on a day (UTC) against the daily maximum per person. The transaction of an approval locks the
 * counters of its person before it judges, so that approvals at once, also in other processes, never exceed the maximum.
 *
 * A person has two counters: one by id, and one by name, because a rotated credential has a new id and the name of the one before. They
 * are locked before all other counters, by approvals and by give-backs alike, so that two batches cannot deadlock.
 */
import { hash } from 'node:crypto'
import { ownJson } from '@partner-payments/wire'
import { Refusal } from '../../api/index.ts'
import { amountText, type Currency, type Minor, partnerKey, personKey } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import { mapEntries, soldOf, summed } from './counting.ts'
import { type Counter, counterMapKey, counterOf, leftOf, nameFor, periodStarts, resetsAt } from './limit-rules.ts'
import { type Side, sidesOf } from './sides.ts'
import { maximaFor } from './store.ts'
import * as store from './store-limits.ts'

type Approver = { readonly id: string; readonly name: string }
type Approved = {
  readonly partnerId: string
  readonly amount: Minor
  readonly currency: Currency
  readonly soldAmount: Minor | null
  readonly soldCurrency: Currency | null
}
/** A payout that a person approves. */
type Approving = { readonly payout: Approved; readonly by: Approver }
/** An approval that was counted, of a payout that ends without a settlement. */
type Returned = Approving & { readonly decidedAt: Date; readonly countedIn: string }

/** An amount beyond a daily maximum per person. */
export type BeyondMaximum = {
  readonly currency: Currency
  readonly most: Minor
  readonly left: Minor
  readonly resetsAt: Date
}
/** `countedIn`: as the row of the approval keeps it; undefined: no maximum holds. */
export type JudgedApproval = { readonly refusal: Refusal } | { readonly countedIn: string | undefined }

const scope = 'approver'
const period = 'day'

/** A UUID made from a name, in the form in which two names are compared. */
function nameId(name: string): string {
  const digest = hash('sha256', personKey(name), 'hex')
  return digest.slice(0, 32).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** The counters of a person that have an amount which is approved at a time. */
const countersOf = ({ payout: { partnerId }, by }: Approving, { currency }: Side, at: Date): readonly Counter[] =>
  [by.id, nameId(by.name)].map((scopeId) =>
    counterOf({ partnerId, currency }, { scope, scopeId, period }, periodStarts(at)),
  )

type Maxima = ReadonlyMap<string, Minor>
/** An amount of a payout for which a maximum holds. */
type Held = { readonly side: Side; readonly most: Minor; readonly counters: readonly Counter[] }

const sidesOfPayout = (payout: Approved) => sidesOf(payout, soldOf(payout))

async function readMaxima(tx: Tx, payouts: readonly Approved[]): Promise<Maxima> {
  if (payouts.length === 0) return new Map()
  const currencies = payouts.flatMap((payout) => sidesOfPayout(payout).map(({ currency }) => currency))
  const partnerIds = payouts.map(({ partnerId }) => partnerId)
  const rows = await maximaFor(tx, partnerIds, [...new Set(currencies)])
  return new Map(rows.map((row) => [partnerKey(row.partnerId, row.currency), row.perPersonAmount]))
}

const heldOf = (approving: Approving, maxima: Maxima, now: Date): readonly Held[] =>
  sidesOfPayout(approving.payout).flatMap((side) => {
    const most = maxima.get(partnerKey(approving.payout.partnerId, side.currency))
    return most === undefined ? [] : [{ side, most, counters: countersOf(approving, side, now) }]
  })

function beyond(held: readonly Held[], used: ReadonlyMap<string, Minor>): BeyondMaximum | undefined {
  for (const { side, most, counters } of held)
    for (const counter of counters) {
      const left = leftOf({ amount: most }, used.get(counter.mapKey) ?? 0n)
      if (side.amount > left) return { currency: side.currency, most, left, resetsAt: resetsAt(counter) }
    }
  return undefined
}

function refusalOf({ currency, most, left, resetsAt: until }: BeyondMaximum): Refusal {
  const money = (amount: Minor) => `${amountText(amount, currency)} ${currency}`
  return new Refusal(
    'approver_limit_exceeded',
    `One person approves at most ${money(most)} on a day. ${money(left)} is left for you until ${until.toISOString()}. Another person must approve the payout.`,
  )
}

/** The changes that give a counted approval back to the day on which it was made. */
const returnsOf = (returned: Returned) => {
  const names = new Set(ownJson<readonly string[]>(returned.countedIn))
  return sidesOfPayout(returned.payout)
    .filter((side) => names.has(nameFor(side, { scope, period })))
    .flatMap((side) =>
      countersOf(returned, side, returned.decidedAt).map((counter) => ({ ...counter, by: -side.amount })),
    )
}

/**
 * Judges approvals in their order, and counts those within the maxima of their persons. First gives back what earlier approvals have counted
 * of payouts that end now without a settlement: nothing of it has left. The caller has locked the payouts. Each approval has an answer;
 * its refusal is approver_limit_exceeded.
 */
export async function countApprovals(
  tx: Tx,
  approvals: readonly Approving[],
  returned: readonly Returned[],
  now: Date,
): Promise<readonly JudgedApproval[]> {
  const maxima = await readMaxima(
    tx,
    approvals.map(({ payout }) => payout),
  )
  const asked = approvals.map((approving) => heldOf(approving, maxima, now))
  const changes: (Counter & { readonly by: Minor })[] = returned.flatMap(returnsOf)
  const used = await lockUsed(
    tx,
    asked.flat().flatMap(({ counters }) => counters),
    changes,
  )
  for (const { mapKey, by } of changes) used.set(mapKey, (used.get(mapKey) ?? 0n) + by)
  const judged = asked.map((held): JudgedApproval => {
    if (held.length === 0) return { countedIn: undefined }
    const exceeded = beyond(held, used)
    if (exceeded !== undefined) return { refusal: refusalOf(exceeded) }
    for (const { side, counters } of held)
      for (const counter of counters) {
        used.set(counter.mapKey, (used.get(counter.mapKey) ?? 0n) + side.amount)
        changes.push({ ...counter, by: side.amount })
      }
    return { countedIn: JSON.stringify(held.map(({ side }) => nameFor(side, { scope, period }))) }
  })
  if (changes.length > 0) store.changeCounters(tx, summed(changes))
  return judged
}

/** `counted` may not have rows yet. `returned` have rows, unless they were deleted after their day. */
async function lockUsed(
  tx: Tx,
  counted: readonly Counter[],
  returned: readonly Counter[],
): Promise<Map<string, Minor>> {
  const distinct = (counters: readonly Counter[]) => [...new Map(counters.map((each) => [each.mapKey, each])).values()]
  if (counted.length > 0) store.ensureCounters(tx, distinct(counted))
  const all = distinct([...counted, ...returned])
  return all.length === 0 ? new Map() : new Map(mapEntries(await store.lockCounters(tx, all)))
}

/** Reports whether an approval now would exceed a maximum. Takes no lock: another approval may come first. Undefined: it would not. */
export async function lookBeyondMaximum(tx: Tx, approving: Approving, now: Date): Promise<BeyondMaximum | undefined> {
  const held = heldOf(approving, await readMaxima(tx, [approving.payout]), now)
  if (held.length === 0) return undefined
  const counters = held.flatMap((each) => each.counters)
  const wanted = {
    partnerIds: [approving.payout.partnerId],
    currencies: held.map(({ side }) => side.currency),
    scopeIds: counters.map(({ scopeId }) => scopeId),
    scopes: [scope] as const,
  }
  const rows = await store.readCounters(tx, { ...wanted, starts: periodStarts(now) })
  return beyond(held, new Map(rows.map((row) => [counterMapKey(row), row.used])))
}
