/** Pure: which booking is which entry that another message has reported, if several fit. */
import type { Verdict } from './evidence.ts'

/** A booking that may be an entry. */
export type Pair<Booking, Row> = {
  readonly booking: Booking
  readonly row: Row
  readonly points: number
  readonly verdict: Verdict
}

/** `open`: entries that no booking is yet. */
type Assigned<Booking, Row> = { readonly payments: Map<Booking, Row>; readonly open: Set<Row> }

/** Assigns each entry to one booking, in the order of the pairs. */
export function assign<Booking, Row>(
  pairs: readonly Pair<Booking, Row>[],
  { payments, open }: Assigned<Booking, Row>,
  verdicts: readonly Verdict[],
): void {
  for (const { booking, row, verdict } of pairs)
    if (verdicts.includes(verdict) && !payments.has(booking) && open.delete(row)) payments.set(booking, row)
}

/**
 * Moves bookings to other entries that are the same to them, so that a booking to which only their entry fits gets it:
 * one that says little fits several payments of a payer, and would otherwise leave the other one to be counted twice.
 * Returns the entries that bookings may be which are still without one (Kuhn's augmenting paths, 1955).
 */
export function makeRoom<Booking, Row>(
  pairs: readonly Pair<Booking, Row>[],
  { payments, open }: Assigned<Booking, Row>,
): ReadonlyMap<Booking, Row> {
  const byBooking = Map.groupBy(pairs, ({ booking }) => booking)
  const sameOf = (booking: Booking) => (byBooking.get(booking) ?? []).filter(({ verdict }) => verdict === 'same')
  // A reference decided the others for good.
  const holders = new Map(
    pairs.flatMap(({ booking, row, verdict }): readonly (readonly [Row, Booking])[] =>
      verdict === 'same' && payments.get(booking) === row ? [[row, booking]] : [],
    ),
  )
  const place = (booking: Booking, visited: Set<Row>): boolean =>
    sameOf(booking).some(({ row }) => {
      if (visited.has(row)) return false
      visited.add(row)
      const holder = holders.get(row)
      if (!open.delete(row) && (holder === undefined || !place(holder, visited))) return false
      payments.set(booking, row)
      holders.set(row, booking)
      return true
    })
  const doubts = new Map<Booking, Row>()
  for (const [booking, own] of byBooking) {
    if (payments.has(booking) || own.some(({ row }) => open.has(row)) || place(booking, new Set())) continue
    for (const { row } of own) {
      const holder = holders.get(row)
      if (holder === undefined || doubts.has(booking)) continue
      if (place(holder, new Set([row]))) {
        holders.delete(row)
        open.add(row)
        doubts.set(booking, row)
      } else {
        const other = byBooking.get(holder)?.find((pair) => open.has(pair.row))
        if (other !== undefined) doubts.set(booking, other.row)
      }
    }
  }
  return doubts
}
