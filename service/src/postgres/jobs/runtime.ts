/**
 * Runs jobs. A job wakes after commits that write its tables, in this process (`Database.onWritten`) or in others
 * (`listenForWrites`), and when its next work is due. A poll every few seconds finds work whose wake-up was lost, with
 * one statement for all jobs.
 */
import { type Clock, type Log, minuteMs, randomFraction, secondMs } from '../../kernel/index.ts'
import { type Database, noSql, type Sql, sql, tablesIn, toStatement } from '../index.ts'
import { createFailureLog, type Job } from './job.ts'
import { startWorker, type Worker } from './worker.ts'

type JobsOptions = {
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  readonly jobs: readonly Job[]
  /** The interval of the poll for work whose wake-up was lost. */
  readonly pollMs?: number
  /** The interval of jobs without recent wake-ups. Default: a minute. */
  readonly quietEveryMs?: number
  /** Receives the age of the oldest due work of a queue. */
  readonly observe?: ((queue: string, connector: string, ageMs: number) => void) | undefined
  /** Receives the number of consecutive failures of a job with the same error; 0 after a success. */
  readonly observeFailures?: ((job: string, inARow: number) => void) | undefined
}

export type RunningJobs = {
  /** The tables whose commits wake jobs. */
  readonly tables: ReadonlySet<string>
  /** Wakes the jobs that read these tables. */
  readonly wakeReaders: (tables: Iterable<string>) => void
  /** Wakes all jobs, so that they find work whose wake-up was lost. */
  readonly wakeAll: () => void
  /** Starts no further runs. Resolves when the current runs have ended. */
  readonly stop: () => Promise<void>
}

const pollMsDefault = 5 * secondMs
/** Factor by which the poll's interval grows after a minute without due work and wake-ups. */
const pollsPerQuiet = 3

/** Lists the tables in which new or changed rows make work of a job due: those of its statement and of `wokenBy`. */
export function tablesOfJob({ due, wokenBy = [] }: Pick<Job, 'due' | 'wokenBy'>): ReadonlySet<string> {
  const read = due === undefined ? [] : tablesIn(toStatement(due(new Date(0))).text)
  return new Set([...wokenBy, ...read])
}

type Running = { readonly job: Job; readonly workers: Worker[] }

export function startJobs(options: JobsOptions): RunningJobs {
  const { db, clock, log, jobs, quietEveryMs } = options
  const look = (job: Job) => (worker: Worker, began: Date) => {
    if (!isDueJob(job)) return
    readDueTime(db, job, began).then(
      (dueAt) => {
        // PostgreSQL has microseconds, which a Date drops: the work is due within the next millisecond.
        if (dueAt !== null && dueAt >= began) worker.dueIn(dueAt.getTime() + 1 - clock.now().getTime())
      },
      // The poll finds the work, and logs a persistent failure.
      (error: unknown) => log.debug({ err: error, job: job.name }, 'cannot read due time'),
    )
  }
  const running = jobs.map((job): Running => ({ job, workers: [] }))
  for (const each of running) each.job.connect?.(() => wake(each))
  for (const { job, workers } of running) {
    const failures = createJobFailureLog(options, job.name)
    for (let count = 0; count < (job.workers ?? 1); count += 1)
      workers.push(startWorker({ job, clock, failures, look: look(job), random: randomFraction, quietEveryMs }))
  }
  const readers = readersOf(running)
  const wakeReaders = (tables: Iterable<string>) => {
    const woken = new Set([...tables].flatMap((table) => readers.get(table) ?? []))
    for (const reader of woken) wake(reader)
    if (woken.size > 0) poll.wake()
  }
  const poll = startPoll(options, running)
  const unsubscribe = db.onWritten(wakeReaders)
  return {
    tables: new Set(readers.keys()),
    wakeReaders,
    wakeAll: () => {
      for (const each of running) wake(each)
    },
    stop: async () => {
      unsubscribe()
      await Promise.all([poll.stop(), ...running.map(stop)])
    },
  }
}

const createJobFailureLog = ({ log, observeFailures }: JobsOptions, job: string) =>
  createFailureLog(job, log, observeFailures && ((inARow) => observeFailures(job, inARow)))

const wake = ({ workers }: Running): void => {
  for (const worker of workers) worker.wake()
}

async function stop({ job, workers }: Running): Promise<void> {
  await Promise.all(workers.map((worker) => worker.stop()))
  await job.drain?.()
}

function readersOf(running: readonly Running[]): ReadonlyMap<string, readonly Running[]> {
  const readers = new Map<string, Running[]>()
  for (const each of running)
    for (const table of tablesOfJob(each.job)) readers.set(table, [...(readers.get(table) ?? []), each])
  return readers
}

/** Starts the poll for work whose wake-up was lost. It is a job that rests longer while no work is due. */
function startPoll(options: JobsOptions, running: readonly Running[]): Worker {
  const { db, clock, pollMs = pollMsDefault, observe } = options
  const known = running.flatMap(({ job, workers }) => (isDueJob(job) ? [{ job, workers }] : []))
  const run = async (): Promise<number> => {
    const dueTimes = await dueTimesOf(
      db,
      known.map(({ job }) => job),
    )
    const now = clock.now().getTime()
    // If wake-ups do not arrive, for example behind a pooler, due work means that there may be more.
    if (dueTimes.some((dueAt) => dueAt !== null && dueAt.getTime() <= now)) poll.wake()
    for (const [index, { job, workers }] of known.entries()) {
      const dueAt = dueTimes[index] ?? null
      if (dueAt !== null) for (const worker of workers) worker.dueIn(dueAt.getTime() - now)
      const { age } = job
      if (age !== undefined && age.since === undefined)
        observe?.(age.queue, age.connector ?? '', dueAt === null ? 0 : Math.max(0, now - dueAt.getTime()))
    }
    return 0
  }
  const job = { name: 'jobs.poll', run, everyMs: pollMs, restMs: pollMs, quietAfterMs: minuteMs }
  const quietEveryMs = pollMs * pollsPerQuiet
  const failures = createJobFailureLog(options, job.name)
  const poll: Worker = startWorker({
    job,
    clock,
    failures,
    look: () => undefined,
    random: randomFraction,
    quietEveryMs,
  })
  return poll
}

// Reads the due times of all jobs in one statement.

type DueJob = Job & Required<Pick<Job, 'due'>>

const isDueJob = (job: Job): job is DueJob => job.due !== undefined

/** A time before any due time. */
const ever = new Date(-1)

type DueRow = { readonly dueAt: Date | null }

/** Reads the earliest time later than `after` at which work of the job is due. Null: no work is known. */
async function readDueTime(db: Database, { due }: DueJob, after: Date): Promise<Date | null> {
  const row = await db.row<DueRow>(due(after))
  return row?.dueAt ?? null
}

/**
 * Reads the earliest due time of each job, in their order. On a sharded database each job has its own statement, so that a shard that does
 * not answer does not hide the work of the others (`createScan`).
 */
async function dueTimesOf(db: Database, jobs: readonly DueJob[]): Promise<readonly (Date | null)[]> {
  if (jobs.length === 0) return []
  if (db.sharded) return Promise.all(jobs.map((job) => readDueTime(db, job, ever)))
  const each = jobs.map(
    ({ due }, position): Sql =>
      sql`/* jobs.dueTimesOf */ select ${position}::integer as position, (${due(ever)}) as due_at`,
  )
  const all = each.reduce((before, one) => (before === noSql ? one : sql`${before} union all ${one}`), noSql)
  // Planned once per connection without values, because planning takes a hundred times as long as reading.
  const rows = await db.transaction(
    (tx) => tx.rows<DueRow & { readonly position: number }>(sql`${all} order by position`),
    { byIndex: true, planOnce: true },
  )
  return rows.map(({ dueAt }) => dueAt)
}

// Wakes jobs of other processes. A process without jobs announces the tables that its commits have written, and processes with jobs
// listen. Notifications are not sent within payment transactions, because their commit would lock the whole database.

const channel = 'jobs'
/** Commits within this time share one notification. */
const collectMs = 10

/** Announces commits that write these tables, until `stop`. */
export function announceWrites(db: Database, tables: ReadonlySet<string>): { readonly stop: () => Promise<void> } {
  const collected = new Set<string>()
  let timer: NodeJS.Timeout | undefined
  let sending: Promise<unknown> = Promise.resolve()

  const send = () => {
    timer = undefined
    const payload = [...collected].join(',')
    collected.clear()
    if (payload === '') return
    // Need not be durable: the poll finds the work of a lost notification.
    const statement = sql`/* jobs.send */ select pg_notify(${channel}, ${payload})`
    sending = Promise.all([sending, db.unflushed.run(statement).catch(() => undefined)])
  }
  const unsubscribe = db.onWritten((written) => {
    for (const table of written) if (tables.has(table)) collected.add(table)
    if (collected.size > 0) timer ??= setTimeout(send, collectMs)
  })
  return {
    stop: async () => {
      unsubscribe()
      clearTimeout(timer)
      send()
      await sending
    },
  }
}

/** Wakes the jobs of this process after commits of others, until `stop`. */
export const listenForWrites = (
  db: Database,
  { wakeReaders, wakeAll }: Pick<RunningJobs, 'wakeReaders' | 'wakeAll'>,
): { readonly stop: () => Promise<void> } =>
  db.listen(channel, { received: (payload) => wakeReaders(payload.split(',')), connected: wakeAll })
