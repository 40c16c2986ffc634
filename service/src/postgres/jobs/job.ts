/** The declaration of a background job: what it does, when its work is due, and how its age is measured. */
import type { Sql } from '../index.ts'
import { dayMs, type Log, minuteMs, nilId } from '../../kernel/index.ts'

export type Job = {
  /** `payouts.orders`, `settlement.instructions.sandbox`: the name in logs and metrics. */
  readonly name: string
  /**
   * Claims work that is due, does it, and returns how much it did. 0: nothing is left that this process can take now. A claim is a
   * lease on the rows: they are due again when it ends.
   */
  readonly run: () => Promise<number>
  /**
   * Reads the earliest time later than `after` at which work is due: at most one row, one column `due_at`, by an index.
   * The job runs at that time, and after each commit that inserts or updates rows of a table that this statement reads.
   */
  readonly due?: (after: Date) => Sql
  /** Further tables whose rows make work due. */
  readonly wokenBy?: readonly string[]
  /** The interval of runs that no row of this database triggers, such as polling a bank or deleting old rows. */
  readonly everyMs?: number | (() => number)
  /**
   * The time without a wake-up after which `everyMs` is at least a minute, for work that only commits cause and wake. It covers
   * the time for which a run cannot be certain of what was committed before.
   */
  readonly quietAfterMs?: number
  /** The shortest rest after a run that finds nothing, for work that need not follow a commit at once. Default: 5 to 100 ms. */
  readonly restMs?: number
  /** How many runs may be under way at once in one process. Default: 1. */
  readonly workers?: number
  /**
   * Called once, before the first run, with the function that wakes the job: for work that is only in the memory of
   * this process.
   */
  readonly connect?: (wake: () => void) => void
  /** Ends the work that runs began and did not await. Called once, after the last run. */
  readonly drain?: () => Promise<void>
  /** Ends the leases of dead processes on the rows of a partner. Only at the start of the only process of a database. */
  readonly releaseLeases?: (partnerId: string) => Promise<void>
  /** The metric of how long the oldest due work waits. */
  readonly age?: Age
}

export type Age = {
  /** The label of the metric. */
  readonly queue: string
  readonly connector?: string
  /** The time since which it waits; null: nothing is due. Default: since `due`. */
  readonly since?: (now: Date) => Promise<Date | null>
}

export const defineJob = (job: Job): Job => job

// Logs the failures of a job, and their end. A failure that repeats is logged again after a minute, and then at intervals that
// double up to a day: its number is in the metric, which has an alert.

export type FailureLog = { readonly succeeded: () => void; readonly failed: (error: unknown) => void }

/** `observe`: how often the job has failed in a row in the same way; 0 after a success. */
export function createFailureLog(job: string, log: Log, observe?: (inARow: number) => void): FailureLog {
  let last: { readonly text: string; loggedMs: number; waitMs: number; inARow: number } | undefined
  return {
    succeeded: () => {
      if (last === undefined) return
      log.info({ job, failures: last.inARow }, 'job succeeds again')
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

// Takes partners in turn, so that the first busy one does not take every step.

/**
 * Makes a step of a job: `next` finds the first partner after an id that has work, and `work` does a part of it. The step returns what `work`
 * returned, or 0 if no partner has work.
 */
export function createTurns(
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
