/**
 * Backtests that a worker runs outside of requests. A run has a lease: if its process dies, another process restarts it.
 * Days and transactions are limited, and each rule has at most one run at a time.
 */
import { Refusal } from '../kernel/api/index.ts'
import { after, dayMs, isEmptyName, minuteMs, newId, nilId } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import { evaluateRule, type MonitoringDeps, replaceSessions } from './evaluate.ts'
import { type RuleSettings, parseSettings } from './rules.ts'
import * as store from './store.ts'
import { type Movement, patterns } from '../transactions/index.ts'

/** A year, because some patterns are rare. */
const daysMax = 366
/** Limits a run to about twenty minutes, and the memory for the ids of its subjects. */
const transactionsMax = 1_000_000n
const attemptsMax = 3
/** Much longer than a page takes, so that only a dead worker loses its lease. */
const leaseMs = minuteMs

export type BacktestRequest = {
  readonly ruleId: string
  readonly version: number
  readonly from: string
  readonly until: string
  readonly staff: string
}

/** Requests a run of a rule that the caller has locked. Refuses: validation_failed (days, no person named, a run is in progress). */
export async function requestBacktest(
  { clock }: Pick<MonitoringDeps, 'clock'>,
  tx: Tx,
  { ruleId, version, from, until, staff }: BacktestRequest,
): Promise<store.BacktestRunRow> {
  if (isEmptyName(staff)) throw new Refusal('validation_failed', 'State who runs the backtest.')
  const days = readDays(from, until)
  const count = Math.round((days.before.getTime() - days.from.getTime()) / dayMs)
  if (count > daysMax)
    throw new Refusal('validation_failed', `The period has ${count} days. Choose at most ${daysMax} days.`)
  const under = (await store.listRuns(tx, ruleId)).find(({ endedAt }) => endedAt === null)
  if (under !== undefined)
    throw new Refusal(
      'validation_failed',
      `${under.askedBy} is already running a backtest of this rule. Wait for its result.`,
    )
  const now = clock.now()
  const row: store.BacktestRunRow = {
    id: newId(),
    ruleId,
    version,
    fromDay: from,
    untilDay: formatDay(days.before),
    askedBy: staff,
    askedAt: now,
    transactions: 0n,
    attempts: 0,
    dueAt: now,
    leaseId: null,
    problem: null,
    endedAt: null,
  }
  await store.insertRun(tx, row)
  return row
}

/** Error that stops a run: another worker has its lease, or it has read too many transactions. */
class RunStopped extends Error {
  override readonly name = 'RunEnds'
  readonly why: 'lost' | 'too_many'
  constructor(why: RunStopped['why']) {
    super(why)
    this.why = why
  }
}

/** Runs one due backtest and returns the number of claimed runs. A failed run is due again when its lease ends. */
export async function runDueBacktest(deps: MonitoringDeps, max = transactionsMax): Promise<number> {
  const { db, clock } = deps
  const now = clock.now()
  const lease = { id: newId(), until: after(now, leaseMs) }
  const run = await store.claimRun(db, lease, now)
  if (run === undefined) return 0
  const rule = (await store.allRules(db)).find(({ id, version }) => id === run.ruleId && version === run.version)
  const days = { from: new Date(run.fromDay), before: new Date(run.untilDay) }
  const key = { id: run.id, leaseId: lease.id }
  try {
    if (rule === undefined) throw new Error(`the rule ${run.ruleId} has no version ${run.version}`)
    const counted = await backtestRule(deps, parseSettings(rule.settings), days, async (transactions) => {
      if (transactions > max) throw new RunStopped('too_many')
      const until = after(clock.now(), leaseMs)
      if ((await store.renewRun(db, key, transactions, until)) === 0) throw new RunStopped('lost')
    })
    const { transactions, hits, subjects } = counted
    const { ruleId, version, fromDay, untilDay, askedBy: ranBy } = run
    await db.transaction(async (tx) => {
      const ranAt = clock.now()
      if ((await store.endRun(tx, key, null, ranAt)) === 0) return
      const row = { ruleId, version, id: run.id, fromDay, untilDay, transactions, hits, subjects, ranBy, ranAt }
      await store.insertBacktest(tx, row)
    })
  } catch (error) {
    const why = error instanceof RunStopped ? error.why : undefined
    if (why === 'lost') return 1
    if (why === 'too_many' || run.attempts >= attemptsMax) await store.endRun(db, key, why ?? 'failed', clock.now())
    if (why === undefined) throw error
  }
  return 1
}

// Evaluates a rule over the transactions of some days, for the command or for the desk, without opening alerts.

export const pageRows = 500
const examplesMax = 10

export type BacktestResult = {
  readonly transactions: bigint
  readonly hits: bigint
  readonly subjects: bigint
  /** The first hits. */
  readonly examples: readonly {
    readonly partnerId: string
    readonly reference: string
    readonly references: readonly string[]
  }[]
}
/** Days in UTC. `before` is the day after the last one. */
type BacktestDays = { readonly from: Date; readonly before: Date }

/** Evaluates a rule page by page. Calls `onPage` after each page with the number of read transactions; it may throw to stop. */
export async function backtestRule(
  { db, partnerIds, rates }: Pick<MonitoringDeps, 'db' | 'partnerIds' | 'rates'>,
  settings: RuleSettings,
  { from, before }: BacktestDays,
  onPage: (transactions: bigint) => Promise<void>,
): Promise<BacktestResult> {
  const subjects = new Set<string>()
  const examples: BacktestResult['examples'][number][] = []
  let [transactions, hits] = [0n, 0n]
  for (const partnerId of settings.partners ?? (await partnerIds(db)))
    for await (const page of pagesOf(db, partnerId, from, before)) {
      transactions += BigInt(page.length)
      const movements = await replaceSessions(db, partnerId, page)
      for (const { movement, evidence, subjectId } of await evaluateRule(
        { rates },
        db,
        partnerId,
        settings,
        movements,
      )) {
        hits += 1n
        subjects.add(subjectId)
        const { reference } = movement
        if (examples.length < examplesMax) examples.push({ partnerId, reference, references: evidence.references })
      }
      await onPage(transactions)
    }
  return { transactions, hits, subjects: BigInt(subjects.size), examples }
}

async function* pagesOf(db: Tx, partnerId: string, from: Date, before: Date): AsyncGenerator<readonly Movement[]> {
  for (let position = { createdAt: from, id: nilId }; ;) {
    const page = await patterns.createdAfter(db, partnerId, position, before, pageRows)
    const last = page.at(-1)
    if (last === undefined) return
    yield page
    position = last
  }
}

const dayForm = /^\d{4}-\d{2}-\d{2}$/
function parseDay(text: string, name: string): Date {
  const day = new Date(`${text}T00:00:00Z`)
  if (!dayForm.test(text) || Number.isNaN(day.getTime()) || day.toISOString().slice(0, 10) !== text)
    throw new Refusal('validation_failed', `${name} must be a day in UTC, such as 2026-03-01.`)
  return day
}

/** Reads the first and the last day. Refuses: validation_failed. */
export function readDays(from: string, until: string): BacktestDays {
  const [fromDay, untilDay] = [parseDay(from, 'from'), parseDay(until, 'until')]
  if (untilDay < fromDay) throw new Refusal('validation_failed', 'until must not be before from.')
  return { from: fromDay, before: after(untilDay, dayMs) }
}

export const formatDay = (day: Date): string => day.toISOString().slice(0, 10)
