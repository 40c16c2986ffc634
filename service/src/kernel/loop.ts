/** A worker's loop: works until there is no work, rests, and polls again. `wake` only shortens the rest. */
import type { Log } from './log.ts'

export type Loop = {
  /** Ends the rest early, because there may be work. */
  readonly wake: () => void
  /** Resolves when the current step has ended. No further step begins. */
  readonly stop: () => Promise<void>
}

/** Rest after a failed step: does not spin while the database is down, and resumes soon after it is back. */
const failureRestMs = 1000

/** A failure that repeats at each step is logged once in this time. */
const repeatedLogMs = 60_000

/** `step` returns how many items it processed; 0 starts a rest of `idleMs`. A step that throws is logged and retried. */
export function startLoop(options: {
  readonly name: string
  readonly idleMs: number
  readonly step: () => Promise<number>
  readonly log: Log
}): Loop {
  const { name, idleMs, step, log } = options
  let stopping = false
  let wakeUp: (() => void) | undefined
  let woken = false
  const logFailure = createFailureLog(name, log)

  const rest = (ms: number) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(done, ms)
      function done() {
        clearTimeout(timer)
        wakeUp = undefined
        woken = false
        resolve()
      }
      wakeUp = done
      if (woken || stopping) done()
    })

  const run = async () => {
    while (!stopping) {
      let processed = 0
      let restMs = idleMs
      try {
        processed = await step()
        logFailure.succeeded()
      } catch (error) {
        logFailure.failed(error)
        restMs = failureRestMs
      }
      if (processed === 0 && !stopping) await rest(restMs)
    }
  }
  const ended = run()

  const wake = () => {
    woken = true
    wakeUp?.()
  }
  return {
    wake,
    stop: async () => {
      stopping = true
      wake()
      await ended
    },
  }
}

/** During an outage every step fails alike: one line tells that, and one more tells that it is over. */
function createFailureLog(name: string, log: Log) {
  let last: { readonly text: string; readonly loggedMs: number } | undefined
  return {
    succeeded: () => {
      if (last) log.info({ loop: name }, 'loop step succeeds again')
      last = undefined
    },
    failed: (error: unknown) => {
      const text = String(error)
      const nowMs = performance.now()
      if (last?.text === text && nowMs - last.loggedMs < repeatedLogMs) return
      log.error({ err: error, loop: name }, 'loop step failed')
      last = { text, loggedMs: nowMs }
    },
  }
}
