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
      } catch (error) {
        log.error({ err: error, loop: name }, 'loop step failed')
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
