/**
 * Reconciliation of bank accounts with the ledger: stores looks, opens cases about unexplained differences, and
 * resolves cases whose cause is gone.
 */
import { type Cases, type Decisions, operatorPartnerId } from '../index.ts'
import {
  amountText,
  type Clock,
  type Currency,
  dayMs,
  isUuid,
  type Minor,
  minuteMs,
  newId,
  present,
  type RowKey,
} from '../../kernel/index.ts'
import type { Ledger } from '../../ledger/index.ts'
import { type Database, useSnapshot, type Tx } from '../../postgres/index.ts'
import {
  type BankBooks,
  type BankEntry,
  type BankStatement,
  type BooksAccount,
  type EntryScope,
  isRepetition,
  type PaymentSums,
} from '../../rails/index.ts'
import type { CandidateSources } from './candidates.ts'
import { type AccountLook, compareAccount, type LookDeps, readShared, compareSuspense } from './look.ts'
import { createReader, type ReconciliationReader } from './read.ts'
import type { DifferenceItem, LookResult } from './rules.ts'
import * as store from './store.ts'

/** Observes the results of a check, for metrics. */
type ReconciliationObserver = {
  readonly account: (state: ObservedAccount) => void
  readonly cases: (kinds: readonly CaseCount[], proposals: number) => void
}
type ObservedAccount = BooksAccount & {
  readonly unexplained: bigint
  readonly items: readonly {
    readonly side: string
    readonly kind: string
    readonly amount: bigint
    readonly count: bigint
    readonly ageMs: number
  }[]
  /** The age of the last statement. Undefined without a statement. */
  readonly statementAgeMs: number | undefined
}
type CaseCount = { readonly connector: string; readonly kind: string; readonly count: number }

type ReconciliationDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly books: BankBooks
  readonly ledger: Ledger
  readonly cases: Cases
  readonly decisions: Pick<Decisions, 'resolveGone' | 'expire'>
  /** The configured accounts at file-based banks. */
  readonly accounts: readonly BooksAccount[]
  readonly inLedger: LookDeps['inLedger']
  readonly candidates: CandidateSources
}

export type Reconciliation = ReconciliationReader & {
  /** Compares accounts as of the statements of a day, for safeguarding. */
  readonly day: DayReader
  /**
   * Compares every account with the ledger and stores the results. If several processes run, only one of them does
   * this. Returns 0, so that its loop pauses.
   */
  readonly step: (observe?: ReconciliationObserver) => Promise<number>
}

export const reconciliationEveryMs = minuteMs
/** An account is not compared again within this time. */
const freshMs = reconciliationEveryMs / 2
/** Retention of runs that are not the first run of a statement. */
const keptMs = 30 * dayMs
const proposalsPerStepMax = 1000

export function createReconciliation(deps: ReconciliationDeps): Reconciliation {
  const { db, clock, books, ledger, cases, decisions } = deps
  const counted: LookDeps['counted'] = async (tx, account) =>
    new Map((await store.finalSums(tx, account)).map(({ id, written }) => [id, written]))
  const parts = { books, ledger, cases, inLedger: deps.inLedger, counted }
  const gone = createMissingReports({ db, books, cases, decisions })
  return {
    ...createReader({ ...deps, parts }),
    day: createDayReader(parts),
    step: async (observe) => {
      const known = await knownAccounts(deps)
      const now = clock.now()
      const due = known.filter(({ checkedAt }) => checkedAt === null || now.getTime() - checkedAt.getTime() >= freshMs)
      if (due.length > 0) {
        const { looks, suspense } = await lookAtAll(deps, parts, due)
        for (const look of looks) await storeLook(deps, look, now)
        for (const looked of suspense) await storeLook(deps, { looked, final: [] }, now)
        for (const look of looks) await gone(look)
        await store.deleteRuns(db, new Date(now.getTime() - keptMs))
        await decisions.expire(db.transaction, proposalsPerStepMax)
      }
      if (observe !== undefined) await reportResults(deps, observe, now)
      return 0
    },
  }
}

const isSuspense = ({ account }: Pick<BooksAccount, 'account'>): boolean => account === 'suspense'

/** Lists the accounts that are or were configured, and suspense in each currency of the ledger. */
async function knownAccounts({ db, ledger, accounts }: ReconciliationDeps): Promise<readonly store.AccountRow[]> {
  const totals = await ledger.connectorTotals(db)
  const suspense = totals.filter(({ name }) => name === 'suspense').map(({ currency }) => suspenseAccount(currency))
  const before = await store.accounts(db)
  const isKnown = (one: BooksAccount) =>
    before.some(
      (row) => row.connector === one.connector && row.account === one.account && row.currency === one.currency,
    )
  const added = [...accounts, ...suspense].filter((one) => !isKnown(one))
  if (added.length === 0) return before
  for (const account of added) await store.addAccount(db, account)
  return store.accounts(db)
}
const suspenseAccount = (currency: Currency): BooksAccount => ({ connector: '', account: 'suspense', currency })

/** Checks all due accounts in one snapshot, without locks. */
const lookAtAll = ({ db }: ReconciliationDeps, parts: LookDeps, due: readonly BooksAccount[]) =>
  db.transaction(async (tx) => {
    await useSnapshot(tx)
    const shared = await readShared(parts, tx)
    const looks: AccountLook[] = []
    for (const { connector, account, currency } of due)
      if (!isSuspense({ account }))
        looks.push(await compareAccount(parts, tx, { connector, account, currency }, shared))
    return { looks, suspense: due.filter(isSuspense).map(({ currency }) => compareSuspense(shared, currency)) }
  })

/** Stores a look under the lock of the account. A look that is older than the stored one is dropped. */
async function storeLook(
  deps: ReconciliationDeps,
  { looked, final }: Pick<AccountLook, 'looked' | 'final'>,
  now: Date,
): Promise<void> {
  const { connector, account, currency, unexplained } = looked
  await deps.db.transaction(async (tx) => {
    const row = present(await store.lockAccount(tx, looked), `no account ${account} of ${connector}`)
    if (row.checkedAt !== null && row.checkedAt >= now) return
    for (const one of final) await store.insertFinalSum(tx, { ...one, connector, account, currency }, now)
    const runId = await storeRun(tx, row, looked, now)
    const since = unexplained === 0n ? null : (row.unexplainedSince ?? now)
    // A difference counts if the next look still finds it. Until then a connector may be between two transactions.
    const opens = !row.hasCase && since !== null && since < now
    if (opens) await openCase(deps, tx, looked, since)
    const hasCase = unexplained !== 0n && (row.hasCase || opens)
    await store.updateAccount(tx, { ...row, runId, checkedAt: now, unexplainedSince: since, hasCase })
  })
  if (unexplained === 0n) await resolveUnexplained(deps, looked)
}

const lookFacts = (
  { bank, ledger, unexplained, opening, closing }: Omit<LookResult, 'items'>,
  statementId: string | null,
) => [bank, ledger, unexplained, opening, closing, statementId].join(' ')
const itemsText = (items: readonly LookResult['items'][number][]): string =>
  items
    .map(({ side, kind, amount, count, oldestAt }) => `${side} ${kind} ${amount} ${count} ${oldestAt?.getTime()}`)
    .toSorted()
    .join('\n')

/** Stores the run of a look. A look with the same findings extends the previous run. */
async function storeRun(tx: Tx, row: store.AccountRow, looked: LookResult, now: Date): Promise<string> {
  const last = row.runId === null ? undefined : await store.runById(tx, row.runId)
  const before = last === undefined ? [] : await store.runItems(tx, last.id)
  const statementId = looked.statement?.id ?? null
  const isSame =
    last !== undefined &&
    lookFacts({ ...looked, ...last }, last.statementId) === lookFacts(looked, statementId) &&
    itemsText(before) === itemsText(looked.items)
  if (isSame) {
    await store.touchRun(tx, last.id, now)
    return last.id
  }
  const { connector, account, currency, opening, closing, bank, ledger, unexplained } = looked
  const id = newId()
  const isOfStatement = statementId !== null && statementId !== last?.statementId
  const facts = { connector, account, currency, opening, closing, bank, ledger, unexplained }
  const statementOn = looked.statement?.on ?? null
  await store.insertRun(tx, { id, ...facts, firstAt: now, lastAt: now, isOfStatement, statementId, statementOn })
  const seen = new Map(before.map(({ side, kind, firstSeen }) => [`${side} ${kind}`, firstSeen]))
  const items = looked.items.map((item) => ({ ...item, firstSeen: seen.get(`${item.side} ${item.kind}`) ?? now }))
  await store.insertItems(
    tx,
    items.map((item) => ({ ...item, runId: id })),
  )
  return id
}

const unexplainedCaseId = ({ account, currency }: Pick<LookResult, 'account' | 'currency'>, since: Date) =>
  `unexplained ${account} ${currency} ${since.toISOString()}`

/** Returns the name of the connector of an account. Suspense has none, so it is `ledger`. */
const connectorName = ({ connector }: Pick<LookResult, 'connector'>): string => connector || 'ledger'

async function openCase({ cases }: ReconciliationDeps, tx: Tx, looked: LookResult, since: Date): Promise<void> {
  const { account, currency, bank, ledger, unexplained, items, statement } = looked
  const text = (amount: bigint) => amountText(amount, currency)
  await cases.record(tx, [
    {
      partnerId: operatorPartnerId,
      kind: 'unexplained',
      connector: connectorName(looked),
      notificationId: unexplainedCaseId(looked, since),
      subject: account,
      report: {
        kind: 'reconciliation',
        account,
        currency,
        statement: statement?.on ?? null,
        bank: text(bank),
        ledger: text(ledger),
        difference: text(ledger - bank),
        named: items.flatMap(({ side, kind, amount, count }) =>
          side === 'difference' ? [{ kind, amount: text(amount), count: Number(count) }] : [],
        ),
        unexplained: text(unexplained),
      },
      booked: null,
    },
  ])
}

const casesPerLookMax = 100

async function resolveUnexplained({ db, cases, decisions }: ReconciliationDeps, looked: LookResult): Promise<void> {
  const open = await cases.openOfKind(db, connectorName(looked), 'unexplained', casesPerLookMax)
  const prefix = `unexplained ${looked.account} ${looked.currency} `
  for (const found of open.filter(({ notificationId }) => notificationId.startsWith(prefix)))
    await db.transaction((tx) =>
      decisions.resolveGone(tx, found, 'reconciliation', 'The difference is gone: bank and ledger agree.'),
    )
}

const endOfDay = (day: string | null): Date | undefined => (day === null ? undefined : new Date(`${day}T23:59:59Z`))

/** Reports the stored results for metrics. Any process may have stored them. */
async function reportResults(
  { db, cases }: ReconciliationDeps,
  observe: ReconciliationObserver,
  now: Date,
): Promise<void> {
  const age = (moment: Date | null) => (moment === null ? 0 : Math.max(0, now.getTime() - moment.getTime()))
  for (const row of await store.accounts(db)) {
    const run = row.runId === null ? undefined : await store.runById(db, row.runId)
    const statement = endOfDay(run?.statementOn ?? null)
    observe.account({
      connector: row.connector,
      account: row.account,
      currency: row.currency,
      unexplained: run?.unexplained ?? 0n,
      items: (run === undefined ? [] : await store.runItems(db, run.id)).map(({ oldestAt, firstSeen, ...item }) => ({
        ...item,
        ageMs: age(oldestAt ?? firstSeen),
      })),
      statementAgeMs: statement && age(statement),
    })
  }
  const open = await cases.openSums(db)
  const byKind = [...Map.groupBy(open, ({ connector, kind }) => `${connector} ${kind}`).values()].map((rows) => ({
    connector: rows[0]?.connector ?? '',
    kind: rows[0]?.kind ?? '',
    count: rows.reduce((total, { count }) => total + Number(count), 0),
  }))
  observe.cases(
    byKind,
    open.reduce((total, { proposals }) => total + Number(proposals), 0),
  )
}

// Cases about missing reports, which end when the report arrives: a statement between two others, or a report about a
// payment.

type MissingReportDeps = {
  readonly db: Database
  readonly books: Pick<BankBooks, 'instructions' | 'listed'>
  readonly cases: Pick<Cases, 'openOfKind'>
  readonly decisions: Pick<Decisions, 'resolveGone'>
}

const goneCasesPerLookMax = 1000

const createMissingReports =
  ({ db, books, cases, decisions }: MissingReportDeps) =>
  async ({ looked: { connector, account }, chain, incomplete }: AccountLook): Promise<void> => {
    const { statements, versions, gaps } = chain
    const resolve = async (found: readonly RowKey[], note: string) => {
      for (const key of found) await db.transaction((tx) => decisions.resolveGone(tx, key, 'reconciliation', note))
    }
    const missing = await cases.openOfKind(db, connector, 'statement_gap', goneCasesPerLookMax)
    const known = new Set(statements.map(({ id }) => id))
    const behindGap = new Set(gaps.map(({ after }) => after.id))
    // A case names the statement after the gap, or has the account in its report.
    const filled = missing.filter(({ subject, report }) =>
      known.has(subject) ? !behindGap.has(subject) : gaps.length === 0 && report.includes(account),
    )
    await resolve(filled, 'The statements of the account join.')
    const corrected = new Set(
      [...versions].flatMap(([statement, all]) =>
        incomplete.has(statement.id) || all.every((one) => isRepetition(one, statement)) ? [] : [statement.id],
      ),
    )
    const overlapping = await cases.openOfKind(db, connector, 'statement_overlap', goneCasesPerLookMax)
    await resolve(
      overlapping.filter(({ subject }) => corrected.has(subject)),
      'The bank has corrected the statement, and each of its entries is stored once.',
    )
    const silent = await cases.openOfKind(db, connector, 'payment_missing', goneCasesPerLookMax)
    const ids = silent.map(({ subject }) => subject).filter(isUuid)
    const told = new Set(
      (await books.instructions(db, ids)).filter(({ missingSince }) => missingSince === null).map(({ id }) => id),
    )
    await resolve(
      silent.filter(({ subject }) => told.has(subject)),
      'The bank has reported the outcome of the payment.',
    )
    const absent = await cases.openOfKind(db, connector, 'announced_missing', goneCasesPerLookMax)
    const listed = await books.listed(
      db,
      absent.map(({ subject }) => subject),
    )
    await resolve(
      absent.filter(({ subject }) => listed.has(subject)),
      'A later statement has the entry.',
    )
  }

// A look at accounts up to the statements of a day: the equation of look.ts without later statements, whose entries count as not on
// a statement.

export type DayLook = BooksAccount & {
  /** The last statement up to the day. Undefined without one. */
  readonly statement: Pick<BankStatement, 'id' | 'statementId' | 'sequence' | 'closing' | 'closingOn'> | undefined
  /** The balance before the first statement, which this service never booked. */
  readonly opening: Minor
  /** The sum of all partners' settlement accounts of the connector in the ledger. */
  readonly ledger: Minor
  /** Parts of `ledger - bank`, with the sign of that difference. */
  readonly items: readonly DifferenceItem[]
  readonly unexplained: Minor
  /** Complete statements up to the day. */
  readonly statements: readonly Pick<BankStatement, 'id' | 'createdAt'>[]
  readonly laterIds: readonly string[]
}

export type DayReader = {
  /** Compares accounts with the ledger in the caller's snapshot, up to the statements of a day. */
  readonly lookUpTo: (tx: Tx, accounts: readonly BooksAccount[], day: string) => Promise<readonly DayLook[]>
  /** Finds the last complete statement up to a day, among statements that state their day. */
  readonly lastStatement: (tx: Tx, account: BooksAccount, day: string) => Promise<BankStatement | undefined>
  readonly sumInScope: (tx: Tx, account: BooksAccount, scope: EntryScope) => Promise<PaymentSums>
  /** Lists entries of a scope, oldest first. */
  readonly entriesInScope: (
    tx: Tx,
    account: BooksAccount,
    scope: EntryScope,
    rowsMax: number,
  ) => Promise<readonly BankEntry[]>
  /** Lists entries that the ledger does not have yet, oldest first. */
  readonly entriesNew: (tx: Tx, account: BooksAccount, rowsMax: number) => Promise<readonly BankEntry[]>
}

function createDayReader(deps: LookDeps): DayReader {
  const { books } = deps
  return {
    lookUpTo: async (tx, accounts, day) => {
      const shared = await readShared(deps, tx)
      const looks: DayLook[] = []
      for (const account of accounts) looks.push(await lookAtDay(deps, tx, account, day, shared))
      return looks
    },
    lastStatement: async (tx, account, day) =>
      (await books.statements(tx, account)).findLast(
        ({ taken, closingOn }) => taken && closingOn !== null && closingOn <= day,
      ),
    sumInScope: books.sumInScope,
    entriesInScope: books.entriesInScope,
    entriesNew: (tx, account, rowsMax) => books.entriesNew(tx, account, undefined, rowsMax),
  }
}

const isLater = ({ closingOn }: BankStatement, day: string): boolean => closingOn !== null && closingOn > day

async function lookAtDay(
  deps: LookDeps,
  tx: Tx,
  account: BooksAccount,
  day: string,
  shared: Awaited<ReturnType<typeof readShared>>,
): Promise<DayLook> {
  const { books } = deps
  const all = await books.statements(tx, account)
  const laterIds = all.filter((one) => isLater(one, day)).map(({ id }) => id)
  const known = all.filter((one) => !isLater(one, day))
  const { looked, chain } = await compareAccount(
    {
      ...deps,
      books: {
        ...books,
        statements: () => Promise.resolve(known),
        notOnStatement: async () => [
          ...(await books.notOnStatement(tx, account)),
          ...(await books.ofStatements(tx, laterIds)),
        ],
      },
    },
    tx,
    account,
    shared,
  )
  const { last, closing, moved } = chain
  return {
    ...account,
    statement: last,
    opening: (closing ?? moved) - moved,
    ledger: looked.ledger,
    items: looked.items.filter(({ side }) => side === 'difference'),
    unexplained: looked.unexplained,
    statements: known.filter(({ taken }) => taken),
    laterIds,
  }
}
