/**
 * Judges which earlier payments a payment may repeat: to the same account, of the same amount and currency, and with the same reference within
 * a year, or made within some days (DUPLICATE_PAYMENT_DAYS). The account of a beneficiary never changes, so that an account also finds
 * what its beneficiary was paid, and what another beneficiary with the account was. Payouts that failed, were cancelled, rejected or
 * returned do not count; those that wait for an approval do, and so does the next payout of an active standing order.
 */
import { after, type Currency, dayMs, type Minor } from '../kernel/index.ts'
import { Refusal } from '../kernel/api/index.ts'
import type { Tx } from '../postgres/index.ts'
import type { PayoutsDeps, ScheduledRow } from './deps.ts'
import type { PayoutOperation } from './rules.ts'
import { type EarlierRow, earlierPayouts } from './store-duplicates.ts'

/** A payment that is asked about. */
export type DuplicateCandidate = {
  /** An IBAN, a domestic account or a wallet, as `creditorAccount` of a payout has it. */
  readonly account: string
  readonly amount: Minor
  readonly currency: Currency
  /** The reference that the partner gave. Null: none. */
  readonly reference: string | null
  /** The id of a payout that is made: only those before it count. */
  readonly id?: string
  /** The key under which it is made: the payout that has it is not a repetition, and neither are other dates of its standing order. */
  readonly key?: { readonly operation: PayoutOperation; readonly idempotencyKey: string }
}

export type EarlierPayout = Omit<EarlierRow, 'position'> & {
  /** `reference`: it has the same reference. `days`: it was made within some days. */
  readonly because: 'reference' | 'days'
}

export type ScheduledPayout = ScheduledRow & Pick<EarlierPayout, 'because'>

/** The payments that a payment may repeat. */
export type Repeated = {
  /** Payouts, at most `earlierMax`: those with its reference first, then the newest. */
  readonly earlier: readonly EarlierPayout[]
  /** Standing orders, at most `earlierMax`: those with its reference first, then the next ones. */
  readonly scheduled: readonly ScheduledPayout[]
}
export type Duplicates = Repeated & {
  /** Positions of earlier candidates of the same list that it may repeat, at most `earlierMax`. */
  readonly positions: readonly number[]
}

/** Answers for each candidate, in their order, by indexes: in one statement for payouts and at most two for orders. `at`: when they are paid. */
export type DuplicatesOf = (
  tx: Tx,
  partnerId: string,
  candidates: readonly DuplicateCandidate[],
  at: Date,
) => Promise<readonly Duplicates[]>

/** A person looks at some payments, not at hundreds. */
const earlierMax = 10
/** An invoice number is used again after a year or more: some companies begin with 1 every year. */
const referenceDays = 365

export const createDuplicates =
  ({ duplicateDays: days, scheduledPayouts }: Pick<PayoutsDeps, 'duplicateDays' | 'scheduledPayouts'>): DuplicatesOf =>
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
        referenceKey: comparable(reference) === null ? null : asciiOf(reference ?? ''),
        operation: key?.operation ?? null,
        key: key?.idempotencyKey ?? null,
        orderKeys: orderKeysOf(key),
      })),
      { since, sinceByReference: after(at, -referenceDays * dayMs), rowsEach: earlierMax },
    )
    const byPosition = Map.groupBy(rows, ({ position }) => position)
    const among = repeatedAmong(candidates, days)
    const orders = Map.groupBy(
      candidates.length === 0 ? [] : await scheduledPayouts(tx, partnerId, candidates),
      ({ creditorAccount, ...order }) => paidKey({ ...order, account: creditorAccount }),
    )
    return candidates.map((candidate, position) => ({
      earlier: (byPosition.get(position) ?? []).flatMap(({ position: _position, ...row }): readonly EarlierPayout[] => {
        const because = reasonOf(candidate.reference, row.remittance, since !== null && row.createdAt >= since)
        return because === undefined ? [] : [{ ...row, because }]
      }),
      scheduled: scheduledFor(candidate, orders.get(paidKey(candidate)) ?? [], days, at),
      positions: among[position] ?? [],
    }))
  }

function reasonOf(
  reference: string | null,
  other: string | null,
  isRecent: boolean,
): EarlierPayout['because'] | undefined {
  const compared = comparable(reference)
  if (compared !== null && compared === comparable(other)) return 'reference'
  return isRecent ? 'days' : undefined
}

/** An order counts only if it was made before the payout, or before the order, that is judged: of two that repeat each other the first one pays. */
function scheduledFor(
  { reference, id, key }: DuplicateCandidate,
  orders: readonly ScheduledRow[],
  days: number,
  at: Date,
): readonly ScheduledPayout[] {
  const before = id ?? orderKeysOf(key)?.split(' ')[1]
  const apart = ({ dueAt }: ScheduledRow) => Math.abs(dueAt.getTime() - at.getTime())
  const found = orders.flatMap((order): readonly ScheduledPayout[] => {
    if (order.dueAt > after(at, referenceDays * dayMs) || orderKeysOf(key)?.includes(order.id)) return []
    if (before !== undefined && order.id >= before) return []
    const because = reasonOf(reference, order.reference, days > 0 && apart(order) <= days * dayMs)
    return because === undefined ? [] : [{ ...order, because }]
  })
  const later = ({ because }: ScheduledPayout) => Number(because === 'days')
  return found
    .toSorted((one, other) => later(one) - later(other) || one.dueAt.getTime() - other.dueAt.getTime())
    .slice(0, earlierMax)
}

/** The refusal of a payment that may repeat another: possible_duplicate. Undefined: it repeats none. */
export function possibleDuplicate({ earlier: [first], scheduled: [order] }: Repeated): Refusal | undefined {
  const found = first === undefined ? order && namedOrder(order) : namedPayout(first)
  if (found === undefined) return undefined
  return new Refusal(
    'possible_duplicate',
    `The payout may repeat ${found}. Look at it. Send this one with onDuplicate Allow if it is meant.`,
  )
}

function namedPayout({ id, reference, remittance, createdAt }: EarlierPayout): string {
  const named = remittance === null || remittance === reference ? reference : `${reference} (${remittance})`
  return `${named} of ${createdAt.toISOString()}, with the id ${id}`
}

const namedOrder = ({ id, reference, dueAt }: ScheduledPayout): string =>
  `the standing order ${id}${reference === null ? '' : ` (${reference})`}, which pays at ${dueAt.toISOString()}`

/** The earlier candidates that each candidate may repeat. */
export function repeatedAmong(candidates: readonly DuplicateCandidate[], days: number): readonly (readonly number[])[] {
  const seen = new Map<string, number[]>()
  return candidates.map((candidate, position) => {
    const { reference } = candidate
    const paid = paidKey(candidate)
    const others = seen.get(paid) ?? []
    const repeated: number[] = []
    for (const other of others)
      if (
        repeated.length < earlierMax &&
        reasonOf(reference, candidates[other]?.reference ?? null, days > 0) !== undefined
      )
        repeated.push(other)
    others.push(position)
    seen.set(paid, others)
    return repeated
  })
}

/** Equal for payments of one amount to one account. */
const paidKey = ({ account, amount, currency }: Pick<DuplicateCandidate, 'account' | 'amount' | 'currency'>): string =>
  `${account.toLowerCase()} ${amount} ${currency}`

/** A reference without case, blanks and punctuation: `INV-2026/7` and `inv 2026 7` name one invoice. Null: it names none. */
export function comparable(reference: string | null): string | null {
  const text =
    reference
      ?.normalize('NFC')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}]/gu, '') ?? ''
  return text === '' ? null : text
}

/** Equal for references that are comparable: PostgreSQL compares by it, because its lower case depends on its locale. */
const asciiOf = (reference: string): string => reference.replaceAll(/[^0-9A-Za-z]/g, '').toLowerCase()

/** The keys of one order differ in the date behind the last blank. */
const orderKeysOf = (key: DuplicateCandidate['key']): string | null =>
  key?.operation === 'createStandingOrder' ? key.idempotencyKey.slice(0, key.idempotencyKey.lastIndexOf(' ') + 1) : null
