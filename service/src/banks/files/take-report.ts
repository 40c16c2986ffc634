/** Books a camt.052, camt.053 or camt.054 from its parsed parts, page by page. A restart continues after the last page. */
import { deriveTimeId, newId } from '../../kernel/index.ts'
import type { BankEntry, ReportPart } from '../../iso20022/index.ts'
import type { BankDeps } from './deps.ts'
import { type InspectedReport, isBooked, type InspectedStatement } from './inspect.ts'
import { type Lease, LeaseLost } from './lease.ts'
import { readParsedParts } from './spool.ts'
import { oddityReport, type Report, writeReports } from './reports.ts'
import * as store from './store-incoming.ts'
import { insertStatements, type StatementRow, statementsOfDay } from './store-books.ts'
import { type Booking, countedKey, withoutDay, splitIntoUnits, type Unit } from './units.ts'
import { isSameStatement, type BankAnomaly } from '../../rails/index.ts'
import * as entries from './store-entries.ts'
import { hash } from 'node:crypto'
import { groupByShard, type Tx } from '../../postgres/index.ts'
import { formatPaymentLabel } from './ids.ts'
import { type NewBooking, findKnownBookings, type KnownBookings } from './known.ts'
import { type Match, matchUnit, unitMoney, suspendIfDoubtful, readCandidates, type MatchCandidates } from './match.ts'
import { formatMatch, scoreBySimilarity, type ScoredPayment, compareScores } from './scores.ts'

/** Larger pages hold their locks longer and save little. */
const bookingsPerPage = 1000

export type ReportMessage = {
  /** Id in rails.iso_messages. */
  readonly id: string
  readonly kind: 'camt.052' | 'camt.053' | 'camt.054'
  readonly sha256: string
  readonly receivedAt: Date
  /** The path of the spooled message. Its parsed parts are beside it. */
  readonly path: string
  readonly report: InspectedReport
}

/** Derives the id of a statement, so that rows written before and after a restart refer to the same statement. */
const statementRowId = ({ id }: Pick<ReportMessage, 'id'>, index: number): string =>
  deriveTimeId(id, 'statement', String(index))

type ReportPage = { readonly bookings: readonly Booking[]; readonly reports: readonly Report[]; readonly to: number }

/** The bits of message kinds in `rails.iso_entries.announced`. */
const announcedBits = { 'camt.052': 1, 'camt.053': 0, 'camt.054': 2 } as const

/** The first position of the second reading. Messages have fewer entries. */
const secondReading = 2 ** 40

/**
 * Books a message. Reads it a second time if bookings may be announced entries: by then the certain matches of all pages
 * are known.
 */
export async function bookReport(deps: BankDeps, lease: Lease, taken: ReportMessage): Promise<void> {
  const { db, rules, clock } = deps
  const begun = await store.messagePosition(db, taken.id)
  if (begun === undefined) return
  const reading = { ...taken, announced: announcedBits[taken.kind], messageId: taken.report.messageId }
  let position = begun
  // After a restart, the number of deferred bookings is unknown.
  let deferred = begun > 0 ? 1 : 0
  const read = async (isSure: boolean, offset: number) => {
    for await (const page of pagesOf(deps, taken, position - offset)) {
      const from = position
      await lease.transaction(async (tx) => {
        if ((await store.messagePosition(tx, taken.id)) !== from)
          throw new LeaseLost('another process has resumed this message')
        deferred += await bookPage(deps, tx, { reading, isSure, bookings: page.bookings })
        if (page.reports.length > 0) writeReports(tx, rules.id, page.reports, clock.now())
        store.setMessagePosition(tx, taken.id, offset + page.to)
      })
      position = offset + page.to
    }
  }
  if (begun < secondReading) {
    await replaceEarlierVersions(deps, lease, statementRows(deps, taken))
    await read(true, 0)
  }
  if (deferred > 0) await read(false, secondReading)
  await lease.transaction(async (tx) => {
    const now = clock.now()
    const rows = statementRows(deps, taken)
    if (rows.length > 0) insertStatements(tx, rows)
    const skipped = skippedReports(deps, taken)
    if (skipped.length > 0) writeReports(tx, rules.id, skipped, now)
    store.setMessagePosition(tx, taken.id, position % secondReading)
    store.markMessageProcessed(tx, taken.id, now)
    return Promise.resolve()
  })
}

/** Reads the message in pages. A page ends after a whole entry, because its payments are written together. */
async function* pagesOf(deps: BankDeps, taken: ReportMessage, begun: number): AsyncGenerator<ReportPage> {
  const place = createPlacer(deps, taken)
  let bookings: Booking[] = []
  let reports: Report[] = []
  let to = begun
  for await (const parts of readParsedParts(taken.path)) {
    for (const part of parts) {
      const placed = place(part)
      if (placed === undefined || placed.position <= begun) continue
      bookings.push(...placed.bookings)
      reports.push(...placed.reports)
      to = placed.position
      if (bookings.length + reports.length < bookingsPerPage) continue
      yield { bookings, reports, to }
      bookings = []
      reports = []
    }
  }
  if (to > begun && bookings.length + reports.length > 0) yield { bookings, reports, to }
}

/** Gives each entry its position in the message, counted from 1. */
function createPlacer(deps: BankDeps, taken: ReportMessage) {
  const numberOf = createCounter()
  const today = taken.receivedAt.toISOString().slice(0, 10)
  let statement = -1
  let position = 0
  const placeEntry = (entry: BankEntry, { account, closing, unread }: InspectedStatement) => {
    position += 1
    if (account === undefined || !isBooked(entry)) return { position, bookings: [], reports: [] }
    // The amount follows from the balances only if a single entry is unreadable.
    const implied = unread?.count === 1 && unread.sum !== 0n ? unread.sum : undefined
    const { units, oddity: odd } = splitIntoUnits(entry, account, closing?.on ?? today, implied)
    const statementId = taken.kind === 'camt.053' ? statementRowId(taken, statement) : null
    const [first] = units
    const numbered = (key: string) => `${key}|${numberOf(`${account.iban}\n${key}`)}`
    /** Adds the key without a day, which the previous version wrote. */
    const both = (key: string, { bookedOn }: Pick<Unit, 'bookedOn'>) =>
      [...new Set([key, withoutDay(key, bookedOn)])].map(numbered)
    const wholes = first === undefined || first.whole === null ? [] : both(first.whole, first)
    const bookings = units.map((unit): Booking => {
      const own = both(unit.key, unit)
      const keys = unit.isSum ? [...own, ...own.slice(0, 1).map((key) => countedKey(key, taken.id))] : own
      return { unit, key: keys[0] ?? unit.key, whole: wholes[0] ?? null, keys, wholes, position, statementId }
    })
    // An unreadable entry has one case, even if several messages report it.
    const names =
      entry.problem !== undefined && bookings[0] !== undefined
        ? ['unread', account.iban, bookings[0].key]
        : [taken.sha256, String(position)]
    const reports = odd === undefined ? [] : [entryOddity(deps, odd, names)]
    return { position, bookings, reports }
  }
  return (part: ReportPart) => {
    if (part.kind === 'statement') statement += 1
    const facts = taken.report.statements[statement]
    return part.kind === 'entry' && facts !== undefined ? placeEntry(part.entry, facts) : undefined
  }
}

function statementRows({ rules, clock }: BankDeps, taken: ReportMessage): readonly StatementRow[] {
  const createdAt = clock.now()
  return taken.report.statements.flatMap((facts, index) => {
    const { account, statementId, sequence, opening, closing, entries, credits, debits, difference } = facts
    if (account === undefined) return []
    return [
      {
        id: statementRowId(taken, index),
        connector: rules.id,
        messageId: taken.id,
        kind: taken.kind,
        account: account.iban,
        currency: account.currency,
        statementId,
        sequence,
        opening: opening?.minor ?? null,
        closing: closing?.minor ?? null,
        openingOn: opening?.on ?? null,
        closingOn: closing?.on ?? null,
        entries,
        credits,
        debits,
        byValueDate: difference === 0n ? null : difference,
        createdAt,
      },
    ]
  })
}

const skippedReports = ({ rules, operatorId }: BankDeps, taken: ReportMessage): readonly Report[] =>
  taken.report.statements.flatMap(({ skipped }, index) =>
    skipped === undefined
      ? []
      : [oddityReport({ operatorId, connector: rules.id }, skipped.what, skipped.text, [taken.sha256, String(index)])],
  )

// Corrections of statements. If a bank sends a statement again, the entries of the earlier version count as announced
// until the correction lists them. Each entry that it omits has a case, like other absent entries.

/** Limits the locks of one transaction. */
const rowsPerStep = 5000

/**
 * Removes the entries of earlier versions from their statements. `rows`: the statements of a message before it is read.
 * Idempotent: after a restart, the entries that were already read belong to the new version.
 */
async function replaceEarlierVersions(
  { db, operatorId }: BankDeps,
  lease: Lease,
  rows: readonly StatementRow[],
): Promise<void> {
  for (const row of rows) {
    if (row.kind !== 'camt.053' || row.closingOn === null || row.opening === null) continue
    const earlier = (await statementsOfDay(db, row))
      .filter((other) => other.id !== row.id && isSameStatement(other, row))
      .map(({ id }) => id)
    if (earlier.length === 0) continue
    // From this row, reconciliation knows that the entries of the earlier version are moving to this one.
    await lease.transaction(async (tx) => insertStatements(tx, [row]))
    for (let taken = rowsPerStep; taken === rowsPerStep;)
      taken = await lease.transaction((tx) => entries.removeFromStatements(tx, operatorId, earlier, rowsPerStep))
  }
}

// Counts how often each key of a message has occurred, to number equal entries. A message may have millions of entries,
// so that the counter stores 64 bits of a digest and a count instead of each key: at most 24 bytes an entry.

const slotsMin = 1 << 10
/** Above this load a table with open addressing becomes slow. */
const loadMax = 0.7

type CounterTable = { readonly high: Uint32Array; readonly low: Uint32Array; readonly counts: Uint32Array }
const createTable = (slots: number): CounterTable => ({
  high: new Uint32Array(slots),
  low: new Uint32Array(slots),
  counts: new Uint32Array(slots),
})

/** Finds the slot of a key, or the free slot for it. */
function findSlot({ high, low, counts }: CounterTable, first: number, second: number): number {
  const mask = counts.length - 1
  let slot = second & mask
  while (counts[slot] !== 0 && (high[slot] !== first || low[slot] !== second)) slot = (slot + 1) & mask
  return slot
}

function createCounter(): (key: string) => number {
  let table = createTable(slotsMin)
  let held = 0
  const grow = () => {
    const { high, low, counts } = table
    const larger = createTable(counts.length * 2)
    counts.forEach((count, at) => {
      if (count === 0) return
      const slot = findSlot(larger, high[at] ?? 0, low[at] ?? 0)
      larger.high[slot] = high[at] ?? 0
      larger.low[slot] = low[at] ?? 0
      larger.counts[slot] = count
    })
    table = larger
  }
  /** Returns 1 for the first occurrence. */
  return (key) => {
    const digest = hash('sha1', key, 'buffer')
    const first = digest.readUInt32BE(0)
    const second = digest.readUInt32BE(4)
    if (held > table.counts.length * loadMax) grow()
    const slot = findSlot(table, first, second)
    if (table.counts[slot] === 0) held += 1
    table.high[slot] = first
    table.low[slot] = second
    const count = (table.counts[slot] ?? 0) + 1
    table.counts[slot] = count
    return count
  }
}

// Matches and writes a page of bookings, each once even if several messages report it.

type BookingPage = {
  readonly reading: entries.MessageReading
  /** True in the first reading: only certain matches count. */
  readonly isSure: boolean
  readonly bookings: readonly Booking[]
}

const candidatesReadMax = 5000
const candidatesListedMax = 5

/** Books a page and returns the number of bookings left to the second reading. */
async function bookPage(deps: BankDeps, tx: Tx, page: BookingPage): Promise<number> {
  const accounts = Map.groupBy(page.bookings, ({ unit: { account } }) => `${account.iban} ${account.currency}`)
  let deferred = 0
  for (const bookings of accounts.values()) deferred += await bookAccount(deps, tx, { ...page, bookings })
  return deferred
}

async function bookAccount(deps: BankDeps, tx: Tx, { bookings, ...page }: BookingPage): Promise<number> {
  const { rules, operatorId, clock } = deps
  const [first] = bookings
  if (first === undefined) return 0
  const { iban: account, currency } = first.unit.account
  const of = { operatorId, connector: rules.id, account, currency }
  const now = clock.now()
  const { fresh, deferred, reports: found, corrections } = await findKnownBookings(tx, of, page, bookings)
  const units = fresh.map(({ booking: { unit } }) => unit)
  const candidates = await readCandidates(tx, of, units)
  const context = { candidates, connector: of.connector, operatorId, now }
  const made = fresh.map((one): MatchedBooking => {
    const entryId = one.waiting?.id ?? newId()
    const placed = { unit: one.booking.unit, entryId }
    return { ...one, entryId, match: suspendIfDoubtful(context, placed, matchUnit(context, placed), one.doubt) }
  })
  const matched = await addCandidates(tx, of.connector, made)
  const untied = await confirmReports(tx, matched)
  writeEntries(tx, of, page.reading, matched, untied, now)
  if (corrections.length > 0)
    entries.insertEntries(
      tx,
      corrections.map((row) => toCorrection(row, of, page.reading, now)),
    )
  writePayments(tx, candidates, matched, now)
  const reports = [
    ...found,
    ...corrections.map(({ report }) => report),
    ...matched.flatMap(({ match }) => match.reports),
  ]
  if (reports.length > 0) writeReports(tx, of.connector, reports, now)
  return deferred
}

type MatchedBooking = NewBooking & { readonly entryId: string; readonly match: Match }

/** Adds the open payments that a debit may belong to, for the person who decides. */
async function addCandidates(
  tx: Tx,
  connector: string,
  made: readonly MatchedBooking[],
): Promise<readonly MatchedBooking[]> {
  const unexplained = made.filter(({ match }) => match.isUnexplained)
  if (unexplained.length === 0) return made
  const amounts = new Set(unexplained.map(({ booking: { unit } }) => unitMoney(unit).amount))
  const open = Map.groupBy(
    await store.openPaymentsByAmounts(tx, connector, [...amounts], candidatesReadMax),
    ({ amount }) => amount,
  )
  return made.map((one) => {
    if (!one.match.isUnexplained) return one
    const { unit } = one.booking
    const candidates = (open.get(unitMoney(unit).amount) ?? [])
      .flatMap((sent) => scoreBySimilarity(unit, sent) ?? [])
      .toSorted(compareScores)
    return candidates.length === 0 ? one : { ...one, match: listCandidates(one.match, candidates) }
  })
}

function listCandidates(match: Match, candidates: readonly ScoredPayment[]): Match {
  const [best] = candidates
  const listed = candidates
    .slice(0, candidatesListedMax)
    .map(({ sent, score, agreed }) => `${formatPaymentLabel(sent)} (score ${score}: ${agreed.join(', ')})`)
  const reports = match.reports.map((report): Report => {
    if (report.kind !== 'debit.booked') return report
    const details = `${report.facts.details} It may be ${listed.join('; ')}.`
    return { ...report, facts: { ...report.facts, details } }
  })
  return { ...match, score: best?.score ?? 0, matchedBy: formatMatch(best?.agreed ?? [], ['references']), reports }
}

/** Adds entries to the earlier reports that they confirm. Returns the entries whose reports were all acknowledged. */
async function confirmReports(tx: Tx, made: readonly MatchedBooking[]): Promise<ReadonlySet<string>> {
  const ties = made.flatMap(({ entryId, match: { ties = [] } }) => ties.map((one) => ({ ...one, entryId })))
  const tied = new Set<string>()
  for (const group of groupByShard(tx, ties))
    for (const { id } of await store.linkNotifications(tx, group)) tied.add(id)
  const pending = new Set(ties.filter(({ id }) => tied.has(id)).map(({ entryId }) => entryId))
  return new Set(
    made
      .filter(
        ({ entryId, match: { ties = [], reports } }) =>
          ties.length > 0 && reports.length === 0 && !pending.has(entryId),
      )
      .map(({ entryId }) => entryId),
  )
}

function writeEntries(
  tx: Tx,
  of: entries.AccountKey,
  reading: entries.MessageReading,
  made: readonly MatchedBooking[],
  applied: ReadonlySet<string>,
  now: Date,
): void {
  const rows = made.map((one) => ({ one, row: toEntry(one, of, reading, applied.has(one.entryId), now) }))
  const replaced = rows.filter(({ one }) => one.waiting !== undefined).map(({ row }) => row)
  const inserted = rows.filter(({ one }) => one.waiting === undefined).map(({ row }) => row)
  if (replaced.length > 0) entries.replaceWaiting(tx, of.operatorId, replaced)
  if (inserted.length > 0) entries.insertEntries(tx, inserted)
}

function toEntry(
  { booking: { unit, key, position }, statementId, entryId, match }: MatchedBooking,
  { operatorId, connector, account, currency }: entries.AccountKey,
  reading: entries.MessageReading,
  isApplied: boolean,
  now: Date,
): entries.NewEntry {
  const { references, information, returned, isFee, creditedAccount } = unit
  return {
    partnerId: operatorId,
    id: entryId,
    connector,
    account,
    currency,
    entryKey: key,
    amount: unit.amount,
    bookedOn: unit.bookedOn,
    valueOn: unit.valueOn,
    messageId: reading.id,
    statementId,
    position,
    isReversal: unit.isReversal,
    payments: unit.payments,
    codes: unit.codes,
    refs: JSON.stringify({ ...references, creditedAccount, isFee, information }),
    counterparty: JSON.stringify(unit.counterparty),
    remittance: unit.remittance,
    returnReason: returned?.code ?? null,
    kind: match.kind,
    subjectId: match.subject?.id ?? null,
    subjectPartnerId: match.subject?.partnerId ?? null,
    score: match.score,
    matchedBy: match.matchedBy,
    status: isApplied ? 'Applied' : 'New',
    createdAt: now,
    appliedAt: isApplied ? now : null,
    booking: unit.booking,
    endToEndId: unit.amount > 0n ? references.endToEnd : null,
    announced: reading.announced,
  }
}

/** Creates an entry for the difference between a statement and an announced amount. The difference has no owner. */
function toCorrection(
  { booking, statementId, more, report }: KnownBookings['corrections'][number],
  of: entries.AccountKey,
  reading: entries.MessageReading,
  now: Date,
): entries.NewEntry {
  const match = {
    kind: 'unknown',
    subject: null,
    score: 0,
    matchedBy: formatMatch(['bankReference'], ['amount']),
  } as const
  const made = { booking, statementId, entryId: report.id, match: { ...match, reports: [] } }
  return { ...toEntry(made, of, reading, false, now), amount: more, endToEndId: null }
}

function writePayments(tx: Tx, candidates: MatchCandidates, made: readonly MatchedBooking[], now: Date): void {
  const changes = [...candidates.changed.values()].map(({ partnerId, id, status, entryId, settledAt }) => ({
    partnerId,
    id,
    status,
    entryId,
    settledAt,
    errorKey: null,
    errorDetails: null,
    reasonCode: null,
  }))
  for (const group of groupByShard(tx, changes)) store.updateSentPayments(tx, group, now)
  const returned = made.flatMap(({ match: { kind, subject } }) =>
    kind === 'return' && subject !== null ? [subject] : [],
  )
  for (const group of groupByShard(tx, returned)) store.endRecalls(tx, group, now)
}

/** Reports an entry that could not be fully processed. `names` identify the entry and its message. */
const entryOddity = (
  deps: Pick<BankDeps, 'operatorId' | 'rules'>,
  { what, text }: { readonly what: BankAnomaly; readonly text: string },
  names: readonly string[],
): Report => oddityReport({ operatorId: deps.operatorId, connector: deps.rules.id }, what, text, names)
