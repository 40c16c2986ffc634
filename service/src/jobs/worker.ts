/** The clockwork of one worker of a job: run until nothing is left, rest until the next work is due, run again. */
import type { Log } from '../kernel/index.ts'
import { createFailureLog } from './failure-log.ts'
import type { Job } from './job.ts'

export type Worker = {
  /** There may be work now. A run that is under way is followed by another one. */
  readonly wake: () => void
  /** The next work is due after so many milliseconds; 0: it is due, and other processes may have it. */
  readonly dueIn: (ms: number) => void
  /** Resolves when the current run has ended. No further run begins. */
  readonly stop: () => Promise<void>
}

type WorkerOptions = {
  readonly job: Pick<Job, 'name' | 'run' | 'everyMs' | 'restMs'>
  readonly log: Log
  /** Called after a run that has found nothing. It answers by `dueIn`. */
  readonly look: (worker: Worker) => void
  readonly random: () => number
}

/** Rests between runs that find nothing although the job was woken, or although work is due: 5, 10, 20 ... 100 ms. */
const firstVainRestMs = 5
const vainRestMsMax = 100
/** After such a rest the job is as good as new. */
const calmMs = 1_000
/** Rests after runs that fail: 0.5, 1, 2, 4, 5 s, each shortened by up to a quarter so that processes spread. */
const firstFailureRestMs = 500
const failureRestMsMax = 5_000
const jitter = 0.25

const doubled = (first: number, times: number, max: number) => Math.min(max, first * 2 ** Math.min(times, 20))

export function startWorker({ job, log, look, random }: WorkerOptions): Worker {
  const failureLog = createFailureLog(job.name, log)
  const rest = createRest()
  let stopping = false
  let vain = 0
  let failures = 0
  let lastVainAt = -Infinity

  const runOnce = async (woken: boolean): Promise<'done' | 'nothing' | 'failed'> => {
    try {
      const processed = await job.run({ woken })
      failureLog.succeeded()
      failures = 0
      return processed > 0 ? 'done' : 'nothing'
    } catch (error) {
      failureLog.failed(error)
      return 'failed'
    }
  }

  const restAfter = (outcome: 'nothing' | 'failed') => {
    const now = performance.now()
    if (outcome === 'failed') {
      const failureRestMs = doubled(firstFailureRestMs, failures, failureRestMsMax) * (1 - jitter * random())
      failures += 1
      return rest.begin({ wakeAfter: now + vainRestMsMax, until: now + failureRestMs })
    }
    if (now - lastVainAt > calmMs) vain = 0
    lastVainAt = now
    const everyMs = typeof job.everyMs === 'function' ? job.everyMs() : (job.everyMs ?? Infinity)
    const resting = rest.begin({
      wakeAfter: now + (job.restMs ?? doubled(firstVainRestMs, vain, vainRestMsMax)),
      until: now + everyMs,
    })
    vain += 1
    look(worker)
    return resting
  }

  const work = async () => {
    while (!stopping) {
      const outcome = await runOnce(rest.takeWakeUp())
      if (outcome === 'done') vain = 0
      else if (!stopping) await restAfter(outcome)
    }
  }

  const worker: Worker = {
    wake: rest.wake,
    dueIn: rest.dueIn,
    stop: async () => {
      stopping = true
      rest.end()
      await ended
    },
  }
  const ended = work()
  return worker
}

type RestLimits = {
  /** The `performance.now()` before which a wake-up does not end the rest. */
  readonly wakeAfter: number
  /** The `performance.now()` at which it ends without a wake-up. */
  readonly until: number
}

/** A rest that a wake-up and the next due time shorten. */
function createRest() {
  let woken = false
  let limits: RestLimits | undefined
  let timer: NodeJS.Timeout | undefined
  let resolve: (() => void) | undefined

  const end = () => {
    clearTimeout(timer)
    limits = undefined
    resolve?.()
    resolve = undefined
  }
  const schedule = () => {
    if (limits === undefined) return
    const { wakeAfter, until } = limits
    const ms = Math.ceil((woken ? Math.min(wakeAfter, until) : until) - performance.now())
    clearTimeout(timer)
    if (ms <= 0) end()
    else if (ms < Infinity) timer = setTimeout(end, Math.min(ms, timerMsMax))
  }
  return {
    begin: (given: RestLimits): Promise<void> =>
      new Promise((done) => {
        limits = given
        resolve = done
        schedule()
      }),
    /** Whether there was a wake-up. The run that follows finds its work. */
    takeWakeUp: (): boolean => {
      const taken = woken
      woken = false
      return taken
    },
    wake: () => {
      woken = true
      schedule()
    },
    dueIn: (ms: number) => {
      if (limits === undefined) return
      if (ms <= 0) woken = true
      else limits = { ...limits, until: Math.min(limits.until, performance.now() + ms) }
      schedule()
    },
    end,
  }
}

/** A longer timer of Node ends at once. */
const timerMsMax = 2 ** 31 - 1
