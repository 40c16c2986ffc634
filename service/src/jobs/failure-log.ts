/** Logs a failure that repeats at each run once a minute, and its end. */
import type { Log } from '../kernel/index.ts'

const repeatedLogMs = 60_000

export function createFailureLog(job: string, log: Log) {
  let last: { readonly text: string; readonly loggedMs: number } | undefined
  return {
    succeeded: (): void => {
      if (last) log.info({ job }, 'job succeeds again')
      last = undefined
    },
    failed: (error: unknown): void => {
      const text = String(error)
      const nowMs = performance.now()
      if (last?.text === text && nowMs - last.loggedMs < repeatedLogMs) return
      log.error({ err: error, job }, 'job failed')
      last = { text, loggedMs: nowMs }
    },
  }
}
