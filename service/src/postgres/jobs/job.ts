/** Declares background jobs: what a job does, when its work is due, and how its age is measured. */
import type { Sql } from '../index.ts'
import { dayMs, type Log, minuteMs, nilId } from '../../kernel/index.ts'

export type Job = {
  /** Name in logs and metrics, such as `payouts.orders` or `settlement.instructions.sandbox`. */
  readonly name: string
  /**
   * Claims due work, performs it, and returns the number of items. 0: no work is left that this process can claim now.
   * A claim is a lease on the rows, which are due again when the lease ends.
   */
  readonly run: () => Promise<number>
  /**
   * Reads the earliest time later than `after` at which work is due: at most one row, one column `due_at`, by an index.
   * The job runs at that time, and after each commit that inserts or updates rows of a table that this statement reads.
   */
  readonly due?: (after: Date) => Sql
  /** Other tables in which new or changed rows make work due. */
  readonly wokenBy?: readonly string[]
  /** The interval of runs that are not triggered by rows, such as polling a bank or deleting old rows. */
  readonly everyMs?: number | (() => number)
  /**
   * The time without a wake-up after which `everyMs` is at least a minute, for work that only commits cause. It is
   * longer than the time for which a run may not yet see an earlier commit.
   */
  readonly quietAfterMs?: number
  /**
   * The shortest rest after a run without work, for work that need not follow a commit at once. Default: 5 to 100 ms.
   */
  readonly restMs?: number
  /** Concurrent runs in one process. Default: 1. */
  readonly workers?: number
  /**
   * Called once before the first run, with a function that wakes the job, for work that is in the memory of this
   * process.
   */
  readonly connect?: (wake: () => void) => void
  /** Completes the work that runs have started and not awaited. Called once, after the last run. */
  readonly drain?: () => Promise<void>
  /**
   * Ends the leases that processes held on a partner's rows when they were killed. Called only at the start of a
   * database's single process.
   */
  readonly releaseLeases?: (partnerId: string) => Promise<void>
  /** Publishes the age of the oldest due work as a metric. */
  readonly age?: QueueAge
}

type QueueAge = {
  /** The label of the metric. */
  readonly queue: string
  readonly connector?: string
  /**
   * Returns the time at which the oldest due work became due. Null: no work is due. Default: read by the statement of
   * `due`.
   */
  readonly since?: (now: Date) => Promise<Date | null>
}

export const defineJob = (job: Job): Job => job

// Logs the failures of a job and their end. Logs a repeated failure again after a minute, and then at intervals that double
// up to a day. The metric counts every failure and has an alert.

export type FailureLog = { readonly succeeded: () => void; readonly failed: (error: unknown) => void }

/** `observe`: receives the number of consecutive failures with the same error; 0 after a success. */
export function createFailureLog(job: string, log: Log, observe?: (inARow: number) => void): FailureLog {
  let last: { readonly text: string; loggedMs: number; waitMs: number; inARow: number } | undefined
  return {
    succeeded: () => {
      if (last === undefined) return
      log.info({ job, failures: last.inARow }, 'job recovered')
      last = undefined
      observe?.(0)
    },
    failed: (error) => {
      const text = String(error)
      const nowMs = performance.now()
      if (last?.text === text) {
        last.inARow += 1
        observe?.(last.inARow)
        if (nowMs - last.loggedMs < last.waitMs) return
        last.loggedMs = nowMs
        last.waitMs = Math.min(2 * last.waitMs, dayMs)
      } else {
        last = { text, loggedMs: nowMs, waitMs: minuteMs, inARow: 1 }
        observe?.(1)
      }
      log.error({ err: error, job, failures: last.inARow }, 'job failed')
    },
  }
}

// Partners take turns, so that a busy partner does not use every step.

/**
 * Creates a step of a job in which partners take turns. `next` finds the first partner with work after an id, and
 * `work` does a part of it. The step returns the result of `work`, or 0 if no partner has work.
 */
export function createPartnerTurns(
  next: (afterId: string) => Promise<string | undefined>,
  work: (partnerId: string) => Promise<number>,
): () => Promise<number> {
  let last = nilId
  return async () => {
    const partnerId = (await next(last)) ?? (last === nilId ? undefined : await next(nilId))
    last = partnerId ?? nilId
    return partnerId === undefined ? 0 : work(partnerId)
  }
}
