/**
 * Matches the bookings of a page with entries that another message has reported. A payment matches by its references, or
 * by payer, text and day. A sum matches by its message, its batch, its number of payments, or its unique amount.
 */
import { ownJson } from '@partner-payments/wire'
import type { Tx } from '../../postgres/index.ts'
import {
  assignEntries,
  comparePayments,
  daysBetween,
  type PaymentEvidence,
  paymentEvidence,
  areSimilarWithoutReferences,
  reassignEntries,
  paymentReferences,
  type MatchPair as AnyPair,
  statementDaysMax,
  type Verdict,
} from './evidence.ts'
import * as store from './store-entries.ts'
import type { Booking, References, Unit } from './units.ts'

/** A booking whose key is unknown. `rival`: the entry with the same key but other references. */
export type UnmatchedBooking = { readonly booking: Booking; readonly rival: store.KnownEntry | undefined }

export type AnnouncedMatches = {
  /** The entry of each booking. */
  readonly payments: ReadonlyMap<Booking, store.EntryCandidate>
  /** The known payments of each sum that has their reference, or else their amount and day. */
  readonly counted: ReadonlyMap<Booking, readonly store.CountedGroup[]>
  /** The sum that each booking equals or belongs to. */
  readonly sums: ReadonlyMap<Booking, store.EntryCandidate>
  /** The payments of each sum. */
  readonly groups: ReadonlyMap<Booking, store.EntryGroup>
  /** The entry that each booking may be, if only a person can decide. */
  readonly doubts: ReadonlyMap<Booking, store.KnownEntry>
  /** Sums left to the second reading, because a later page may list the payment that they seem to repeat. */
  readonly unsure: ReadonlySet<Booking>
}

type Pair = AnyPair<Booking, store.EntryCandidate>
type Context = {
  readonly reading: store.MessageReading
  readonly facts: (row: store.EntryCandidate) => PaymentEvidence
}

/** `taken`: ids of entries that other bookings of the page have matched. */
type AnnouncedSearch = {
  readonly unknown: readonly UnmatchedBooking[]
  readonly taken: ReadonlySet<string>
  readonly isSure: boolean
}

/**
 * Finds the entries of bookings. `isSure`: matches only by references, because a later page may have a better match;
 * the second reading matches the rest.
 */
export async function matchAnnouncedEntries(
  tx: Tx,
  of: store.AccountKey,
  reading: store.MessageReading,
  { unknown, taken, isSure }: AnnouncedSearch,
): Promise<AnnouncedMatches> {
  const entries = [...Map.groupBy(unknown, ({ booking: { position } }) => position).values()]
  const wanted = searchBounds(entries)
  const read = isStatement(reading) ? store.unlistedAnnouncedEntries : store.findUnannounced
  const rows = await read(tx, of, reading, wanted)
  const open = new Set(rows.filter(({ id }) => !taken.has(id)))
  const context = { reading, facts: cacheEvidence() }
  const { payments, doubts } = matchPayments(context, unknown, open, isSure)
  const used = new Set([...taken, ...[...payments.values()].map(({ id }) => id)])
  const counted = await matchCounted(tx, of, reading, unknown, used)
  const groupsUsed = new Set([...counted.values()].flat().map(placeKey))
  for (const row of open) if (groupsUsed.has(placeKey(row))) open.delete(row)
  const left = entries.filter((entry) => entry.every(({ booking }) => !payments.has(booking) && !counted.has(booking)))
  const found = matchSums(context, left, open, isSure)
  const { sums } = found
  for (const { id } of sums.values()) used.add(id)
  const isFree = (group: store.EntryGroup) => !groupsUsed.has(placeKey(group)) && !group.ids.some((id) => used.has(id))
  const groups = await matchGroups(tx, of, reading, wanted, { entries: left, sums, isFree })
  const unsure = new Set(isSure ? [...findUnsure(counted), ...groups.byAmount.keys()] : [])
  const known = { payments, counted, sums, groups: new Map([...groups.certain, ...groups.byAmount]), doubts }
  for (const booking of [...sums.keys(), ...known.groups.keys()]) doubts.delete(booking)
  for (const [booking, row] of found.unsure) if (!known.groups.has(booking)) doubts.set(booking, row)
  const without = unknown.filter(({ booking }) => Object.values(known).every((of) => !of.has(booking)))
  for (const [booking, row] of await findDisplaced(tx, of, context, { wanted, unknown: without, open }))
    doubts.set(booking, row)
  return { ...known, unsure }
}

const placeKey = ({ messageId, position }: { readonly messageId: string; readonly position: bigint }): string =>
  `${messageId} ${position}`

export const dayKey = ({ booking, bookedOn }: store.BookingDay): string => `${booking}\n${bookedOn}`

/** Lists the sums without a bank reference, which other bookings of the day may equal. */
const findUnsure = (counted: AnnouncedMatches['counted']): readonly Booking[] =>
  [...counted.keys()].filter(({ unit }) => unit.references.bank === null)

/** Matches sums whose payments are known under the same booking. Each payment counts for one sum of the message. */
async function matchCounted(
  tx: Tx,
  of: store.AccountKey,
  reading: store.MessageReading,
  unknown: readonly UnmatchedBooking[],
  used: ReadonlySet<string>,
): Promise<AnnouncedMatches['counted']> {
  const sums = unknown
    .flatMap(({ booking }) =>
      booking.unit.isSum && booking.unit.booking !== null ? [{ booking, name: booking.unit.booking }] : [],
    )
    // A sum that states its number of payments fits fewer entries.
    .toSorted((one, other) => other.booking.unit.payments - one.booking.unit.payments)
  if (sums.length === 0) return new Map()
  const bookings = [...new Set(sums.map(({ name }) => name))]
  const groups = await store.countedGroups(tx, of, reading, { bookings, taken: [...used] })
  const byDay = Map.groupBy(groups, dayKey)
  const counted = new Map<Booking, readonly store.CountedGroup[]>()
  for (const { booking, name } of sums) {
    const { unit } = booking
    const day = dayKey({ booking: name, bookedOn: unit.bookedOn })
    const open = (byDay.get(day) ?? []).filter((group) => isOpen(reading, booking, group))
    const fits = (list: readonly store.CountedGroup[]) =>
      list.length > 0 &&
      addUp(list, 'amount') === unit.amount &&
      (unit.payments === 1 || Number(addUp(list, 'payments')) === unit.payments)
    const one = open.find((group) => fits([group]))
    const found = one === undefined ? open : [one]
    if (!fits(found)) continue
    counted.set(booking, found)
    const taken = new Set(found)
    byDay.set(
      day,
      (byDay.get(day) ?? []).filter((group) => !taken.has(group)),
    )
  }
  return counted
}

const addUp = (groups: readonly store.CountedGroup[], what: 'amount' | 'payments'): bigint =>
  groups.reduce((sum, group) => sum + group[what], 0n)

/**
 * Reports whether a statement may still list the payments. Without a bank reference, an equal booking on another
 * statement is another payment.
 */
function isOpen(reading: store.MessageReading, { unit, statementId }: Booking, group: store.CountedGroup): boolean {
  if (!isStatement(reading) || group.statementId === null) return true
  return unit.references.bank !== null && group.statementId !== statementId
}

/**
 * Finds bookings whose entry is matched with an earlier booking, while a similar entry is unmatched. The earlier
 * booking may belong to that entry, so that counting this booking as new would count a payment twice.
 */
async function findDisplaced(
  tx: Tx,
  of: store.AccountKey,
  { reading, facts }: Context,
  {
    wanted,
    unknown,
    open,
  }: { wanted: store.SearchBounds; unknown: readonly UnmatchedBooking[]; open: ReadonlySet<store.EntryCandidate> },
): Promise<readonly (readonly [Booking, store.EntryCandidate])[]> {
  const openBy = Map.groupBy(
    [...open].filter((row) => !isSumRow(row) && !row.isRepeated),
    ({ amount }) => amount,
  )
  const single = unknown.filter(({ booking: { unit } }) => !unit.isSum && openBy.has(unit.amount))
  if (single.length === 0) return []
  const amounts = [...new Set(single.map(({ booking: { unit } }) => unit.amount))]
  const taken = Map.groupBy(
    await store.entriesReportedTwice(tx, of, reading, { ...wanted, amounts }),
    ({ amount }) => amount,
  )
  const pairs = ratePairs({ reading, facts }, single, ({ amount }) => taken.get(amount) ?? [])
  return pairs.flatMap(({ booking, row, verdict }) => {
    const { unit } = booking
    const other = openBy.get(unit.amount)?.find((candidate) => {
      const { days } = daysApart(reading, unit.bookedOn, candidate)
      const isNear = days >= 0 && days <= statementDaysMax
      return (
        isNear && candidate.isReversal === unit.isReversal && areSimilarWithoutReferences(facts(row), facts(candidate))
      )
    })
    return other === undefined || verdict === 'maybe' ? [] : [[booking, other] as const]
  })
}

const entryTotal = (entry: readonly UnmatchedBooking[]): bigint =>
  entry.reduce((sum, { booking: { unit } }) => sum + unit.amount, 0n)

function searchBounds(entries: readonly (readonly UnmatchedBooking[])[]): store.SearchBounds {
  const units = entries.flat().map(({ booking: { unit } }) => unit)
  const days = units.map(({ bookedOn }) => bookedOn).toSorted()
  const amounts = new Set([...units.map(({ amount }) => amount), ...entries.map(entryTotal)])
  const endToEndIds = units.flatMap(({ references: { endToEnd } }) => endToEnd ?? [])
  return {
    amounts: [...amounts],
    endToEndIds,
    from: shiftDay(days[0], -statementDaysMax),
    to: shiftDay(days.at(-1), statementDaysMax),
  }
}

const shiftDay = (day = '1970-01-01', days: number): string => Temporal.PlainDate.from(day).add({ days }).toString()

/** Parses each row once for all comparisons. */
function cacheEvidence(): Context['facts'] {
  const known = new Map<string, PaymentEvidence>()
  return (row) => {
    const facts = known.get(row.id) ?? entryEvidence(row)
    known.set(row.id, facts)
    return facts
  }
}

const readReferences = ({ refs }: { readonly refs: string }) => ownJson<Partial<References>>(refs)

export const entryEvidence = ({ bookedOn, refs, counterparty, remittance }: store.KnownEntry): PaymentEvidence =>
  paymentEvidence({
    bookedOn,
    references: readReferences({ refs }),
    counterparty: ownJson<Unit['counterparty']>(counterparty),
    remittance,
  })

const isSumRow = ({ kind, payments, isReversal }: store.EntryCandidate): boolean =>
  payments > 1n || (kind === 'waiting' && !isReversal)

type PaymentMatches = {
  readonly payments: Map<Booking, store.EntryCandidate>
  readonly doubts: Map<Booking, store.KnownEntry>
}

/** Matches by references first, then by amount among the remaining entries. */
function matchPayments(
  context: Context,
  unknown: readonly UnmatchedBooking[],
  open: Set<store.EntryCandidate>,
  isSure: boolean,
): PaymentMatches {
  const single = unknown.filter(({ booking: { unit } }) => !unit.isSum)
  const rows = [...open].filter((row) => !isSumRow(row))
  const payments = new Map<Booking, store.EntryCandidate>()
  const byName = groupByEach(rows, (row) => paymentReferences(context.facts(row)))
  assignEntries(
    ratePairs(context, single, (_unit, facts) => paymentReferences(facts).flatMap((name) => byName.get(name) ?? [])),
    { payments, open },
    ['strong'],
  )
  const left = single.filter(({ booking }) => !payments.has(booking))
  const byAmount = Map.groupBy(
    rows.filter((row) => open.has(row)),
    ({ amount }) => amount,
  )
  const pairs = ratePairs(context, left, ({ amount }) => byAmount.get(amount) ?? [])
  assignEntries(pairs, { payments, open }, isSure ? ['strong'] : ['strong', 'same'])
  const displaced = reassignEntries(pairs, { payments, open })
  const doubts = new Map<Booking, store.KnownEntry>(
    left.flatMap(({ booking, rival }) => (rival === undefined ? [] : [[booking, rival] as const])),
  )
  for (const { booking, row } of pairs.toReversed()) if (open.has(row)) doubts.set(booking, row)
  for (const [booking, row] of displaced) doubts.set(booking, row)
  for (const booking of payments.keys()) doubts.delete(booking)
  return { payments, doubts }
}

/** Rates each booking against its candidates; the best pairs come first. */
function ratePairs(
  { reading, facts }: Context,
  unknown: readonly UnmatchedBooking[],
  rowsOf: (unit: Unit, facts: PaymentEvidence) => readonly store.EntryCandidate[],
): readonly Pair[] {
  return unknown
    .flatMap(({ booking }): readonly Pair[] => {
      const { unit } = booking
      const own = paymentEvidence(unit)
      return rowsOf(unit, own).flatMap((row): readonly Pair[] => {
        if (row.amount !== unit.amount || row.isReversal !== unit.isReversal) return []
        const { points, verdict } = rateEntry(reading, own, row, facts(row))
        return verdict === 'other' ? [] : [{ booking, row, points, verdict }]
      })
    })
    .toSorted((a, b) => b.points - a.points)
}

function groupByEach<T>(list: readonly T[], keysOf: (one: T) => readonly string[]): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>()
  for (const one of list)
    for (const key of keysOf(one)) {
      const group = groups.get(key)
      if (group === undefined) groups.set(key, [one])
      else group.push(one)
    }
  return groups
}

const isStatement = ({ kind }: store.MessageReading): boolean => kind === 'camt.053'

/** Counts the days from the announcement to the statement, or between two announcements in either order. */
function daysApart(
  reading: store.MessageReading,
  bookedOn: string,
  row: { readonly bookedOn: string; readonly statementId: string | null },
) {
  if (isStatement(reading)) return { days: daysBetween(row.bookedOn, bookedOn), isStatement: true }
  if (row.statementId !== null) return { days: daysBetween(bookedOn, row.bookedOn), isStatement: true }
  return { days: Math.abs(daysBetween(bookedOn, row.bookedOn)), isStatement: false }
}

function rateEntry(
  reading: store.MessageReading,
  own: PaymentEvidence,
  row: store.EntryCandidate,
  facts: PaymentEvidence,
) {
  const isNamed = isNamedBy(reading, own.references, row, facts.references)
  const place = { ...daysApart(reading, own.bookedOn, row), isNamed }
  const judged = comparePayments(own, facts, place)
  return row.isRepeated ? { ...judged, verdict: repeatedVerdict(own, facts, judged.verdict) } : judged
}

/** Rates a row that a message of the same kind has reported: bank references distinguish two bookings. */
function repeatedVerdict(own: PaymentEvidence, facts: PaymentEvidence, verdict: Verdict): Verdict {
  const hasBank = ({ references: { bank = null } }: PaymentEvidence) => bank !== null
  const isOtherBooking = hasBank(own) && hasBank(facts)
  if (verdict !== 'strong' || isOtherBooking || own.bookedOn !== facts.bookedOn) return 'other'
  return 'maybe'
}

/** Reports whether AddtlInfInd of one report refers to the message of the other. */
const isNamedBy = (
  { messageId }: store.MessageReading,
  own: Partial<References>,
  { messageName }: Pick<store.EntryCandidate, 'messageName'>,
  other: Partial<References>,
): boolean => own.detailsIn === messageName || other.detailsIn === messageId

const sumSure = 60
/** A sum without a reference has the same direction, amount and day: which of several equal sums it is does not matter. */
const sumAlike = 30

/** Rates whether two reports of an amount are about one entry, if one of them does not list its payments. */
function sumPoints(
  reading: store.MessageReading,
  own: Unit,
  count: number,
  other: { readonly messageName: string; readonly references: Partial<References>; readonly count: number },
): number {
  const { references } = own
  const { batches = [], messages = [], bank } = other.references
  const shares = (one: readonly string[], two: readonly string[]) => one.some((id) => two.includes(id))
  const isNamed = isNamedBy(reading, references, other, other.references)
  const isBatch = shares(references.batches, batches) || shares(references.messages, messages)
  const isBooking = references.bank !== null && references.bank === bank
  return isNamed || isBatch ? 2 * sumSure : isBooking || (count > 1 && count === other.count) ? sumSure : 0
}

type RatedSum<T> = {
  readonly entry: readonly UnmatchedBooking[]
  readonly row: T
  readonly points: number
  readonly isSameDay: boolean
  /** Set if the row is a sum without a bank reference: equal sums of a day have the same value. */
  readonly equal: string | null
}
const isByAmount = ({ points }: { readonly points: number }): boolean => points < sumSure

/** Chooses the best row of each entry. A match by amount only counts if the choice does not matter. */
function chooseSums<T extends object>(
  pairs: readonly RatedSum<T>[],
): ReadonlyMap<readonly UnmatchedBooking[], RatedSum<T>> {
  const found = new Map<readonly UnmatchedBooking[], RatedSum<T>>()
  const taken = new Set<T>()
  const isClear = findClear(pairs)
  for (const pair of pairs.toSorted((a, b) => b.points - a.points || Number(b.isSameDay) - Number(a.isSameDay))) {
    const { entry, row, points } = pair
    if (found.has(entry) || taken.has(row)) continue
    if (points < sumAlike && !isClear(entry)) continue
    found.set(entry, pair)
    taken.add(row)
  }
  return found
}

/**
 * Decides whether the choice among the rows of an entry does not matter. All are of its day, and they are equal sums, or
 * fit only equal sums, which are at least as many.
 */
function findClear<T extends object>(pairs: readonly RatedSum<T>[]): (entry: readonly UnmatchedBooking[]) => boolean {
  const byEntry = Map.groupBy(pairs, ({ entry }) => entry)
  const byRow = Map.groupBy(pairs, ({ row }) => row)
  const known = new Map<readonly UnmatchedBooking[], boolean>()
  const decide = (entry: readonly UnmatchedBooking[]): boolean => {
    const rows = new Set((byEntry.get(entry) ?? []).map(({ row }) => row))
    const rivals = new Set([...rows].flatMap((row) => (byRow.get(row) ?? []).map((pair) => pair.entry)))
    const own = [...rivals].flatMap((rival) => byEntry.get(rival) ?? [])
    if (!own.every(({ row, isSameDay }) => isSameDay && rows.has(row))) return false
    const [first] = own
    if (first?.equal !== null && own.every(({ equal }) => equal === first?.equal)) return true
    return rows.size <= rivals.size && [...rivals].every((rival) => isEqualSum(rival, entry))
  }
  return (entry) => {
    const isClear = known.get(entry) ?? decide(entry)
    known.set(entry, isClear)
    return isClear
  }
}

function isEqualSum(one: readonly UnmatchedBooking[], other: readonly UnmatchedBooking[]): boolean {
  if (one === other) return true
  const [own, others] = [one[0]?.booking.unit, other[0]?.booking.unit]
  if (own === undefined || others === undefined || !own.isSum || !others.isSum) return false
  return own.references.bank === null && own.booking === others.booking && own.payments === others.payments
}

/**
 * Matches entries that another message has reported as a sum, with or without its payments. `unsure`: only the amount
 * agrees, and the entry may be a payment of this message, so that the second reading decides.
 */
function matchSums(
  { reading }: Context,
  entries: readonly (readonly UnmatchedBooking[])[],
  open: Set<store.EntryCandidate>,
  isSure: boolean,
): { readonly sums: Map<Booking, store.EntryCandidate>; readonly unsure: Map<Booking, store.EntryCandidate> } {
  const byAmount = Map.groupBy(open, ({ amount }) => amount)
  const pairs = entries.flatMap((entry) => {
    const unit = entry[0]?.booking.unit
    if (unit === undefined) return []
    return (byAmount.get(entryTotal(entry)) ?? []).flatMap((row): readonly RatedSum<store.EntryCandidate>[] => {
      if (row.isRepeated || row.isReversal !== unit.isReversal || !(unit.isSum || isSumRow(row))) return []
      const { days } = daysApart(reading, unit.bookedOn, row)
      if (days < 0 || days > statementDaysMax) return []
      const other = { ...row, references: readReferences(row), count: Number(row.payments) }
      const count = paymentCount(entry)
      const isAlike = unit.references.bank === null && unit.booking === row.booking && isSumRow(row)
      const points = Math.max(sumPoints(reading, unit, count, other), isAlike ? sumAlike : 0)
      const isUnnamedSum = isSumRow(row) && (other.references.bank ?? null) === null
      const pair = { entry, row, points, isSameDay: days === 0, equal: isUnnamedSum ? row.booking : null }
      // A sum of several payments does not match a single payment of the same amount.
      const isOtherCount = count > 1 && (isSumRow(row) ? other.count > 1 && other.count !== count : true)
      return isByAmount(pair) && isOtherCount ? [] : [pair]
    })
  })
  const found = [...chooseSums(pairs).values()]
  const of = (list: readonly RatedSum<store.EntryCandidate>[]) =>
    new Map(list.flatMap(({ entry, row }) => entry.map(({ booking }) => [booking, row] as const)))
  const isUnsure = (pair: RatedSum<store.EntryCandidate>) => isSure && isByAmount(pair)
  return { sums: of(found.filter((pair) => !isUnsure(pair))), unsure: of(found.filter(isUnsure)) }
}

const paymentCount = (entry: readonly UnmatchedBooking[]): number =>
  entry.length > 1 ? entry.length : (entry[0]?.booking.unit.payments ?? 1)

/** Matches sums whose payments another message has listed. */
async function matchGroups(
  tx: Tx,
  of: store.AccountKey,
  reading: store.MessageReading,
  wanted: store.SearchBounds,
  {
    entries,
    sums,
    isFree,
  }: {
    readonly entries: readonly (readonly UnmatchedBooking[])[]
    readonly sums: AnnouncedMatches['sums']
    readonly isFree: (group: store.EntryGroup) => boolean
  },
): Promise<{ readonly certain: AnnouncedMatches['groups']; readonly byAmount: AnnouncedMatches['groups'] }> {
  const open = entries.filter(([first]) => first !== undefined && first.booking.unit.isSum && !sums.has(first.booking))
  if (open.length === 0) return { certain: new Map(), byAmount: new Map() }
  const known = await store.entryGroups(tx, of, reading, { ...wanted, amounts: open.map(entryTotal) })
  const groups = known.filter(isFree)
  const pairs = open.flatMap((entry) => {
    const { unit } = (entry[0] as UnmatchedBooking).booking
    return groups.flatMap((row): readonly RatedSum<store.EntryGroup>[] => {
      const days = isStatement(reading)
        ? daysBetween(row.bookedOn, unit.bookedOn)
        : Math.abs(daysBetween(row.bookedOn, unit.bookedOn))
      if (row.amount !== unit.amount || row.isReversal !== unit.isReversal || days < 0 || days > statementDaysMax)
        return []
      const other = { ...row, references: readReferences(row), count: row.ids.length }
      const points = sumPoints(reading, unit, paymentCount(entry), other)
      return [{ entry, row, points, isSameDay: days === 0, equal: null }]
    })
  })
  const found = [...chooseSums(pairs).values()]
  const pick = (list: readonly RatedSum<store.EntryGroup>[]) =>
    new Map(list.map(({ entry, row }) => [(entry[0] as UnmatchedBooking).booking, row]))
  return { certain: pick(found.filter((pair) => !isByAmount(pair))), byAmount: pick(found.filter(isByAmount)) }
}
