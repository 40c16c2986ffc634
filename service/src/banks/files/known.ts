/**
 * Finds the bookings of a page that this or another message has already reported. A bank may report a booking several
 * times: announced, on the statement, as a sum, and payment by payment.
 */
import { amountText, deriveTimeId, newId, nilId } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import { dayKey, matchAnnouncedEntries, entryEvidence, type UnmatchedBooking } from './announced.ts'
import { type Booking, countedKey, toDebtor } from './units.ts'
import { agreesBesidesReference, comparePayments, evidencePoints, paymentEvidence } from './evidence.ts'
import { oddityReport, type Report } from './reports.ts'
import { absolute } from './accounts.ts'
import * as entries from './store-entries.ts'

/** A booking to be inserted. `waiting`: the entry that it replaces. `doubt`: the known entry that it may be. */
export type NewBooking = {
  readonly booking: Booking
  readonly statementId: string | null
  readonly waiting?: entries.KnownEntry
  readonly doubt?: entries.KnownEntry
}
export type KnownBookings = {
  readonly fresh: readonly NewBooking[]
  /** The number of bookings left to a second reading, because a later page may fit an announced entry better. */
  readonly deferred: number
  readonly reports: readonly Report[]
  readonly corrections: readonly {
    readonly booking: Booking
    readonly statementId: string | null
    readonly more: bigint
    readonly report: Report
  }[]
}

/** The known entries of a page's bookings, and the changes to write, one SQL statement for each kind. */
type PageState = {
  readonly rows: ReadonlyMap<string, entries.KnownEntry>
  readonly reading: entries.MessageReading
  readonly seen: Map<string | null, Set<string>>
  /** Payments that sums of this page repeat, by statement. */
  readonly counted: Map<string | null, entries.CountedGroup[]>
  /** Entries matched by bookings of this page. */
  readonly taken: Set<string>
  readonly aliases: entries.EntryAlias[]
  readonly replaced: Map<string, entries.KnownEntry>
  readonly reports: Report[]
}

/**
 * Splits the bookings of a page into known and new ones, and records the known ones. `isSure`: only certain matches
 * count.
 */
export async function findKnownBookings(
  tx: Tx,
  of: entries.AccountKey,
  { reading, isSure }: { readonly reading: entries.MessageReading; readonly isSure: boolean },
  bookings: readonly Booking[],
): Promise<KnownBookings> {
  const { rows, named } = await readKnownEntries(tx, of, bookings)
  const page: PageState = {
    rows,
    reading,
    seen: new Map(),
    counted: new Map(),
    taken: new Set(),
    aliases: [],
    replaced: new Map(),
    reports: [],
  }
  const unknown: UnmatchedBooking[] = []
  const byKey = named.flatMap(({ booking, rival }): readonly NewBooking[] => {
    const found = matchByKey(of, page, booking)
    if (found === undefined) unknown.push({ booking, rival })
    return found ?? []
  })
  const { fresh, deferred: unsure } = await matchByContent(tx, of, page, { unknown, isSure })
  const { kept, corrections, deferred } = await findCorrections(tx, of, page, { fresh, isSure })
  if (page.replaced.size > 0) entries.deleteWaiting(tx, of.operatorId, [...page.replaced.keys()])
  for (const [statementId, ids] of page.seen)
    entries.recordEntrySightings(tx, of.operatorId, [...ids], { statementId, announced: reading.announced })
  for (const [statementId, groups] of page.counted)
    entries.recordGroupSightings(tx, of, groups, { statementId, announced: reading.announced })
  if (page.aliases.length > 0) entries.insertAliases(tx, of, page.aliases)
  return { fresh: [...byKey, ...kept], deferred: unsure + deferred, reports: page.reports, corrections }
}

type KeyedBooking = { readonly booking: Booking; readonly rival: entries.KnownEntry | undefined }

/**
 * Reads the entries that have the keys of the bookings. A bank may use a reference twice on a day: if the key of a
 * booking belongs to an entry with other references, the booking gets a new key from its references, and the entry is
 * its `rival`.
 */
async function readKnownEntries(tx: Tx, of: entries.AccountKey, bookings: readonly Booking[]) {
  const keys = new Set(bookings.flatMap(({ keys: own, wholes }) => [...own, ...wholes]))
  const rows = new Map((await entries.entriesByKeys(tx, of, [...keys])).map((row) => [row.entryKey, row]))
  const named = renumberBookings(rows, bookings).map((booking): KeyedBooking => {
    const own = findRow(rows, booking.keys, booking)
    const { isSum, references } = booking.unit
    const isOther =
      own !== undefined && own.kind !== 'waiting' && !isSum && references.bank !== null && !isAlike(booking, own)
    return isOther ? { booking: withOwnKey(booking), rival: own } : { booking, rival: undefined }
  })
  const others = named.flatMap(({ booking, rival }) => (rival === undefined ? [] : booking.keys))
  if (others.length > 0) for (const row of await entries.entriesByKeys(tx, of, others)) rows.set(row.entryKey, row)
  return { rows, named }
}

/**
 * Numbers bookings with the same reference, amount and day. The booking that agrees most with a known entry gets the
 * number of that entry, in any order of the bank's list.
 */
function renumberBookings(rows: PageState['rows'], bookings: readonly Booking[]): readonly Booking[] {
  const numbers = new Map<Booking, Pick<Booking, 'key' | 'keys'>>()
  for (const alike of Map.groupBy(bookings, ({ unit }) => unit.key).values()) {
    const known = alike.flatMap(({ key, keys }) => {
      const row = rows.get(key)
      return row === undefined ? [] : [{ key, keys, row }]
    })
    if (alike.length === 1 || known.length === 0 || known.length === alike.length) continue
    const pairs = known
      .flatMap((own) => alike.map((booking) => ({ own, booking, points: bookingPoints(booking, own.row) })))
      .toSorted((one, other) => other.points - one.points)
    const given = new Set<string>()
    for (const { own, booking } of pairs)
      if (!numbers.has(booking) && !given.has(own.key)) {
        numbers.set(booking, own)
        given.add(own.key)
      }
    const left = alike.filter(({ key }) => !given.has(key))
    for (const booking of alike) if (!numbers.has(booking)) numbers.set(booking, left.shift() ?? booking)
  }
  return bookings.map((booking) => {
    const { key, keys } = numbers.get(booking) ?? booking
    return key === booking.key ? booking : { ...booking, key, keys }
  })
}

const bookingPoints = ({ unit }: Booking, row: entries.KnownEntry) =>
  evidencePoints(paymentEvidence(unit), entryEvidence(row))

const bookingVerdict = ({ unit }: Pick<Booking, 'unit'>, row: entries.KnownEntry) =>
  comparePayments(paymentEvidence(unit), entryEvidence(row), { days: 0, isStatement: true, isNamed: false }).verdict

/**
 * Reports whether the booking agrees with the entry: a bank may use one reference for two bookings of a day. Aliases
 * were compared before.
 */
const isAlike = (booking: Booking, row: entries.KnownEntry): boolean =>
  (row.isAlias ? ['strong', 'same', 'maybe'] : ['strong', 'same']).includes(bookingVerdict(booking, row))

function withOwnKey(booking: Booking): Booking {
  const { endToEnd, transaction, uetr } = booking.unit.references
  const own = deriveTimeId(nilId, ...[endToEnd, transaction, uetr, booking.unit.counterparty.account].map(String))
  const key = `${booking.key}~${own}`
  return { ...booking, key, keys: [key] }
}

/** Finds the row of a key. A key without a day, from the previous version, only counts for an entry of the same day. */
const findRow = (
  rows: PageState['rows'],
  keys: readonly string[],
  { key, whole, unit: { bookedOn } }: Booking,
): entries.KnownEntry | undefined =>
  keys
    .map((name) => ({ name, row: rows.get(name) }))
    .find(({ name, row }) => row !== undefined && (name === key || name === whole || row.bookedOn === bookedOn))?.row

/** Matches a booking by its keys; undefined if none is known. */
function matchByKey(of: entries.AccountKey, page: PageState, booking: Booking): readonly NewBooking[] | undefined {
  const { unit, keys, wholes, statementId } = booking
  const own = findRow(page.rows, keys, booking)
  if (own !== undefined) {
    if (own.entryKey === countedKey(booking.key, page.reading.id)) {
      page.taken.add(own.id)
      return []
    }
    markSeen(page, own, booking)
    const isNamedNow = own.kind === 'waiting' && !unit.isSum && own.messageId !== page.reading.id
    return isNamedNow ? [{ booking, statementId: own.statementId ?? statementId, waiting: own }] : []
  }
  const sum = findRow(page.rows, wholes, booking)
  return sum === undefined || isOtherPayment(booking, sum) ? undefined : matchPartOfSum(of, page, booking, sum)
}

/**
 * Reports whether the key of a whole booking leads to another payment. Without a bank reference, equal bookings of a day
 * share such a key.
 */
const isOtherPayment = (booking: Booking, row: entries.KnownEntry): boolean =>
  row.isAlias &&
  row.kind !== 'waiting' &&
  row.kind !== 'unknown' &&
  booking.unit.references.bank === null &&
  booking.unit.amount === row.amount &&
  bookingVerdict(booking, row) === 'other'

/** Matches a booking that is part of a known sum. Its payments replace a sum that waits for them. */
function matchPartOfSum(
  of: entries.AccountKey,
  page: PageState,
  booking: Booking,
  sum: entries.KnownEntry,
): readonly NewBooking[] {
  if (sum.kind === 'waiting') {
    page.replaced.set(sum.id, sum)
    return [{ booking, statementId: booking.statementId ?? sum.statementId }]
  }
  if (sum.kind === 'unknown') page.reports.push(lateSumReport(of, sum))
  markSeen(page, sum, booking)
  return []
}

function markSeen(
  { seen, taken, reading, aliases, rows }: PageState,
  row: entries.KnownEntry,
  { statementId, key }: Booking,
): void {
  taken.add(row.id)
  if (!rows.has(key)) aliases.push({ entryKey: key, entryId: row.id })
  const isNews =
    (row.statementId === null && statementId !== null) || (row.announced & reading.announced) !== reading.announced
  if (!isNews) return
  const ids = seen.get(statementId) ?? new Set()
  seen.set(statementId, ids.add(row.id))
}

/** Matches bookings without a known key: another message may have reported them with other references. */
async function matchByContent(
  tx: Tx,
  of: entries.AccountKey,
  page: PageState,
  { unknown, isSure }: { readonly unknown: readonly UnmatchedBooking[]; readonly isSure: boolean },
): Promise<{ readonly fresh: readonly NewBooking[]; readonly deferred: number }> {
  if (unknown.length === 0) return { fresh: [], deferred: 0 }
  const { payments, counted, sums, groups, doubts, unsure } = await matchAnnouncedEntries(tx, of, page.reading, {
    unknown,
    taken: page.taken,
    isSure,
  })
  let deferred = 0
  const fresh = unknown.flatMap(({ booking }): readonly NewBooking[] => {
    const { statementId } = booking
    const row = payments.get(booking)
    const sum = sums.get(booking)
    const group = groups.get(booking)
    const doubt = doubts.get(booking)
    const countedGroups = counted.get(booking)
    if (row !== undefined) markSeen(page, row, booking)
    else if (unsure.has(booking)) deferred += 1
    else if (countedGroups !== undefined) markCounted(page, countedGroups, booking)
    else if (sum !== undefined) {
      if (!booking.unit.isSum) return matchPartOfSum(of, page, booking, sum)
      markSeen(page, sum, booking)
    } else if (group !== undefined) markGroupSeen(page, group, booking)
    else if (doubt === undefined) return [{ booking, statementId }]
    else if (isSure) deferred += 1
    else return [{ booking, statementId, doubt }]
    return []
  })
  return { fresh, deferred }
}

function markGroupSeen({ seen, aliases }: PageState, { ids }: entries.EntryGroup, { statementId, key }: Booking): void {
  const [first] = ids
  if (first !== undefined) aliases.push({ entryKey: key, entryId: first })
  const all = seen.get(statementId) ?? new Set()
  for (const id of ids) all.add(id)
  seen.set(statementId, all)
}

/** Marks the payments of a sum. The key holds for this message only, because each message numbers equal sums from 1. */
function markCounted(page: PageState, groups: readonly entries.CountedGroup[], { statementId, key }: Booking): void {
  const [first] = groups
  if (first !== undefined) page.aliases.push({ entryKey: countedKey(key, page.reading.id), entryId: first.firstId })
  const all = page.counted.get(statementId) ?? []
  all.push(...groups)
  page.counted.set(statementId, all)
}

/** Reports a sum that was booked to suspense before a message listed its payments. A person finds them in the message. */
function lateSumReport(of: entries.AccountKey, { id, entryKey }: entries.KnownEntry): Report {
  const text = `The bank listed the payments of a sum after the sum was booked to suspense: ${entryKey}.`
  return oddityReport(of, 'entry_unclear', text, ['late', id], id)
}

/**
 * Corrects announced amounts, because the statement counts. An entry announced with the same reference and day but
 * another amount is the same booking if more agrees than the reference, which banks reuse. The difference is booked in
 * addition. A match that references do not prove is left to the second reading.
 */
async function findCorrections(
  tx: Tx,
  of: entries.AccountKey,
  page: PageState,
  { fresh, isSure }: { readonly fresh: readonly NewBooking[]; readonly isSure: boolean },
): Promise<{
  readonly kept: readonly NewBooking[]
  readonly corrections: KnownBookings['corrections']
  readonly deferred: number
}> {
  const suspects = fresh.filter(
    ({ booking: { unit, statementId, whole }, doubt, waiting }) =>
      statementId !== null &&
      whole === null &&
      unit.payments === 1 &&
      unit.references.bank !== null &&
      doubt === undefined &&
      waiting === undefined,
  )
  const names = [...new Set(suspects.flatMap(({ booking: { unit } }) => unit.booking ?? []))]
  const announced = names.length === 0 ? [] : await entries.announcedEntries(tx, of, names, page.reading.id)
  const open = announced.filter(
    ({ id, entryKey, kind }) => !page.rows.has(entryKey) && !page.taken.has(id) && kind !== 'waiting',
  )
  if (open.length === 0) return { kept: fresh, corrections: [], deferred: 0 }
  const byBooking = Map.groupBy(open, ({ booking, bookedOn }) => dayKey({ booking: booking ?? '', bookedOn }))
  const corrections: KnownBookings['corrections'][number][] = []
  let deferred = 0
  const kept = fresh.filter((one) => {
    const { booking, statementId } = one
    const { unit } = booking
    const alike = byBooking.get(dayKey({ booking: unit.booking ?? '', bookedOn: unit.bookedOn })) ?? []
    const at = suspects.includes(one)
      ? alike.findIndex((row) => isAlike(booking, row) && isSameBooking(booking, row))
      : -1
    const row = alike[at]
    if (row === undefined) return true
    if (isSure && bookingVerdict(booking, row) !== 'strong') {
      deferred += 1
      return false
    }
    alike.splice(at, 1)
    markSeen({ ...page, rows: new Map([[booking.key, row]]) }, row, booking)
    const more = unit.amount - row.amount
    corrections.push({ booking, statementId, more, report: correctionReport(of, booking, row, more) })
    return false
  })
  return { kept, corrections, deferred }
}

const isSameBooking = ({ unit }: Booking, row: entries.KnownEntry): boolean =>
  bookingVerdict({ unit }, row) === 'strong' || agreesBesidesReference(paymentEvidence(unit), entryEvidence(row))

function correctionReport(
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
  const debtor = toDebtor(unit.counterparty)
  const facts = { account, money, debtor, remittance: details, endToEndId: null, creditorReferences: [] }
  return { ...named, kind: 'credit.booked', facts }
}
