/**
 * Finds earlier payments that a payment may repeat: to the same account, with the same amount and currency, and either
 * with the same reference within a year, or within a few days (DUPLICATE_PAYMENT_DAYS). The account of a beneficiary
 * never changes: an account also finds payments to other beneficiaries with that account. Payouts that failed, were
 * cancelled, rejected or returned do not count. Payouts that wait for an approval count, and so does the next payout of
 * an active standing order.
 */
import { after, type Currency, dayMs, type Minor } from '../kernel/index.ts'
import { Refusal } from '../kernel/api/index.ts'
import type { Tx } from '../postgres/index.ts'
import type { PayoutsDeps, ScheduledPayoutRow } from './deps.ts'
import type { PayoutOperation } from './rules.ts'
import { type EarlierRow, earlierPayouts } from './store-duplicates.ts'

/** Payment to be compared with earlier payments. */
export type DuplicateCandidate = {
  /** IBAN, domestic account or wallet, like `creditorAccount` of a payout. */
  readonly account: string
  readonly amount: Minor
  readonly currency: Currency
  /** Reference from the partner. Null: none. */
  readonly reference: string | null
  /** Id of an existing payout: only earlier payouts count. */
  readonly id?: string
  /** Idempotency key of the payment. Its own payout does not count, nor do other dates of its standing order. */
  readonly key?: { readonly operation: PayoutOperation; readonly idempotencyKey: string }
}

type EarlierPayout = Omit<EarlierRow, 'position'> & {
  /** `reference`: it has the same reference. `days`: it was created within a few days. */
  readonly because: 'reference' | 'days'
}

type ScheduledPayout = ScheduledPayoutRow & Pick<EarlierPayout, 'because'>

/** Payments that a payment may repeat. */
export type PossibleDuplicates = {
  /** Payouts (at most `earlierMax`): those with the same reference first, then the newest. */
  readonly earlier: readonly EarlierPayout[]
  /** Standing orders (at most `earlierMax`): those with the same reference first, then the next due. */
  readonly scheduled: readonly ScheduledPayout[]
}
export type DuplicatesInList = PossibleDuplicates & {
  /** Positions of earlier candidates of the list that it may repeat, at most `earlierMax`. */
  readonly positions: readonly number[]
}

/**
 * Finds the duplicates of each candidate, in order. Needs one statement for payouts and at most two for orders. `at`:
 * the time at which the candidates are paid.
 */
export type DuplicateFinder = (
  tx: Tx,
  partnerId: string,
  candidates: readonly DuplicateCandidate[],
  at: Date,
) => Promise<readonly DuplicatesInList[]>

/** People can review a few payments, not hundreds. */
const earlierMax = 10
/** Invoice numbers may repeat after a year: some companies restart at 1 every year. */
const referenceDays = 365

export const createDuplicateFinder =
  ({
    duplicateDays: days,
    scheduledPayouts,
  }: Pick<PayoutsDeps, 'duplicateDays' | 'scheduledPayouts'>): DuplicateFinder =>
  async (tx, partnerId, candidates, at) => {
    const since = days === 0 ? null : after(at, -days * dayMs)
    const rows = await earlierPayouts(
      tx,
      partnerId,
      candidates.map(({ account, amount, currency, reference, id, key }, position) => ({
        position,
        beforeId: id ?? null,
        account: account.toLowerCase(),
        amount,
        currency,
        referenceKey: normaliseReference(reference) === null ? null : asciiReference(reference ?? ''),
        operation: key?.operation ?? null,
        key: key?.idempotencyKey ?? null,
        orderKeys: orderKeyPrefix(key),
      })),
      { since, sinceByReference: after(at, -referenceDays * dayMs), rowsEach: earlierMax },
    )
    const byPosition = Map.groupBy(rows, ({ position }) => position)
    const among = findDuplicatesInList(candidates, days)
    const orders = Map.groupBy(
      candidates.length === 0 ? [] : await scheduledPayouts(tx, partnerId, candidates),
      ({ creditorAccount, ...order }) => paidKey({ ...order, account: creditorAccount }),
    )
    return candidates.map((candidate, position) => ({
      earlier: (byPosition.get(position) ?? []).flatMap(({ position: _position, ...row }): readonly EarlierPayout[] => {
        const because = duplicateReason(candidate.reference, row.remittance, since !== null && row.createdAt >= since)
        return because === undefined ? [] : [{ ...row, because }]
      }),
      scheduled: scheduledDuplicates(candidate, orders.get(paidKey(candidate)) ?? [], days, at),
      positions: among[position] ?? [],
    }))
  }

function duplicateReason(
  reference: string | null,
  other: string | null,
  isRecent: boolean,
): EarlierPayout['because'] | undefined {
  const compared = normaliseReference(reference)
  if (compared !== null && compared === normaliseReference(other)) return 'reference'
  return isRecent ? 'days' : undefined
}

/**
 * Lists orders that a candidate may repeat. An order counts only if it was created first: the first of two duplicates
 * is paid.
 */
function scheduledDuplicates(
  { reference, id, key }: DuplicateCandidate,
  orders: readonly ScheduledPayoutRow[],
  days: number,
  at: Date,
): readonly ScheduledPayout[] {
  const before = id ?? orderKeyPrefix(key)?.split(' ')[1]
  const apart = ({ dueAt }: ScheduledPayoutRow) => Math.abs(dueAt.getTime() - at.getTime())
  const found = orders.flatMap((order): readonly ScheduledPayout[] => {
    if (order.dueAt > after(at, referenceDays * dayMs) || orderKeyPrefix(key)?.includes(order.id)) return []
    if (before !== undefined && order.id >= before) return []
    const because = duplicateReason(reference, order.reference, days > 0 && apart(order) <= days * dayMs)
    return because === undefined ? [] : [{ ...order, because }]
  })
  const later = ({ because }: ScheduledPayout) => Number(because === 'days')
  return found
    .toSorted((one, other) => later(one) - later(other) || one.dueAt.getTime() - other.dueAt.getTime())
    .slice(0, earlierMax)
}

/** Returns the refusal possible_duplicate for a payment that may repeat another. Undefined: it repeats none. */
export function duplicateRefusal({ earlier: [first], scheduled: [order] }: PossibleDuplicates): Refusal | undefined {
  const found = first === undefined ? order && orderText(order) : payoutText(first)
  if (found === undefined) return undefined
  return new Refusal(
    'possible_duplicate',
    `The payout may repeat ${found}. Check that payment. If this one is intended, send it with onDuplicate Allow.`,
  )
}

function payoutText({ id, reference, remittance, createdAt }: EarlierPayout): string {
  const named = remittance === null || remittance === reference ? reference : `${reference} (${remittance})`
  return `${named} of ${createdAt.toISOString()}, with the id ${id}`
}

const orderText = ({ id, reference, dueAt }: ScheduledPayout): string =>
  `the standing order ${id}${reference === null ? '' : ` (${reference})`}, which pays at ${dueAt.toISOString()}`

/** Finds the earlier candidates that each candidate may repeat. */
export function findDuplicatesInList(
  candidates: readonly DuplicateCandidate[],
  days: number,
): readonly (readonly number[])[] {
  const seen = new Map<string, number[]>()
  return candidates.map((candidate, position) => {
    const { reference } = candidate
    const paid = paidKey(candidate)
    const others = seen.get(paid) ?? []
    const repeated: number[] = []
    for (const other of others)
      if (
        repeated.length < earlierMax &&
        duplicateReason(reference, candidates[other]?.reference ?? null, days > 0) !== undefined
      )
        repeated.push(other)
    others.push(position)
    seen.set(paid, others)
    return repeated
  })
}

/** Returns a key that is equal for payments of the same amount to the same account. */
const paidKey = ({ account, amount, currency }: Pick<DuplicateCandidate, 'account' | 'amount' | 'currency'>): string =>
  `${account.toLowerCase()} ${amount} ${currency}`

/**
 * Normalises a reference without case, blanks and punctuation: `INV-2026/7` and `inv 2026 7` are one invoice. Null:
 * nothing is left.
 */
export function normaliseReference(reference: string | null): string | null {
  const text =
    reference
      ?.normalize('NFC')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}]/gu, '') ?? ''
  return text === '' ? null : text
}

/** Reduces a reference for the comparison in PostgreSQL, whose lower case depends on its locale. */
const asciiReference = (reference: string): string => reference.replaceAll(/[^0-9A-Za-z]/g, '').toLowerCase()

/** Returns the common prefix of an order's keys, which differ in the date after the last blank. */
const orderKeyPrefix = (key: DuplicateCandidate['key']): string | null =>
  key?.operation === 'createStandingOrder' ? key.idempotencyKey.slice(0, key.idempotencyKey.lastIndexOf(' ') + 1) : null
