/**
 * Which bookings of a page are known already, from this message or another one. A booking may be reported several times: announced,
 * on the statement, as a sum in one message and by its payments in another.
 */
import { amountText, newId } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import { debtorOf } from './counterparty.ts'
import { oddity, type Report } from './reports.ts'
import { absolute } from './scores.ts'
import * as entries from './store-entries.ts'
import type { Booking } from './units.ts'

/** A booking that is written now. `waiting`: it takes the place of the sum that waited for it. */
export type Fresh = {
  readonly booking: Booking
  readonly statementId: string | null
  readonly waiting?: entries.KnownEntry
}
export type Known = {
  readonly fresh: readonly Fresh[]
  readonly reports: readonly Report[]
  readonly corrections: readonly {
    readonly booking: Booking
    readonly statementId: string | null
    readonly more: bigint
    readonly report: Report
  }[]
}

export async function known(
  tx: Tx,
  of: entries.AccountKey,
  messageId: string,
  bookings: readonly Booking[],
): Promise<Known> {
  const keys = new Set(bookings.flatMap(({ key, whole }) => (whole === null ? [key] : [key, whole])))
  const rows = new Map((await entries.entriesByKeys(tx, of, [...keys])).map((row) => [row.entryKey, row]))
  const summed = await knownAsPayments(tx, of, bookings, rows)
  const links = new Map<string, Set<string>>()
  const link = (row: entries.KnownEntry, { statementId }: Booking) => {
    if (statementId === null || row.statementId !== null) return
    const ids = links.get(statementId) ?? new Set()
    links.set(statementId, ids.add(row.id))
  }
  const replaced = new Map<string, entries.KnownEntry>()
  const reports: Report[] = []
  const fresh = bookings.flatMap((booking): readonly Fresh[] => {
    const { unit, key, whole, statementId } = booking
    if (summed.has(booking)) return []
    const own = rows.get(key)
    if (own !== undefined && own.kind === 'waiting' && !unit.isSum)
      return [{ booking, statementId: own.statementId ?? statementId, waiting: own }, ...linked(link, own, booking)]
    if (own !== undefined) return linked(link, own, booking)
    const sum = whole === null ? undefined : rows.get(whole)
    if (sum === undefined) return [{ booking, statementId }]
    if (sum.kind !== 'waiting') {
      if (sum.kind === 'unknown') reports.push(late(of, sum))
      return linked(link, sum, booking)
    }
    replaced.set(sum.id, sum)
    return [{ booking, statementId: statementId ?? sum.statementId }]
  })
  if (replaced.size > 0) entries.deleteWaiting(tx, of.operatorId, [...replaced.keys()])
  const { kept, corrections } = await corrected(tx, of, messageId, fresh, rows, link)
  for (const [statementId, ids] of links) entries.linkEntries(tx, of.operatorId, [...ids], statementId)
  return { fresh: kept, reports, corrections }
}

function linked(
  link: (row: entries.KnownEntry, booking: Booking) => void,
  row: entries.KnownEntry,
  booking: Booking,
): readonly [] {
  link(row, booking)
  return []
}

/** Sums of bookings whose payments are known: they count already. */
async function knownAsPayments(
  tx: Tx,
  of: entries.AccountKey,
  bookings: readonly Booking[],
  rows: ReadonlyMap<string, entries.KnownEntry>,
): Promise<ReadonlySet<Booking>> {
  const sums = bookings.filter(({ unit: { isSum, booking }, key }) => isSum && booking !== null && !rows.has(key))
  if (sums.length === 0) return new Set()
  const names = [...new Set(sums.flatMap(({ unit: { booking } }) => booking ?? []))]
  const amounts = new Map((await entries.sumsOfBookings(tx, of, names)).map(({ booking, amount }) => [booking, amount]))
  const found = sums.filter(({ unit: { booking, amount } }) => amounts.get(booking ?? '') === amount)
  const byStatement = Map.groupBy(found, ({ statementId }) => statementId)
  for (const [statementId, linkedNow] of byStatement)
    if (statementId !== null)
      entries.linkBookings(
        tx,
        of,
        linkedNow.flatMap(({ unit: { booking } }) => booking ?? []),
        statementId,
      )
  return new Set(found)
}

/** The sum was booked to suspense before its payments were named: a person finds them in the message. */
function late(of: entries.AccountKey, { id, entryKey }: entries.KnownEntry): Report {
  const text = `The payments of a sum were named after it had been booked to suspense: ${entryKey}.`
  return oddity(of, 'entry_unclear', text, ['late', id], id)
}

type Linking = (row: entries.KnownEntry, booking: Booking) => void

/**
 * A statement counts, not its announcement. What was announced under the same reference with another amount is the same booking:
 * the difference is booked besides.
 */
async function corrected(
  tx: Tx,
  of: entries.AccountKey,
  messageId: string,
  fresh: readonly Fresh[],
  rows: ReadonlyMap<string, entries.KnownEntry>,
  link: Linking,
): Promise<{ readonly kept: readonly Fresh[]; readonly corrections: Known['corrections'] }> {
  const suspects = fresh.filter(
    ({ booking: { unit, statementId, whole }, waiting }) =>
      statementId !== null && whole === null && unit.references.bank !== null && waiting === undefined,
  )
  const names = [...new Set(suspects.flatMap(({ booking: { unit } }) => unit.booking ?? []))]
  const announced = names.length === 0 ? [] : await entries.announcedOf(tx, of, names, messageId)
  const open = announced.filter(({ entryKey, kind }) => !rows.has(entryKey) && kind !== 'waiting')
  if (open.length === 0) return { kept: fresh, corrections: [] }
  const byBooking = Map.groupBy(open, ({ booking }) => booking)
  const corrections: Known['corrections'][number][] = []
  const kept = fresh.filter((one) => {
    const { booking, statementId } = one
    const row = suspects.includes(one) ? byBooking.get(booking.unit.booking)?.shift() : undefined
    if (row === undefined) return true
    link(row, booking)
    const more = booking.unit.amount - row.amount
    corrections.push({ booking, statementId, more, report: correction(of, booking, row, more) })
    return false
  })
  return { kept, corrections }
}

function correction(
  { operatorId, currency, account }: entries.AccountKey,
  { unit }: Booking,
  row: entries.KnownEntry,
  more: bigint,
): Report {
  const id = newId()
  const money = { currency: unit.account.currency, amount: absolute(more) }
  const [announced, booked] = [row.amount, unit.amount].map((minor) => amountText(minor, unit.account.currency))
  const details = `The booking ${unit.references.bank ?? ''} was announced with ${announced} ${currency} and is on the statement with ${booked} ${currency}.`
  const named = { partnerId: operatorId, id, subjectId: id, entryId: id }
  if (more < 0n) return { ...named, kind: 'debit.booked', facts: { why: 'unknown_debit', account, money, details } }
  const facts = { account, money, debtor: debtorOf(unit.counterparty), remittance: details, endToEndId: null }
  return { ...named, kind: 'credit.booked', facts }
}
