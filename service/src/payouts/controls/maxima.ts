/**
 * Counts the amounts that each person approves on a day (UTC) against the daily maximum per person. An approval locks
 * the counters of its person first, so that concurrent approvals, also in other processes, never exceed the maximum.
 *
 * A person has two counters: one by id, and one by name, because a rotated credential has a new id and the same name.
 * Approvals and returned approvals lock them before all other counters, so that two batches cannot deadlock.
 */
import { hash } from 'node:crypto'
import { Refusal } from '../../kernel/api/index.ts'
import { amountText, type Currency, type Minor, personKey, present } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import type { ReferenceConverter, Rates } from '../../rates/index.ts'
import { usedEntries, soldAmountOf, sumChanges } from './counting.ts'
import {
  countedIn,
  type Counter,
  counterMapKey,
  counterOf,
  remainingAmount,
  sideLimitName,
  periodStarts,
  resetsAt,
  scopeFor,
  sidesCounted,
} from './rules.ts'
import {
  conversionText,
  parseReference,
  type ControlledAmount,
  sideOverAllCurrencies,
  controlledAmounts,
} from './sides.ts'
import * as store from './store.ts'

type Approver = { readonly id: string; readonly name: string }
type ApprovedPayout = {
  readonly partnerId: string
  readonly amount: Minor
  readonly currency: Currency
  readonly soldAmount: Minor | null
  readonly soldCurrency: Currency | null
  /** The amount for rules across all currencies, as JSON from the row. Null: there is none. */
  readonly referenceAmount: string | null
}
/** A payout and the person who approves it. */
type PayoutApproval = { readonly payout: ApprovedPayout; readonly by: Approver }
/** A counted approval of a payout that ends without a settlement. */
type ReturnedApproval = PayoutApproval & { readonly decidedAt: Date; readonly countedIn: string }

/** A daily maximum per person that an approval would exceed. */
export type BeyondMaximum = {
  readonly currency: Currency
  readonly most: Minor
  readonly left: Minor
  readonly resetsAt: Date
  /** Sentence about the conversion for a maximum across all currencies. Empty: the maximum is in one currency. */
  readonly counted: string
}
/** `countedIn`: the counters, for the row of the approval. Undefined: no maximum applies. */
export type ApprovalResult = { readonly refusal: Refusal } | { readonly countedIn: string | undefined }

const scope = 'approver'
const period = 'day'

/** Derives a UUID from a name in its normalised form. */
function nameId(name: string): string {
  const digest = hash('sha256', personKey(name), 'hex')
  return digest.slice(0, 32).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** Lists the two counters of a person for an amount and the day of a time. */
const countersOf = (
  { payout: { partnerId }, by }: PayoutApproval,
  { currency, name }: Pick<ControlledAmount, 'currency' | 'name'>,
  at: Date,
): readonly Counter[] =>
  [by.id, nameId(by.name)].map((scopeId) =>
    counterOf({ partnerId, currency }, { scope: scopeFor({ name }, scope), scopeId, period }, periodStarts(at)),
  )

/** Maxima of partners, and the conversion for those across all currencies. */
type ApproverMaxima = {
  readonly rows: readonly store.ApproverMaximum[]
  readonly convert: ReferenceConverter | undefined
}
/** An amount of a payout to which a maximum applies. */
type HeldAmount = { readonly side: ControlledAmount; readonly most: Minor; readonly counters: readonly Counter[] }

const sidesOfPayout = (payout: ApprovedPayout) => controlledAmounts(payout, soldAmountOf(payout))

type MaximaDeps = { readonly rates: Pick<Rates, 'converter'> }

async function readMaxima({ rates }: MaximaDeps, tx: Tx, payouts: readonly ApprovedPayout[]): Promise<ApproverMaxima> {
  if (payouts.length === 0) return { rows: [], convert: undefined }
  const currencies = payouts.flatMap((payout) => sidesOfPayout(payout).map(({ currency }) => currency))
  const partnerIds = payouts.map(({ partnerId }) => partnerId)
  const rows = await store.maximaFor(tx, partnerIds, [...new Set(currencies)])
  const isOverAll = rows.some(({ allCurrencies }) => allCurrencies)
  return { rows, convert: isOverAll ? await rates.converter(tx) : undefined }
}

/** Returns the amount that was used when the payout was accepted. If there is none, converts at the current rate. */
function sideOverAll(payout: ApprovedPayout, currency: Currency, convert: ApproverMaxima['convert']): ControlledAmount {
  const [leaving] = sidesOfPayout(payout)
  const kept = parseReference(payout.referenceAmount)
  return sideOverAllCurrencies(leaving, currency, kept?.currency === currency ? kept : convert?.(leaving, currency))
}

const heldAmounts = (approving: PayoutApproval, { rows, convert }: ApproverMaxima, now: Date): readonly HeldAmount[] =>
  rows.flatMap(({ partnerId, currency, allCurrencies, perPersonAmount: most }) => {
    const { payout } = approving
    if (partnerId !== payout.partnerId) return []
    const sides = allCurrencies
      ? [sideOverAll(payout, currency, convert)]
      : sidesOfPayout(payout).filter((side) => side.currency === currency)
    return sides.map((side) => ({ side, most, counters: countersOf(approving, side, now) }))
  })

function exceededMaximum(held: readonly HeldAmount[], used: ReadonlyMap<string, Minor>): BeyondMaximum | undefined {
  for (const { side, most, counters } of held)
    for (const counter of counters) {
      const left = remainingAmount({ amount: most }, used.get(counter.mapKey) ?? 0n)
      if (side.amount > left)
        return { currency: side.currency, most, left, resetsAt: resetsAt(counter), counted: conversionText(side) }
    }
  return undefined
}

function refuseBeyondMaximum({ currency, most, left, resetsAt: until, counted }: BeyondMaximum): Refusal {
  const money = (amount: Minor) => `${amountText(amount, currency)} ${currency}`
  return new Refusal(
    'approver_limit_exceeded',
    `One person approves at most ${money(most)} on a day. ${money(left)} is left for you until ${until.toISOString()}. Another person must approve the payout.${counted}`,
  )
}

/** Returns the changes that subtract a counted approval from its day. */
const returnChanges = (returned: ReturnedApproval) =>
  sidesCounted(returned.countedIn, sidesOfPayout(returned.payout))
    .filter(({ side, names }) => names.has(sideLimitName(side, { scope, period })))
    .flatMap(({ side }) =>
      countersOf(returned, side, returned.decidedAt).map((counter) => ({ ...counter, by: -side.amount })),
    )

/**
 * Checks approvals in order, and counts those within their approvers' maxima. First subtracts the approvals of payouts
 * that end now without a settlement. The caller has locked the payouts. Returns a result for each approval; a refusal
 * is approver_limit_exceeded.
 */
export async function countApprovals(
  deps: MaximaDeps,
  tx: Tx,
  approvals: readonly PayoutApproval[],
  returned: readonly ReturnedApproval[],
  now: Date,
): Promise<readonly ApprovalResult[]> {
  const maxima = await readMaxima(
    deps,
    tx,
    approvals.map(({ payout }) => payout),
  )
  const asked = approvals.map((approving) => heldAmounts(approving, maxima, now))
  const changes: (Counter & { readonly by: Minor })[] = returned.flatMap(returnChanges)
  const used = await lockUsed(
    tx,
    asked.flat().flatMap(({ counters }) => counters),
    changes,
  )
  for (const { mapKey, by } of changes) used.set(mapKey, (used.get(mapKey) ?? 0n) + by)
  const results = asked.map((held): ApprovalResult => {
    if (held.length === 0) return { countedIn: undefined }
    const exceeded = exceededMaximum(held, used)
    if (exceeded !== undefined) return { refusal: refuseBeyondMaximum(exceeded) }
    for (const { side, counters } of held)
      for (const counter of counters) {
        used.set(counter.mapKey, (used.get(counter.mapKey) ?? 0n) + side.amount)
        changes.push({ ...counter, by: side.amount })
      }
    return {
      countedIn: JSON.stringify(held.map(({ side }) => countedIn(sideLimitName(side, { scope, period }), side))),
    }
  })
  if (changes.length > 0) store.changeCounters(tx, sumChanges(changes))
  return results
}

/**
 * Locks the counters of `counted` and `returned`, and returns their sums. Creates missing rows of `counted`. Rows of
 * `returned` exist, unless they were deleted after their day.
 */
async function lockUsed(
  tx: Tx,
  counted: readonly Counter[],
  returned: readonly Counter[],
): Promise<Map<string, Minor>> {
  const distinct = (counters: readonly Counter[]) => [...new Map(counters.map((each) => [each.mapKey, each])).values()]
  if (counted.length > 0) store.ensureCounters(tx, distinct(counted))
  const all = distinct([...counted, ...returned])
  return all.length === 0 ? new Map() : new Map(usedEntries(await store.lockCounters(tx, all)))
}

/**
 * Checks whether the approval of these payouts of a partner would now exceed a maximum. Takes no lock, so another
 * approval may come first. Undefined: it would not.
 */
export async function findExceededMaximum(
  deps: MaximaDeps,
  tx: Tx,
  { payouts, by }: { readonly payouts: readonly ApprovedPayout[]; readonly by: Approver },
  now: Date,
): Promise<BeyondMaximum | undefined> {
  const maxima = await readMaxima(deps, tx, payouts)
  const each = payouts.flatMap((payout) => heldAmounts({ payout, by }, maxima, now))
  const held = [...Map.groupBy(each, ({ side }) => `${side.name === 'all'} ${side.currency}`).values()].map((group) => {
    const first = present(group[0], 'a group has a member')
    return { ...first, side: { ...first.side, amount: group.reduce((sum, { side }) => sum + side.amount, 0n) } }
  })
  if (held.length === 0) return undefined
  const counters = held.flatMap((one) => one.counters)
  const wanted = {
    partnerIds: payouts.map(({ partnerId }) => partnerId),
    currencies: held.map(({ side }) => side.currency),
    scopeIds: counters.map(({ scopeId }) => scopeId),
    scopes: [scope, scopeFor({ name: 'all' }, scope)] as const,
  }
  const rows = await store.readCounters(tx, { ...wanted, starts: periodStarts(now) })
  return exceededMaximum(held, new Map(rows.map((row) => [counterMapKey(row), row.used])))
}
