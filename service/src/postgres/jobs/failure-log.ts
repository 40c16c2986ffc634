/**
 * Logs the failures of a job, and their end. A failure that repeats is logged again after a minute, and then at intervals that
 * double up to a day: its number is in the metric, which has an alert.
 */
import { dayMs, type Log, minuteMs } from '../../kernel/index.ts'

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
