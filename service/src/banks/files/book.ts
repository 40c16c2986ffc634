/** Writes a page of bookings: each once, whichever messages report it, with its meaning. */
import { newId } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import type { BankDeps } from './deps.ts'
import type { Oddity } from '../../rails/index.ts'
import { paymentName } from './ids.ts'
import { type Fresh, known, type Known } from './known.ts'
import { type Match, matchUnit, moneyOf, possiblyAnnounced } from './match.ts'
import { oddity, type Report, writeReports } from './reports.ts'
import { byShard } from './shards.ts'
import { matchText, scoreByLooks, type Scored, surestFirst } from './scores.ts'
import type { Reading } from './store-announced.ts'
import * as entries from './store-entries.ts'
import * as words from './store-incoming.ts'
import type { Booking } from './units.ts'
import { readWorld, type World } from './world.ts'

export type BookingPage = {
  readonly reading: Reading
  /** The first reading of a message makes only certain decisions. */
  readonly isSure: boolean
  readonly bookings: readonly Booking[]
}

const candidatesReadMax = 5000
const candidatesToldMax = 5

/** Returns how many bookings are left for the second reading. */
export async function bookPage(deps: BankDeps, tx: Tx, page: BookingPage): Promise<number> {
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
  const { fresh, deferred, reports: found, corrections } = await known(tx, of, page, bookings)
  const units = fresh.map(({ booking: { unit } }) => unit)
  const world = await readWorld(tx, of, units)
  const context = { world, connector: of.connector, operatorId, now }
  const made = fresh.map((one): Made => {
    const entryId = one.waiting?.id ?? newId()
    const placed = { unit: one.booking.unit, entryId }
    return { ...one, entryId, match: possiblyAnnounced(context, placed, matchUnit(context, placed), one.doubt) }
  })
  const matched = await withCandidates(tx, of.connector, made)
  const untied = await tie(tx, matched)
  writeEntries(tx, of, page.reading, matched, untied, now)
  if (corrections.length > 0)
    entries.insertEntries(
      tx,
      corrections.map((row) => toCorrection(row, of, page.reading, now)),
    )
  writeWords(tx, world, matched, now)
  const reports = [
    ...found,
    ...corrections.map(({ report }) => report),
    ...matched.flatMap(({ match }) => match.reports),
  ]
  if (reports.length > 0) writeReports(tx, of.connector, reports, now)
  return deferred
}

type Made = Fresh & { readonly entryId: string; readonly match: Match }

/** Adds the open payments to which a debit may belong, for the person who decides. */
async function withCandidates(tx: Tx, connector: string, made: readonly Made[]): Promise<readonly Made[]> {
  const unexplained = made.filter(({ match }) => match.isUnexplained)
  if (unexplained.length === 0) return made
  const amounts = new Set(unexplained.map(({ booking: { unit } }) => moneyOf(unit).amount))
  const open = Map.groupBy(
    await words.openByAmounts(tx, connector, [...amounts], candidatesReadMax),
    ({ amount }) => amount,
  )
  return made.map((one) => {
    if (!one.match.isUnexplained) return one
    const { unit } = one.booking
    const candidates = (open.get(moneyOf(unit).amount) ?? [])
      .flatMap((sent) => scoreByLooks(unit, sent) ?? [])
      .toSorted(surestFirst)
    return candidates.length === 0 ? one : { ...one, match: told(one.match, candidates) }
  })
}

function told(match: Match, candidates: readonly Scored[]): Match {
  const [best] = candidates
  const listed = candidates
    .slice(0, candidatesToldMax)
    .map(({ sent, score, agreed }) => `${paymentName(sent)} (score ${score}: ${agreed.join(', ')})`)
  const reports = match.reports.map((report): Report => {
    if (report.kind !== 'debit.booked') return report
    const details = `${report.facts.details} It may be ${listed.join('; ')}.`
    return { ...report, facts: { ...report.facts, details } }
  })
  return { ...match, score: best?.score ?? 0, matchedBy: matchText(best?.agreed ?? [], ['references']), reports }
}

/** Returns the entries whose report is acknowledged already: the ledger has them. */
async function tie(tx: Tx, made: readonly Made[]): Promise<ReadonlySet<string>> {
  const ties = made.flatMap(({ entryId, match: { ties = [] } }) => ties.map((one) => ({ ...one, entryId })))
  const tied = new Set<string>()
  for (const group of byShard(tx, ties)) for (const { id } of await words.tieNotifications(tx, group)) tied.add(id)
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
  reading: Reading,
  made: readonly Made[],
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
  { booking: { unit, key, position }, statementId, entryId, match }: Made,
  { operatorId, connector, account, currency }: entries.AccountKey,
  reading: Reading,
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

/** Corrects an entry whose statement differs from the announced amount: the difference is money without an owner. */
function toCorrection(
  { booking, statementId, more, report }: Known['corrections'][number],
  of: entries.AccountKey,
  reading: Reading,
  now: Date,
): entries.NewEntry {
  const match = {
    kind: 'unknown',
    subject: null,
    score: 0,
    matchedBy: matchText(['bankReference'], ['amount']),
  } as const
  const made = { booking, statementId, entryId: report.id, match: { ...match, reports: [] } }
  return { ...toEntry(made, of, reading, false, now), amount: more, endToEndId: null }
}

function writeWords(tx: Tx, world: World, made: readonly Made[], now: Date): void {
  const changes = [...world.changed.values()].map(({ partnerId, id, status, entryId, settledAt }) => ({
    partnerId,
    id,
    status,
    entryId,
    settledAt,
    errorKey: null,
    errorDetails: null,
    reasonCode: null,
  }))
  for (const group of byShard(tx, changes)) words.updateSent(tx, group, now)
  const returned = made.flatMap(({ match: { kind, subject } }) =>
    kind === 'return' && subject !== null ? [subject] : [],
  )
  for (const group of byShard(tx, returned)) words.endRecalls(tx, group, now)
}

/** Reports entries that could not be processed as they are. `names`: the entry and its message. */
export const entryOddity = (
  deps: Pick<BankDeps, 'operatorId' | 'rules'>,
  { what, text }: { readonly what: Oddity; readonly text: string },
  names: readonly string[],
): Report => oddity({ operatorId: deps.operatorId, connector: deps.rules.id }, what, text, names)
