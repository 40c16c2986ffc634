/** Reads reconciliation for operators: accounts with their items, now or as stored at a time, and candidates for a case. */
import type { CaseRow, Cases } from '../index.ts'
import { amountText, type Clock, csvCellOrAmount, type Currency, type Minor, secondMs } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import type { BankBooks, BankEntry, BankInstruction, BankStatement, BooksAccount } from '../../rails/index.ts'
import { candidatesFor, type CandidateSources, type Scored } from './candidates.ts'
import { type Look, lookAt, type LookDeps, readShared, suspenseLook } from './look.ts'
import { differenceKinds, type Item, type Looked, memoKinds } from './rules.ts'
import * as store from './store.ts'

/** A line of the report: fields by name, amounts as decimal numbers of the account's currency. */
export type Line = Readonly<Record<string, string>>
export type Wanted = {
  readonly connector?: string | undefined
  readonly account?: string | undefined
  readonly currency?: string | undefined
  readonly at?: Date | undefined
  /** Bounds a page: the latest statements, and the oldest entries, payments and cases of each kind. */
  readonly rowsMax?: number | undefined
}

export type Reader = {
  /** Reads the report in the caller's snapshot. `at`: reads the results stored then, without single entries. */
  readonly report: (tx: Tx, wanted: Wanted) => AsyncGenerator<readonly Line[]>
  /** Lists the accounts of reconciliation. */
  readonly accounts: (tx: Tx) => Promise<readonly BooksAccount[]>
  /** Lists the results stored when each statement was first seen, latest first: a line `account` each, without items. */
  readonly days: (tx: Tx, account: BooksAccount, before: Date | undefined, rowsMax: number) => Promise<readonly Line[]>
  /** Finds candidates for the money of a case, best first. */
  readonly candidates: (tx: Tx, found: CaseRow) => Promise<readonly Scored[]>
}

type ReaderDeps = {
  readonly clock: Clock
  readonly books: BankBooks
  readonly cases: Cases
  readonly accounts: readonly BooksAccount[]
  readonly candidates: CandidateSources
  readonly parts: LookDeps
}

const rowsPerPage = 1000

export function createReader(deps: ReaderDeps): Reader {
  const { books, candidates } = deps
  return {
    report: (tx, wanted) => (wanted.at === undefined ? current(deps, tx, wanted) : kept(deps, tx, wanted, wanted.at)),
    accounts: (tx) => knownOf(deps, tx),
    days: async (tx, account, before, rowsMax) =>
      (await store.runsOfStatements(tx, account, before, rowsMax)).flatMap((run) =>
        accountLines({ ...run, statement: statementOf(run), items: [] }, run.firstAt),
      ),
    candidates: (tx, found) => candidatesFor(books, candidates, tx, found),
  }
}

const isWanted =
  ({ connector, account, currency }: Wanted) =>
  (one: BooksAccount): boolean =>
    (connector ?? one.connector) === one.connector &&
    (account ?? one.account) === one.account &&
    (currency ?? one.currency) === one.currency

async function knownOf({ accounts }: ReaderDeps, tx: Tx): Promise<readonly BooksAccount[]> {
  const known = [...(await store.accounts(tx)), ...accounts]
  return [...new Map(known.map((one) => [`${one.connector} ${one.account} ${one.currency}`, one])).values()]
}

async function* current(deps: ReaderDeps, tx: Tx, wanted: Wanted): AsyncGenerator<readonly Line[]> {
  const now = deps.clock.now()
  const shared = await readShared(deps.parts, tx)
  const { rowsMax } = wanted
  for (const { connector, account, currency } of (await knownOf(deps, tx)).filter(isWanted(wanted))) {
    if (account === 'suspense') {
      yield accountLines(suspenseLook(shared, currency), now)
      continue
    }
    const look = await lookAt(deps.parts, tx, { connector, account, currency }, shared)
    const before = new Map((await lastItems(tx, { connector, account, currency })).map((item) => [keyOf(item), item]))
    yield accountLines(look.looked, now, before)
    yield await statementLines(deps, tx, look, rowsMax)
    yield* entryLines(deps, tx, { looked: look.looked, now, rowsMax })
    yield await paymentLines(deps, tx, { looked: look.looked, now, rowsMax })
    yield* caseLines(deps, tx, { looked: look.looked, now, rowsMax })
  }
}

const keyOf = ({ side, kind }: Pick<Item, 'side' | 'kind'>): string => `${side} ${kind}`

async function lastItems(tx: Tx, of: BooksAccount): Promise<readonly store.ItemRow[]> {
  const known = (await store.accounts(tx)).find((row) => row.connector === of.connector && row.account === of.account)
  const runId = known?.runId ?? null
  return runId === null ? [] : store.itemsOf(tx, runId)
}

async function* kept({ clock }: ReaderDeps, tx: Tx, wanted: Wanted, at: Date): AsyncGenerator<readonly Line[]> {
  for (const account of (await store.accounts(tx)).filter(isWanted(wanted))) {
    const run = await store.runAt(tx, account, at)
    if (run === undefined) continue
    const items = await store.itemsOf(tx, run.id)
    const seen = new Map(items.map((item) => [keyOf(item), item]))
    yield accountLines({ ...run, statement: statementOf(run), items }, at < clock.now() ? at : clock.now(), seen)
  }
}

const statementOf = ({ statementId: id, statementOn: on, firstAt: takenAt }: store.RunRow) =>
  id === null ? undefined : { id, on, takenAt }

type Named = Pick<Looked, 'connector' | 'account' | 'currency'>
const nameOf = ({ connector, account, currency }: Named) => ({ connector, account, currency })
const seconds = (since: Date | null, now: Date): string =>
  since === null ? '' : String(Math.max(0, Math.floor((now.getTime() - since.getTime()) / secondMs)))
const moment = (date: Date | null | undefined): string => date?.toISOString() ?? ''
const money = (amount: Minor | null, currency: Currency): string =>
  amount === null ? '' : amountText(amount, currency)

const whyOf = ({ side, kind }: Item): string =>
  side === 'suspense'
    ? 'Open cases: two persons decide.'
    : ({ ...differenceKinds, ...memoKinds }[kind as keyof typeof differenceKinds | keyof typeof memoKinds] ?? '')

function accountLines(
  looked: Looked,
  now: Date,
  seen: ReadonlyMap<string, store.ItemRow> = new Map(),
): readonly Line[] {
  const { currency, bank, ledger, unexplained, opening, closing, statement, items } = looked
  const text = (amount: Minor | null) => money(amount, currency)
  return [
    {
      record: 'account',
      ...nameOf(looked),
      at: moment(now),
      statement_on: statement?.on ?? '',
      opening: text(opening),
      closing: text(closing),
      bank: text(bank),
      ledger: text(ledger),
      difference: text(ledger - bank),
      explained: text(ledger - bank - unexplained),
      unexplained: text(unexplained),
    },
    ...items.map((item) => ({
      record: item.side,
      ...nameOf(looked),
      kind: item.kind,
      amount: text(item.amount),
      count: String(item.count),
      since: moment(item.oldestAt),
      age_seconds: seconds(item.oldestAt, now),
      first_seen: moment(seen.get(keyOf(item))?.firstSeen ?? now),
      why: whyOf(item),
    })),
  ]
}

/** Latest statements whose entries are summed by kind. */
const detailedMax = 31

async function statementLines(
  { books }: ReaderDeps,
  tx: Tx,
  { looked, chain }: Look,
  rowsMax = chain.statements.length,
): Promise<readonly Line[]> {
  const text = (amount: Minor | null) => money(amount, looked.currency)
  const shown = chain.statements.slice(Math.max(0, chain.statements.length - rowsMax))
  const last = shown.slice(-detailedMax).map(({ id }) => id)
  const sums = Map.groupBy(await books.ofStatements(tx, last), ({ statementId }) => statementId)
  return shown.flatMap((statement) => {
    const gap = chain.gaps.find(({ after }) => after === statement)
    const differs = chain.sumsDiffer.find((one) => one.statement === statement)
    return [
      {
        record: 'statement',
        ...nameOf(looked),
        ...statementFacts(statement, text),
        gap_before: gap === undefined ? '' : text(gap.amount),
        sum_differs: differs === undefined ? '' : text(differs.amount),
      },
      ...(sums.get(statement.id) ?? []).map(({ kind, status, count, amount }) => ({
        record: 'statement_entries',
        ...nameOf(looked),
        id: statement.statementId,
        kind,
        status,
        count: String(count),
        amount: text(amount),
      })),
    ]
  })
}

const statementFacts = (statement: BankStatement, text: (amount: Minor | null) => string) => ({
  id: statement.statementId,
  sequence: statement.sequence === null ? '' : String(statement.sequence),
  from: statement.openingOn ?? '',
  statement_on: statement.closingOn ?? '',
  opening: text(statement.opening),
  credits: text(statement.credits),
  debits: text(statement.debits),
  closing: text(statement.closing),
  count: String(statement.entries),
})

type Of = { readonly looked: Looked; readonly now: Date; readonly rowsMax: number | undefined }

/** Reads single entries, oldest first, in pages. */
async function* entryLines(
  { books }: ReaderDeps,
  tx: Tx,
  { looked, now, rowsMax }: Of,
): AsyncGenerator<readonly Line[]> {
  const pageMax = rowsMax ?? rowsPerPage
  for (const [record, read] of [
    ['entry_not_on_statement', books.entriesNotOnStatement],
    ['entry_new', books.entriesNew],
  ] as const)
    for (let page: readonly BankEntry[] = []; ;) {
      page = await read(tx, nameOf(looked), page.at(-1), pageMax)
      yield page.map((entry) => entryLine(record, looked, entry, now))
      if (page.length < pageMax || rowsMax !== undefined) break
    }
}

const entryLine = (record: string, looked: Looked, entry: BankEntry, now: Date): Line => ({
  record,
  ...nameOf(looked),
  id: entry.id,
  kind: entry.kind,
  status: entry.status,
  amount: money(entry.amount, looked.currency),
  statement_on: entry.bookedOn,
  since: moment(entry.createdAt),
  age_seconds: seconds(entry.createdAt, now),
  subject: entry.subjectId ?? '',
  partner: entry.subjectPartnerId ?? '',
  score: String(entry.score),
  matched_by: entry.matchedBy,
  reference: entry.refs,
  other_party: entry.counterparty,
  remittance: entry.remittance ?? '',
})

/** More than an operator reads. The sums include all. */
const paymentsMax = 10_000

async function paymentLines(
  { books }: ReaderDeps,
  tx: Tx,
  { looked, now, rowsMax = paymentsMax }: Of,
): Promise<readonly Line[]> {
  const { connector, currency } = looked
  const line = (record: string, row: BankInstruction, since: Date | null): Line => ({
    record,
    ...nameOf(looked),
    id: row.id,
    kind: row.status,
    amount: money(-row.amount, currency),
    since: moment(since),
    age_seconds: seconds(since, now),
    partner: row.partnerId,
    reference: row.endToEndId,
    other_party: row.creditorName,
    remittance: row.remittance ?? '',
  })
  return [
    ...(await books.instructionsNotBooked(tx, connector, currency, rowsMax)).map((row) =>
      line('payment_not_booked', row, row.settledAt ?? row.updatedAt),
    ),
    ...(await books.instructionsMissing(tx, connector, currency, rowsMax)).map((row) =>
      line('payment_missing', row, row.missingSince),
    ),
  ]
}

/** Reads the open cases of the connector, and cases whose money was moved outside this service. */
async function* caseLines(
  { cases }: ReaderDeps,
  tx: Tx,
  { looked, now, rowsMax }: Of,
): AsyncGenerator<readonly Line[]> {
  const { connector, currency } = looked
  const line = (record: string, row: CaseRow, since: Date | null): Line => ({
    record,
    ...nameOf(looked),
    id: row.id,
    kind: row.kind,
    amount: money(row.booked, currency),
    since: moment(since),
    age_seconds: seconds(since, now),
    partner: row.partnerId,
    subject: row.subject,
    status:
      row.returningSince !== null ? 'returning' : row.proposalId !== null ? 'proposed' : (row.resolution ?? 'open'),
  })
  const isOfAccount = (row: CaseRow) => row.connector === connector && (row.currency ?? currency) === currency
  for (let page: readonly CaseRow[] = []; ;) {
    page = await cases.list(page.at(-1), rowsPerPage, tx)
    const ours = page.filter(isOfAccount).map((row) => line('case', row, row.openedAt))
    yield ours.slice(0, rowsMax)
    // Staff find the other cases in the queue.
    if (page.length < rowsPerPage || rowsMax !== undefined) break
  }
  const reversed = await cases.reversed(tx, connector, currency, rowsMax ?? paymentsMax)
  yield reversed.map((row) => line('case_reversed', row, row.resolvedAt))
}

const columns = [
  ...['record', 'connector', 'account', 'currency', 'id', 'kind', 'status', 'amount', 'count', 'since', 'age_seconds'],
  ...['first_seen', 'why', 'at', 'statement_on', 'sequence', 'from', 'opening', 'credits', 'debits', 'closing'],
  ...['gap_before', 'sum_differs', 'bank', 'ledger', 'difference', 'unexplained', 'partner', 'subject', 'score'],
  ...['matched_by', 'reference', 'other_party', 'remittance', 'explained'],
] as const

/** The header of the report as CSV. Lines of all records share the columns. */
export const reportHead: string = columns.join(',')
export const reportLine = (line: Line): string =>
  columns.map((name) => csvCellOrAmount((line as Readonly<Record<string, string>>)[name] ?? '')).join(',')
