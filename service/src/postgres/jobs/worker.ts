/** A worker of a job: runs the job until no work is left, and rests until work is due or a commit wakes it. */
import { type Clock, minuteMs } from '../../kernel/index.ts'
import type { FailureLog, Job } from './job.ts'

export type Worker = {
  /** Wakes the worker, because there may be work. */
  readonly wake: () => void
  /** Wakes the worker after this time, when work is due. */
  readonly dueIn: (ms: number) => void
  /** Starts no further run. Resolves when the current run has ended. */
  readonly stop: () => Promise<void>
}

type WorkerOptions = {
  readonly job: Pick<Job, 'name' | 'run' | 'everyMs' | 'quietAfterMs' | 'restMs'>
  readonly clock: Clock
  /** Shared by the workers of the job. */
  readonly failures: FailureLog
  /**
   * Called after a run without work. Calls `dueIn` with the time at which work becomes due after `began`, the start of
   * the run. Work that was due earlier is left to the poll, because this run could not claim it.
   */
  readonly look: (worker: Worker, began: Date) => void
  readonly random: () => number
  /** The interval of a job without a wake-up for `quietAfterMs`. Such runs find work whose wake-up was lost. */
  readonly quietEveryMs?: number | undefined
}

/** Rests after runs that were woken but found no work: at least 5, 10, 20 ... 100 ms. */
const firstVainRestMs = 5
const vainRestMsMax = 100
/** Time without such a run, after which the rests begin with the shortest again. */
const calmMs = 1_000
/**
 * Rests after runs without work if a commit woke the job during the run: 5, 10, 20 ms ... 5 s. The commit may be the
 * run's own. Without these rests a job that is woken by its own writes would run endlessly.
 */
const echoRestMsMax = 5_000
/**
 * Rests after runs that fail: 0.5 s, then 1 s, each shortened by up to a quarter so that processes do not retry
 * together. Work resumes soon after an outage.
 */
const firstFailureRestMs = 500
const failureRestMsMax = 1_000
const jitter = 0.25

const doubled = (first: number, times: number, max: number) => Math.min(max, first * 2 ** Math.min(times, 20))

function intervalOf(
  { everyMs = Infinity, quietAfterMs = Infinity }: WorkerOptions['job'],
  sinceWokenMs: number,
  quietEveryMs: number,
): number {
  const ms = typeof everyMs === 'function' ? everyMs() : everyMs
  return sinceWokenMs < quietAfterMs ? ms : Math.max(ms, quietEveryMs)
}

export function startWorker({ job, clock, failures, look, random, quietEveryMs = minuteMs }: WorkerOptions): Worker {
  const rest = createRest()
  let stopping = false
  let vain = 0
  let echoes = 0
  let failed = 0
  let lastVainAt = -Infinity
  let lastWokenAt = performance.now()

  const restAfterFailure = (error: unknown): Promise<void> => {
    failures.failed(error)
    const ms = doubled(firstFailureRestMs, failed, failureRestMsMax) * (1 - jitter * random())
    failed += 1
    return rest.begin({ minMs: ms, maxMs: ms })
  }

  const restAfterNothing = async (began: Date, woken: boolean): Promise<void> => {
    const now = performance.now()
    const wokenMeanwhile = rest.wasWoken()
    if (wokenMeanwhile) lastWokenAt = now
    if (now - lastVainAt > calmMs || !woken) vain = 0
    lastVainAt = now
    const everyMs = intervalOf(job, now - lastWokenAt, quietEveryMs)
    const echoRestMs = wokenMeanwhile ? doubled(firstVainRestMs, echoes, echoRestMsMax) : Infinity
    const vainRestMs = woken ? doubled(firstVainRestMs, vain, vainRestMsMax) : 0
    const minMs = Math.min(everyMs, job.restMs ?? vainRestMs)
    const resting = rest.begin({ minMs, maxMs: Math.max(minMs, Math.min(everyMs, echoRestMs)) })
    vain += 1
    look(worker, began)
    await resting
    echoes = wokenMeanwhile && !rest.wasWoken() ? echoes + 1 : 0
  }

  const runOnce = async (): Promise<void> => {
    const began = clock.now()
    const woken = rest.takeWakeUp()
    if (woken) lastWokenAt = performance.now()
    try {
      const taken = await job.run()
      failures.succeeded()
      failed = 0
      if (taken === 0 && !stopping) return await restAfterNothing(began, woken)
      vain = 0
      echoes = 0
    } catch (error) {
      if (!stopping) await restAfterFailure(error)
    }
  }

  const work = async () => {
    while (!stopping) await runOnce()
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

// A rest that a wake-up or the next due time shortens.

type RestLimits = {
  /** The shortest rest, even after a wake-up. */
  readonly minMs: number
  /** The longest rest, without a wake-up. */
  readonly maxMs: number
}

/** The longest delay of a Node timer. Node fires a timer with a longer delay at once. */
const timerMsMax = 2 ** 31 - 1

function createRest() {
  let woken = false
  let current: { readonly earliest: number; readonly latest: number; readonly done: () => void } | undefined
  let timer: NodeJS.Timeout | undefined

  const end = () => {
    clearTimeout(timer)
    current?.done()
    current = undefined
  }
  const schedule = () => {
    clearTimeout(timer)
    if (current === undefined) return
    const ms = Math.ceil(current.latest - performance.now())
    if (ms <= 0) end()
    // A longer rest needs several timers.
    else if (ms <= timerMsMax) timer = setTimeout(end, ms)
    else if (ms < Infinity) timer = setTimeout(schedule, timerMsMax)
  }
  const endAt = (at: number) => {
    if (current === undefined) return
    const latest = Math.max(current.earliest, at)
    if (latest >= current.latest) return
    current = { ...current, latest }
    schedule()
  }
  return {
    begin: ({ minMs, maxMs }: RestLimits): Promise<void> => {
      woken = false
      const now = performance.now()
      return new Promise((done) => {
        current = { earliest: now + minMs, latest: now + maxMs, done }
        schedule()
      })
    },
    /** Reports whether there was a wake-up since the rest began, or since the last `takeWakeUp`. */
    wasWoken: (): boolean => woken,
    /** Returns `wasWoken` and clears it, because the run that follows finds the work. */
    takeWakeUp: (): boolean => {
      const taken = woken
      woken = false
      return taken
    },
    wake: (): void => {
      woken = true
      endAt(performance.now())
    },
    dueIn: (ms: number): void => endAt(performance.now() + ms),
    end,
  }
}
