/** A worker's loop: work until there is none, rest, look again. Polling is the truth; `wake` only shortens the rest. */
import type { Log } from './log.ts'

export type Loop = {
  /** Ends the rest early: there may be work. */
  readonly wake: () => void
  /** Resolves when the step under way has ended; no further one begins. */
  readonly stop: () => Promise<void>
}

/** Rest after a failed step: long enough not to spin on a database that is away, short enough to be back at once. */
const failureRestMs = 1000

/** `step` answers how many things it did; 0 means rest for `idleMs`. A step that throws is logged and tried again. */
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
      let did = 0
      let restMs = idleMs
      try {
        did = await step()
      } catch (error) {
        log.error({ err: error, loop: name }, 'loop step failed')
        restMs = failureRestMs
      }
      if (did === 0 && !stopping) await rest(restMs)
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
