/** Books a camt.052, camt.053 or camt.054 from its parsed parts, in pages. A restart continues after the last one. */
import { derivedTimeId } from '../../kernel/index.ts'
import type { BankEntry, ReportPart } from '../../iso20022/index.ts'
import { bookPage, entryOddity } from './book.ts'
import type { BankDeps } from './deps.ts'
import { type InspectedReport, isBooked, type StatementFacts } from './inspect-report.ts'
import { type Lease, LeaseLost } from './lease.ts'
import { readParsed } from './parsed.ts'
import { oddity, type Report, writeReports } from './reports.ts'
import { endMessage, moveMessage, positionOf } from './store-incoming.ts'
import { insertStatements, type StatementRow, statementsOfDay } from './store-statements.ts'
import { type Booking, undated, unfold, type Unit } from './units.ts'
import { isSameStatement } from '../../rails/index.ts'
import { takeOffStatements } from './store-announced.ts'
import { hash } from 'node:crypto'

/** Entries that are written together: larger pages hold their locks longer and save little. */
const bookingsPerPage = 1000

export type TakenReport = {
  /** Id in rails.iso_messages. */
  readonly id: string
  readonly kind: 'camt.052' | 'camt.053' | 'camt.054'
  readonly sha256: string
  readonly receivedAt: Date
  /** The path of the spooled message. Its parsed parts are beside it. */
  readonly path: string
  readonly report: InspectedReport
}

/** The same at each reading, so that rows written before a restart name it. */
const statementIdOf = ({ id }: Pick<TakenReport, 'id'>, index: number): string =>
  derivedTimeId(id, 'statement', String(index))

type Page = { readonly bookings: readonly Booking[]; readonly reports: readonly Report[]; readonly to: number }

/** Kinds of announcements, as rails.iso_entries adds them up. */
const announcing = { 'camt.052': 1, 'camt.053': 0, 'camt.054': 2 } as const

/** Places of the second reading begin here: no message has this many entries. */
const secondReading = 2 ** 40

/**
 * Reads the message a second time if entries of the first reading may be announced ones: by then all certain matches
 * are known, on every page.
 */
export async function takeReport(deps: BankDeps, lease: Lease, taken: TakenReport): Promise<void> {
  const { db, rules, clock } = deps
  const begun = await positionOf(db, taken.id)
  if (begun === undefined) return
  const reading = { ...taken, announced: announcing[taken.kind], messageId: taken.report.messageId }
  let position = begun
  // The number that was deferred before a restart is unknown.
  let deferred = begun > 0 ? 1 : 0
  const read = async (isSure: boolean, offset: number) => {
    for await (const page of pagesOf(deps, taken, position - offset)) {
      const from = position
      await lease.transaction(async (tx) => {
        if ((await positionOf(tx, taken.id)) !== from) throw new LeaseLost('another process has resumed this message')
        deferred += await bookPage(deps, tx, { reading, isSure, bookings: page.bookings })
        if (page.reports.length > 0) writeReports(tx, rules.id, page.reports, clock.now())
        moveMessage(tx, taken.id, offset + page.to)
      })
      position = offset + page.to
    }
  }
  if (begun < secondReading) {
    await replaceEarlier(deps, lease, statementRows(deps, taken))
    await read(true, 0)
  }
  if (deferred > 0) await read(false, secondReading)
  await lease.transaction(async (tx) => {
    const now = clock.now()
    const rows = statementRows(deps, taken)
    if (rows.length > 0) insertStatements(tx, rows)
    const skipped = skippedOf(deps, taken)
    if (skipped.length > 0) writeReports(tx, rules.id, skipped, now)
    moveMessage(tx, taken.id, position % secondReading)
    endMessage(tx, taken.id, now)
    return Promise.resolve()
  })
}

/** Pages end at the end of an entry: its payments are written together. */
async function* pagesOf(deps: BankDeps, taken: TakenReport, begun: number): AsyncGenerator<Page> {
  const place = createPlace(deps, taken)
  let bookings: Booking[] = []
  let reports: Report[] = []
  let to = begun
  for await (const parts of readParsed(taken.path)) {
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

/** Gives each entry its place in the message: the number of entries up to it. */
function createPlace(deps: BankDeps, taken: TakenReport) {
  const numberOf = createCounter()
  const today = taken.receivedAt.toISOString().slice(0, 10)
  let statement = -1
  let position = 0
  const placeEntry = (entry: BankEntry, { account, closing, unread }: StatementFacts) => {
    position += 1
    if (account === undefined || !isBooked(entry)) return { position, bookings: [], reports: [] }
    // Which of several entries moved how much, no balance says.
    const implied = unread?.count === 1 && unread.sum !== 0n ? unread.sum : undefined
    const { units, oddity: odd } = unfold(entry, account, closing?.on ?? today, implied)
    const statementId = taken.kind === 'camt.053' ? statementIdOf(taken, statement) : null
    const [first] = units
    const numbered = (key: string) => `${key}|${numberOf(`${account.iban}\n${key}`)}`
    /** Adds the key without a day, which the previous version wrote. */
    const both = (key: string, { bookedOn }: Pick<Unit, 'bookedOn'>) =>
      [...new Set([key, undated(key, bookedOn)])].map(numbered)
    const wholes = first === undefined || first.whole === null ? [] : both(first.whole, first)
    const bookings = units.map((unit): Booking => {
      const keys = both(unit.key, unit)
      return { unit, key: keys[0] ?? unit.key, whole: wholes[0] ?? null, keys, wholes, position, statementId }
    })
    // An entry that cannot be read is one case, whichever messages report it.
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

function statementRows({ rules, clock }: BankDeps, taken: TakenReport): readonly StatementRow[] {
  const createdAt = clock.now()
  return taken.report.statements.flatMap((facts, index) => {
    const { account, statementId, sequence, opening, closing, entries, credits, debits, difference } = facts
    if (account === undefined) return []
    return [
      {
        id: statementIdOf(taken, index),
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

const skippedOf = ({ rules, operatorId }: BankDeps, taken: TakenReport): readonly Report[] =>
  taken.report.statements.flatMap(({ skipped }, index) =>
    skipped === undefined
      ? []
      : [oddity({ operatorId, connector: rules.id }, skipped.what, skipped.text, [taken.sha256, String(index)])],
  )

// Corrections of statements. A bank that sends a statement again replaces it: the entries of the earlier version count as announced
// until the correction lists them. An entry that it omits is on no statement then, and gets a case as every such one.

/** Entries whose locks one transaction holds. */
const rowsPerStep = 5000

/**
 * Takes the entries of earlier versions off them. `rows`: the statements of a message that is about to be read. A repetition after a restart
 * changes nothing: what the message has read by then is its own.
 */
async function replaceEarlier(
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
    // Reconciliation knows by the row that the entries of the earlier version are on their way to this one.
    await lease.transaction(async (tx) => insertStatements(tx, [row]))
    for (let taken = rowsPerStep; taken === rowsPerStep;)
      taken = await lease.transaction((tx) => takeOffStatements(tx, operatorId, earlier, rowsPerStep))
  }
}

// Counts how often each key of a message has occurred, so that equal entries have numbers. A message may have millions of entries,
// so it holds 64 bits of a digest and a count for each key instead of its text: 24 bytes an entry at most.

const slotsMin = 1 << 10
/** Above this load a table with open addressing becomes slow. */
const fullest = 0.7

type Table = { readonly high: Uint32Array; readonly low: Uint32Array; readonly counts: Uint32Array }
const tableOf = (slots: number): Table => ({
  high: new Uint32Array(slots),
  low: new Uint32Array(slots),
  counts: new Uint32Array(slots),
})

/** The place of a key, or the free one where it belongs. */
function slotOf({ high, low, counts }: Table, first: number, second: number): number {
  const mask = counts.length - 1
  let slot = second & mask
  while (counts[slot] !== 0 && (high[slot] !== first || low[slot] !== second)) slot = (slot + 1) & mask
  return slot
}

function createCounter(): (key: string) => number {
  let table = tableOf(slotsMin)
  let held = 0
  const grow = () => {
    const { high, low, counts } = table
    const larger = tableOf(counts.length * 2)
    counts.forEach((count, at) => {
      if (count === 0) return
      const slot = slotOf(larger, high[at] ?? 0, low[at] ?? 0)
      larger.high[slot] = high[at] ?? 0
      larger.low[slot] = low[at] ?? 0
      larger.counts[slot] = count
    })
    table = larger
  }
  /** Returns 1 for the first time. */
  return (key) => {
    const digest = hash('sha1', key, 'buffer')
    const first = digest.readUInt32BE(0)
    const second = digest.readUInt32BE(4)
    if (held > table.counts.length * fullest) grow()
    const slot = slotOf(table, first, second)
    if (table.counts[slot] === 0) held += 1
    table.high[slot] = first
    table.low[slot] = second
    const count = (table.counts[slot] ?? 0) + 1
    table.counts[slot] = count
    return count
  }
}
