/** Reads reconciliation for operators: accounts with their items, now or as stored at a time, and candidates for a case. */
import type { CaseRow, Cases } from '../index.ts'
import { amountText, type Clock, csvAmountCell, type Currency, type Minor, secondMs } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import type { BankBooks, BankEntry, BankInstruction, BankStatement, BooksAccount } from '../../rails/index.ts'
import { findCandidates, type CandidateSources, type ScoredCandidate } from './candidates.ts'
import { type AccountLook, compareAccount, type LookDeps, readShared, compareSuspense } from './look.ts'
import { differenceKinds, type DifferenceItem, type LookResult, memoKinds } from './rules.ts'
import * as store from './store.ts'

/** A line of the report: fields by name, amounts as decimal numbers of the account's currency. */
export type ReportLine = Readonly<Record<string, string>>
export type ReportQuery = {
  readonly connector?: string | undefined
  readonly account?: string | undefined
  readonly currency?: string | undefined
  readonly at?: Date | undefined
  /** Maximum rows of each kind: the latest statements, and the oldest entries, payments and cases. */
  readonly rowsMax?: number | undefined
}

export type ReconciliationReader = {
  /** Reads the report in the caller's snapshot. `at`: reads the results stored at that time, without single entries. */
  readonly report: (tx: Tx, wanted: ReportQuery) => AsyncGenerator<readonly ReportLine[]>
  readonly accounts: (tx: Tx) => Promise<readonly BooksAccount[]>
  /**
   * Lists the stored result of the first run with each statement, latest first: one `account` line each, without items.
   */
  readonly days: (
    tx: Tx,
    account: BooksAccount,
    before: Date | undefined,
    rowsMax: number,
  ) => Promise<readonly ReportLine[]>
  /** Finds candidates for the money of a case, best first. */
  readonly candidates: (tx: Tx, found: CaseRow) => Promise<readonly ScoredCandidate[]>
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

export function createReader(deps: ReaderDeps): ReconciliationReader {
  const { books, candidates } = deps
  return {
    report: (tx, wanted) =>
      wanted.at === undefined ? readCurrent(deps, tx, wanted) : readStored(deps, tx, wanted, wanted.at),
    accounts: (tx) => knownAccounts(deps, tx),
    days: async (tx, account, before, rowsMax) =>
      (await store.firstRunsOfStatements(tx, account, before, rowsMax)).flatMap((run) =>
        accountLines({ ...run, statement: statementColumns(run), items: [] }, run.firstAt),
      ),
    candidates: (tx, found) => findCandidates(books, candidates, tx, found),
  }
}

const matchesQuery =
  ({ connector, account, currency }: ReportQuery) =>
  (one: BooksAccount): boolean =>
    (connector ?? one.connector) === one.connector &&
    (account ?? one.account) === one.account &&
    (currency ?? one.currency) === one.currency

async function knownAccounts({ accounts }: ReaderDeps, tx: Tx): Promise<readonly BooksAccount[]> {
  const known = [...(await store.accounts(tx)), ...accounts]
  return [...new Map(known.map((one) => [`${one.connector} ${one.account} ${one.currency}`, one])).values()]
}

async function* readCurrent(deps: ReaderDeps, tx: Tx, wanted: ReportQuery): AsyncGenerator<readonly ReportLine[]> {
  const now = deps.clock.now()
  const shared = await readShared(deps.parts, tx)
  const { rowsMax } = wanted
  for (const { connector, account, currency } of (await knownAccounts(deps, tx)).filter(matchesQuery(wanted))) {
    if (account === 'suspense') {
      yield accountLines(compareSuspense(shared, currency), now)
      continue
    }
    const look = await compareAccount(deps.parts, tx, { connector, account, currency }, shared)
    const before = new Map((await lastItems(tx, { connector, account, currency })).map((item) => [itemKey(item), item]))
    yield accountLines(look.looked, now, before)
    yield await statementLines(deps, tx, look, rowsMax)
    yield* entryLines(deps, tx, { looked: look.looked, now, rowsMax })
    yield await paymentLines(deps, tx, { looked: look.looked, now, rowsMax })
    yield* caseLines(deps, tx, { looked: look.looked, now, rowsMax })
  }
}

const itemKey = ({ side, kind }: Pick<DifferenceItem, 'side' | 'kind'>): string => `${side} ${kind}`

async function lastItems(tx: Tx, of: BooksAccount): Promise<readonly store.ItemRow[]> {
  const known = (await store.accounts(tx)).find((row) => row.connector === of.connector && row.account === of.account)
  const runId = known?.runId ?? null
  return runId === null ? [] : store.runItems(tx, runId)
}

async function* readStored(
  { clock }: ReaderDeps,
  tx: Tx,
  wanted: ReportQuery,
  at: Date,
): AsyncGenerator<readonly ReportLine[]> {
  for (const account of (await store.accounts(tx)).filter(matchesQuery(wanted))) {
    const run = await store.runAt(tx, account, at)
    if (run === undefined) continue
    const items = await store.runItems(tx, run.id)
    const seen = new Map(items.map((item) => [itemKey(item), item]))
    yield accountLines({ ...run, statement: statementColumns(run), items }, at < clock.now() ? at : clock.now(), seen)
  }
}

const statementColumns = ({ statementId: id, statementOn: on, firstAt: takenAt }: store.RunRow) =>
  id === null ? undefined : { id, on, takenAt }

type AccountName = Pick<LookResult, 'connector' | 'account' | 'currency'>
const accountName = ({ connector, account, currency }: AccountName) => ({ connector, account, currency })
const seconds = (since: Date | null, now: Date): string =>
  since === null ? '' : String(Math.max(0, Math.floor((now.getTime() - since.getTime()) / secondMs)))
const moment = (date: Date | null | undefined): string => date?.toISOString() ?? ''
const money = (amount: Minor | null, currency: Currency): string =>
  amount === null ? '' : amountText(amount, currency)

const itemReason = ({ side, kind }: DifferenceItem): string =>
  side === 'suspense'
    ? 'Open cases: two persons decide.'
    : ({ ...differenceKinds, ...memoKinds }[kind as keyof typeof differenceKinds | keyof typeof memoKinds] ?? '')

function accountLines(
  looked: LookResult,
  now: Date,
  seen: ReadonlyMap<string, store.ItemRow> = new Map(),
): readonly ReportLine[] {
  const { currency, bank, ledger, unexplained, opening, closing, statement, items } = looked
  const text = (amount: Minor | null) => money(amount, currency)
  return [
    {
      record: 'account',
      ...accountName(looked),
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
      ...accountName(looked),
      kind: item.kind,
      amount: text(item.amount),
      count: String(item.count),
      since: moment(item.oldestAt),
      age_seconds: seconds(item.oldestAt, now),
      first_seen: moment(seen.get(itemKey(item))?.firstSeen ?? now),
      why: itemReason(item),
    })),
  ]
}

/** Number of latest statements whose entries are summed by kind. */
const detailedMax = 31

async function statementLines(
  { books }: ReaderDeps,
  tx: Tx,
  { looked, chain }: AccountLook,
  rowsMax = chain.statements.length,
): Promise<readonly ReportLine[]> {
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
        ...accountName(looked),
        ...statementFacts(statement, text),
        gap_before: gap === undefined ? '' : text(gap.amount),
        sum_differs: differs === undefined ? '' : text(differs.amount),
      },
      ...(sums.get(statement.id) ?? []).map(({ kind, status, count, amount }) => ({
        record: 'statement_entries',
        ...accountName(looked),
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

type LineContext = { readonly looked: LookResult; readonly now: Date; readonly rowsMax: number | undefined }

/** Reads single entries, oldest first, in pages. */
async function* entryLines(
  { books }: ReaderDeps,
  tx: Tx,
  { looked, now, rowsMax }: LineContext,
): AsyncGenerator<readonly ReportLine[]> {
  const pageMax = rowsMax ?? rowsPerPage
  for (const [record, read] of [
    ['entry_not_on_statement', books.entriesNotOnStatement],
    ['entry_new', books.entriesNew],
  ] as const)
    for (let page: readonly BankEntry[] = []; ;) {
      page = await read(tx, accountName(looked), page.at(-1), pageMax)
      yield page.map((entry) => entryLine(record, looked, entry, now))
      if (page.length < pageMax || rowsMax !== undefined) break
    }
}

const entryLine = (record: string, looked: LookResult, entry: BankEntry, now: Date): ReportLine => ({
  record,
  ...accountName(looked),
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

/** Maximum payments listed, more than an operator reads. The sums include all payments. */
const paymentsMax = 10_000

async function paymentLines(
  { books }: ReaderDeps,
  tx: Tx,
  { looked, now, rowsMax = paymentsMax }: LineContext,
): Promise<readonly ReportLine[]> {
  const { connector, currency } = looked
  const line = (record: string, row: BankInstruction, since: Date | null): ReportLine => ({
    record,
    ...accountName(looked),
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
  { looked, now, rowsMax }: LineContext,
): AsyncGenerator<readonly ReportLine[]> {
  const { connector, currency } = looked
  const line = (record: string, row: CaseRow, since: Date | null): ReportLine => ({
    record,
    ...accountName(looked),
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

/** The CSV header of the report. All record types share the columns. */
export const reportHead: string = columns.join(',')
export const reportLine = (line: ReportLine): string =>
  columns.map((name) => csvAmountCell((line as Readonly<Record<string, string>>)[name] ?? '')).join(',')
