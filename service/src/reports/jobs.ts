/** The jobs of reports. Several workers write, so that a long report does not stop the others. */
import { defineJob, type Job } from '../postgres/jobs/index.ts'
import type { Reports } from './service.ts'
import * as store from './store.ts'
import { after, dayMs, type Log, newId, secondMs, type RowKey } from '../kernel/index.ts'
import type { MailQueue } from '../mail/index.ts'
import { oldestTransactionStart } from '../postgres/index.ts'
import { LeaseLost } from './file.ts'
import { type MembersByAddress, queueReportMails } from './report-mail.ts'
import { attemptsMax, nextPeriodEnd, periodBefore, ReportImpossible } from './rules.ts'
import { leaseMs, type WriteDeps, writeReport } from './write.ts'

/** Reports that one process writes at the same time. */
const writersMax = 2

type JobsDeps = Omit<ReportWorkDeps, 'keptDays' | 'clockDifferenceMsMax'> & {
  readonly config: Readonly<Record<'REPORT_KEPT_DAYS' | 'REPORT_CLOCK_DIFFERENCE_MS', number>>
  readonly reports: Pick<Reports, 'releaseLeases'>
}

export function reportJobs({ config, reports, ...deps }: JobsDeps): readonly Job[] {
  const { writeStep, scheduleStep, sweepStep } = createReportWork({
    ...deps,
    keptDays: config.REPORT_KEPT_DAYS,
    clockDifferenceMsMax: config.REPORT_CLOCK_DIFFERENCE_MS,
  })
  return [
    defineJob({
      name: 'reports.write',
      due: store.reportsDue,
      run: writeStep,
      workers: writersMax,
      releaseLeases: reports.releaseLeases,
      age: { queue: 'reports' },
    }),
    defineJob({ name: 'reports.schedules', due: store.schedulesDue, run: scheduleStep }),
    defineJob({ name: 'reports.expiry', due: store.reportsToExpire, run: sweepStep }),
  ]
}

// Workers that write reports, create scheduled reports, and delete expired ones.

type ReportWorkDeps = WriteDeps & {
  readonly log: Log
  readonly mail: Pick<MailQueue, 'enqueue'>
  readonly membersByAddress: MembersByAddress
  readonly keptDays: number
  /** The largest clock difference between the database and the processes, which create the ids. */
  readonly clockDifferenceMsMax: number
  /** Base URL of the links in mails. */
  readonly publicUrl: string
}

type ReportWork = {
  /** Writes one report. Returns the number claimed: 0 or 1. */
  readonly writeStep: () => Promise<number>
  /** Creates the reports of schedules whose period has ended. Returns their number. */
  readonly scheduleStep: () => Promise<number>
  /** Deletes expired reports in parts. Returns the number of reports it worked on. */
  readonly sweepStep: () => Promise<number>
}

const partnersPerLookMax = 10
const schedulesPerStepMax = 100
const sweptPerStepMax = 20
/** 16 MiB, deleted in about 50 ms. */
const chunksPerDeleteMax = 64
const retryMs = 10 * secondMs
const writeFailedText = 'The report could not be written. Request it again; if it fails again, contact support.'

export function createReportWork(deps: ReportWorkDeps): ReportWork {
  const { db, clock, log } = deps
  return {
    writeStep: async () => {
      const claimed = await claimNext(deps)
      if (claimed === undefined) return 0
      const { partnerId, id } = claimed
      try {
        // Each attempt ended its process.
        if (claimed.attempts > attemptsMax) await failReport(deps, claimed, writeFailedText)
        else await completeReport(deps, claimed, await writeReport(deps, claimed))
      } catch (error) {
        if (error instanceof LeaseLost) log.info({ partnerId, reportId: id }, 'report cancelled, or its lease was lost')
        else await recordFailure(deps, claimed, error)
      }
      return 1
    },
    scheduleStep: async () => {
      const due = await store.dueSchedules(db, clock.now(), schedulesPerStepMax)
      return forEachLogged(deps, due, 'schedule not run', runSchedule)
    },
    sweepStep: async () => {
      const expired = await store.expiredReports(db, clock.now(), sweptPerStepMax)
      return forEachLogged(deps, expired, 'report not deleted', deleteExpired)
    },
  }
}

/**
 * Runs a step for each item. A failure is logged and does not stop the others. Returns the number of successes, so that
 * a run with failures only backs off.
 */
async function forEachLogged(
  deps: ReportWorkDeps,
  keys: readonly RowKey[],
  message: string,
  work: (deps: ReportWorkDeps, partnerId: string, id: string) => Promise<void>,
): Promise<number> {
  let done = 0
  for (const { partnerId, id } of keys)
    try {
      await work(deps, partnerId, id)
      done += 1
    } catch (error) {
      deps.log.error({ err: error, partnerId, id }, message)
    }
  return done
}

/**
 * Claims the next report of the partner that waits longest. A report waits until every transaction that may write into
 * its period has ended: an id is created after its transaction has begun (ledger/README.md).
 */
async function claimNext({ db, clock, clockDifferenceMsMax }: ReportWorkDeps): Promise<store.ReportRow | undefined> {
  const certainUntil = after(await oldestTransactionStart(db), -clockDifferenceMsMax)
  const now = clock.now()
  for (const { partnerId } of await store.partnersWithDueReports(db, now, certainUntil, partnersPerLookMax)) {
    const claimed = await db.transaction(async (tx) => {
      await store.recordTurn(tx, partnerId, now)
      return store.claimReport(tx, partnerId, { id: newId(), until: after(now, leaseMs) }, now, certainUntil)
    })
    if (claimed !== undefined) return claimed
  }
  return undefined
}

async function completeReport(
  deps: ReportWorkDeps,
  claimed: store.ReportRow,
  finished: store.WrittenFile,
): Promise<void> {
  const { db, clock, keptDays } = deps
  const { partnerId, id, scheduleId, attempts } = claimed
  const expiresAt = after(clock.now(), keptDays * dayMs)
  await db.transaction(async (tx) => {
    if ((await store.markReady(tx, claimed, finished, expiresAt)) === 0) throw new LeaseLost()
    const schedule = scheduleId === null ? undefined : await store.scheduleById(tx, partnerId, scheduleId)
    if (schedule) await queueReportMails(deps, tx, schedule, claimed, { expiresAt })
  })
  await deleteChunks(deps, partnerId, id, attempts)
}

async function failReport(deps: ReportWorkDeps, claimed: store.ReportRow, failure: string): Promise<void> {
  const { db, log } = deps
  const { partnerId, id, scheduleId } = claimed
  await db.transaction(async (tx) => {
    if ((await store.markFailed(tx, claimed, failure)) === 0) return
    const schedule = scheduleId === null ? undefined : await store.scheduleById(tx, partnerId, scheduleId)
    if (schedule) await queueReportMails(deps, tx, schedule, claimed, { failure })
  })
  await deleteChunks(deps, partnerId, id, null)
  log.warn({ partnerId, reportId: id }, 'report failed')
}

async function recordFailure(deps: ReportWorkDeps, claimed: store.ReportRow, error: unknown): Promise<void> {
  const { db, clock, log } = deps
  const { partnerId, id, attempts } = claimed
  if (error instanceof ReportImpossible) return failReport(deps, claimed, error.message)
  log.error({ err: error, partnerId, reportId: id, attempts }, 'attempt to write a report failed')
  if (attempts >= attemptsMax) return failReport(deps, claimed, writeFailedText)
  await store.requeueReport(db, claimed, after(clock.now(), retryMs * 2 ** (attempts - 1)))
  // The parts of this attempt are useless, because the next attempt writes its own.
  await deleteChunks(deps, partnerId, id, null)
}

/** Deletes chunks in short statements, so that a file of a gigabyte does not hold a connection for seconds. */
async function deleteChunks({ db }: ReportWorkDeps, partnerId: string, id: string, kept: number | null): Promise<void> {
  while ((await store.deleteChunks(db, partnerId, id, kept, chunksPerDeleteMax)) === chunksPerDeleteMax);
}

async function deleteExpired(deps: ReportWorkDeps, partnerId: string, id: string): Promise<void> {
  const { db, clock } = deps
  // From now on, workers cannot add parts, and requests cannot read them.
  await store.markDeleted(db, partnerId, id, clock.now())
  await deleteChunks(deps, partnerId, id, null)
  await db.transaction(async (tx) => {
    await store.deleteLinks(tx, partnerId, id)
    await store.deleteReport(tx, partnerId, id)
  })
}

/** Creates the report of the latest ended period. After a long stop, each step creates the report of one missed period. */
async function runSchedule({ db, clock, keptDays }: ReportWorkDeps, partnerId: string, id: string): Promise<void> {
  const now = clock.now()
  await db.transaction(async (tx) => {
    const schedule = await store.lockDueSchedule(tx, partnerId, id, now)
    if (schedule === undefined) return
    const { kind, format, currency, customerId, frequency, timeZone, nextAt } = schedule
    await store.lockTurn(tx, partnerId)
    const period = periodBefore(frequency, timeZone, nextAt)
    const expiresAt = after(now, keptDays * dayMs)
    const spec = { kind, format, currency, customerId, scheduleId: id, period }
    await store.insertReport(tx, { ...spec, partnerId, id: newId(), createdAt: now, expiresAt })
    await store.setScheduleNextAt(tx, partnerId, id, nextPeriodEnd(frequency, timeZone, nextAt))
  })
}
