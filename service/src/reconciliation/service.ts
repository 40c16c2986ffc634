/**
 * Reconciliation of bank accounts with the ledger: stored looks, cases about unexplained differences, and cases that
 * resolve themselves when their reason is gone.
 */
import { type Cases, type Decisions, operatorPartnerId } from '../cases/index.ts'
import { amountText, type Clock, type Currency, dayMs, type Log, minuteMs, newId, present } from '../kernel/index.ts'
import type { Ledger } from '../ledger/index.ts'
import { type Database, readAtOneMoment, type Tx } from '../postgres/index.ts'
import type { BooksAccount, BankBooks } from '../rails/index.ts'
import type { CandidateSources } from './candidates.ts'
import { createDayReader, type DayReader } from './day.ts'
import { createGone } from './gone.ts'
import { type Look, lookAt, type LookDeps, readShared, suspenseLook } from './look.ts'
import { type Reader, createReader } from './read.ts'
import type { Looked } from './rules.ts'
import * as store from './store.ts'

/** Observes the results of a check, for metrics. */
export type ReconciliationObserver = {
  readonly account: (state: Observed) => void
  readonly cases: (kinds: readonly CaseCount[], proposals: number) => void
}
type Observed = BooksAccount & {
  readonly unexplained: bigint
  readonly items: readonly {
    readonly side: string
    readonly kind: string
    readonly amount: bigint
    readonly count: bigint
    readonly ageMs: number
  }[]
  /** Time since the last statement was received; undefined: there is none. */
  readonly statementAgeMs: number | undefined
}
type CaseCount = { readonly connector: string; readonly kind: string; readonly count: number }

type ReconciliationDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  readonly books: BankBooks
  readonly ledger: Ledger
  readonly cases: Cases
  readonly decisions: Pick<Decisions, 'resolveGone' | 'expire'>
  /** The configured accounts at file-based banks. */
  readonly accounts: readonly BooksAccount[]
  readonly inLedger: LookDeps['inLedger']
  readonly candidates: CandidateSources
}

export type Reconciliation = Reader & {
  /** Looks up to the statements of a day, for safeguarding. */
  readonly day: DayReader
  /**
   * Looks at every account, stores the findings, and returns 0 so that its loop pauses. Of two processes only one
   * looks.
   */
  readonly step: (observe?: ReconciliationObserver) => Promise<number>
}

export const reconciliationEveryMs = minuteMs
/** A look within this time makes another one unnecessary. */
const freshMs = reconciliationEveryMs / 2
/** How long looks between statements are kept. */
const keptMs = 30 * dayMs
const proposalsPerStepMax = 1000

export function createReconciliation(deps: ReconciliationDeps): Reconciliation {
  const { db, clock, books, ledger, cases, decisions } = deps
  const counted: LookDeps['counted'] = async (tx, account) =>
    new Map((await store.countedOf(tx, account)).map(({ id, written }) => [id, written]))
  const parts = { books, ledger, cases, inLedger: deps.inLedger, counted }
  const gone = createGone({ db, books, cases, decisions })
  return {
    ...createReader({ ...deps, parts }),
    day: createDayReader(parts),
    step: async (observe) => {
      const known = await knownAccounts(deps)
      const now = clock.now()
      const due = known.filter(({ checkedAt }) => checkedAt === null || now.getTime() - checkedAt.getTime() >= freshMs)
      if (due.length > 0) {
        const { looks, suspense } = await lookAtAll(deps, parts, due)
        for (const look of looks) await keep(deps, look, now)
        for (const looked of suspense) await keep(deps, { looked, final: [] }, now)
        for (const look of looks) await gone(look)
        await store.deleteRuns(db, new Date(now.getTime() - keptMs))
        await decisions.expire(db.transaction, proposalsPerStepMax)
      }
      if (observe !== undefined) await tell(deps, observe, now)
      return 0
    },
  }
}

const isSuspense = ({ account }: Pick<BooksAccount, 'account'>): boolean => account === 'suspense'

/** The configured accounts, those that were configured before, and suspense in each currency of the ledger. */
async function knownAccounts({ db, ledger, accounts }: ReconciliationDeps): Promise<readonly store.AccountRow[]> {
  const totals = await ledger.connectorTotals(db)
  const suspense = totals.filter(({ name }) => name === 'suspense').map(({ currency }) => suspenseOf(currency))
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
const suspenseOf = (currency: Currency): BooksAccount => ({ connector: '', account: 'suspense', currency })

/** Checks all due accounts in one snapshot, without locks. */
const lookAtAll = ({ db }: ReconciliationDeps, parts: LookDeps, due: readonly BooksAccount[]) =>
  db.transaction(async (tx) => {
    await readAtOneMoment(tx)
    const shared = await readShared(parts, tx)
    const looks: Look[] = []
    for (const { connector, account, currency } of due)
      if (!isSuspense({ account })) looks.push(await lookAt(parts, tx, { connector, account, currency }, shared))
    return { looks, suspense: due.filter(isSuspense).map(({ currency }) => suspenseLook(shared, currency)) }
  })

/** Runs under the lock of the account: a look that is older than the stored one is dropped. */
async function keep(
  deps: ReconciliationDeps,
  { looked, final }: Pick<Look, 'looked' | 'final'>,
  now: Date,
): Promise<void> {
  const { connector, account, currency, unexplained } = looked
  await deps.db.transaction(async (tx) => {
    const row = present(await store.lockAccount(tx, looked), 'an account that is looked at is known')
    if (row.checkedAt !== null && row.checkedAt >= now) return
    for (const one of final) await store.insertCounted(tx, { ...one, connector, account, currency }, now)
    const runId = await keepRun(tx, row, looked, now)
    const since = unexplained === 0n ? null : (row.unexplainedSince ?? now)
    // Only a difference that the next look still finds counts: a gap between two transactions of a bank's connector has
    // closed by then.
    const opens = !row.hasCase && since !== null && since < now
    if (opens) await openCase(deps, tx, looked, since)
    const hasCase = unexplained !== 0n && (row.hasCase || opens)
    await store.updateAccount(tx, { ...row, runId, checkedAt: now, unexplainedSince: since, hasCase })
  })
  if (unexplained === 0n) await resolveUnexplained(deps, looked)
}

const factsOf = ({ bank, ledger, unexplained, opening, closing }: Omit<Looked, 'items'>, statementId: string | null) =>
  [bank, ledger, unexplained, opening, closing, statementId].join(' ')
const textOf = (items: readonly Looked['items'][number][]): string =>
  items
    .map(({ side, kind, amount, count, oldestAt }) => `${side} ${kind} ${amount} ${count} ${oldestAt?.getTime()}`)
    .toSorted()
    .join('\n')

/** A look with the same findings as the one before extends its run. */
async function keepRun(tx: Tx, row: store.AccountRow, looked: Looked, now: Date): Promise<string> {
  const last = row.runId === null ? undefined : await store.runById(tx, row.runId)
  const before = last === undefined ? [] : await store.itemsOf(tx, last.id)
  const statementId = looked.statement?.id ?? null
  const isSame =
    last !== undefined &&
    factsOf({ ...looked, ...last }, last.statementId) === factsOf(looked, statementId) &&
    textOf(before) === textOf(looked.items)
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

const caseIdOf = ({ account, currency }: Pick<Looked, 'account' | 'currency'>, since: Date) =>
  `unexplained ${account} ${currency} ${since.toISOString()}`

/** Connector of a bank; suspense has none. */
const connectorOf = ({ connector }: Pick<Looked, 'connector'>): string => connector || 'ledger'

async function openCase({ cases }: ReconciliationDeps, tx: Tx, looked: Looked, since: Date): Promise<void> {
  const { account, currency, bank, ledger, unexplained, items, statement } = looked
  const text = (amount: bigint) => amountText(amount, currency)
  await cases.record(tx, [
    {
      partnerId: operatorPartnerId,
      kind: 'unexplained',
      connector: connectorOf(looked),
      notificationId: caseIdOf(looked, since),
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

async function resolveUnexplained({ db, cases, decisions }: ReconciliationDeps, looked: Looked): Promise<void> {
  const open = await cases.openOfKind(db, connectorOf(looked), 'unexplained', casesPerLookMax)
  const prefix = `unexplained ${looked.account} ${looked.currency} `
  for (const found of open.filter(({ notificationId }) => notificationId.startsWith(prefix)))
    await db.transaction((tx) =>
      decisions.resolveGone(tx, found, 'reconciliation', 'The difference is gone: bank and ledger agree.'),
    )
}

/** End of a day of the bank. */
const endOf = (day: string | null): Date | undefined => (day === null ? undefined : new Date(`${day}T23:59:59Z`))

/** Reports the stored results, from any process that has checked. */
async function tell({ db, cases }: ReconciliationDeps, observe: ReconciliationObserver, now: Date): Promise<void> {
  const age = (moment: Date | null) => (moment === null ? 0 : Math.max(0, now.getTime() - moment.getTime()))
  for (const row of await store.accounts(db)) {
    const run = row.runId === null ? undefined : await store.runById(db, row.runId)
    const statement = endOf(run?.statementOn ?? null)
    observe.account({
      connector: row.connector,
      account: row.account,
      currency: row.currency,
      unexplained: run?.unexplained ?? 0n,
      items: (run === undefined ? [] : await store.itemsOf(db, run.id)).map(({ oldestAt, firstSeen, ...item }) => ({
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
