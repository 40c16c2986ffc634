/** The end of an attempt: evaluate its result, record it, and update the endpoint queue in memory. */
import { Unreachable } from '../../kernel/api/index.ts'
import { after, type Clock, randomFraction } from '../../kernel/index.ts'
import type { Attempts } from './attempts.ts'
import type { Attempt, QueuedDelivery } from './attempt.ts'
import type { EndpointQueue } from './endpoint-queue.ts'
import * as memory from './endpoint-queue.ts'
import { createWindow, type FailingAlert, type Health, healthy, nextHealth, sameHealth, type Window } from './health.ts'
import { type Limits, troubleRestMs } from '../limits.ts'
import type { AttemptToRecord } from './result-batches.ts'
import { type AttemptResult, type Next, nextAfterFailure, retryAfterMs, type Verdict, verdictOf } from './schedule.ts'
import type { Slots } from './slots.ts'

/** Together about six seconds, well within a lease. */
const retryWaitMsMin = 100
const retryWaitMsMax = 3200

type RecordAttempt = (attempt: AttemptToRecord) => Promise<Verdict | 'stale'>

export type ResultRecordingDeps = {
  readonly record: RecordAttempt
  readonly clock: Clock
  readonly limits: Limits
  readonly retryDelaysMs: readonly number[]
  readonly pause: (ms: number) => Promise<void>
  readonly workerId: string
  readonly attempts: Attempts
  readonly slots: Slots
  /** Called when a slot is free. The endpoint queue may be able to start an attempt; undefined if it was lost. */
  readonly onSlotFree: (endpointQueue: EndpointQueue | undefined) => void
}

export function createResultRecording(deps: ResultRecordingDeps) {
  const { record, clock, limits, retryDelaysMs, pause, workerId, attempts, slots, onSlotFree } = deps

  /** The health in memory changes at once, so that the next attempt starts by it. */
  const evaluate = (attempt: Attempt, result: AttemptResult): AttemptToRecord => {
    const started = attempts.find(attempt)
    const queue = started?.endpointQueue
    const before = started && queue && { ...started, health: queue.health, window: queue.window }
    const { health, ...outcome } = evaluateAttempt(before, result, { now: clock.now(), limits, retryDelaysMs })
    if (queue) memory.setHealth(queue, health)
    const { partnerId, subscriptionId, deliveryId: eventId, attemptCount, target } = attempt
    const changedHealth = before && !sameHealth(before.health, health) ? health : undefined
    return {
      partnerId,
      subscriptionId,
      eventId,
      url: target.url,
      attemptCount,
      workerId,
      result,
      health: changedHealth,
      ...outcome,
    }
  }

  const end = (attempt: Attempt, { next }: AttemptToRecord, outcome: Recorded): void => {
    const ended = attempts.end(attempt)
    if (next === undefined) slots.endRecording()
    else slots.release(attempt.partnerId)
    if (ended) updateQueue(ended.endpointQueue, ended.delivery, next, outcome, clock.now())
    onSlotFree(ended?.endpointQueue)
  }

  return {
    /**
     * Records the result. The attempt counts as in flight at its endpoint until then. `stale`: the result changed nothing.
     * Throws the error that kept it from being recorded.
     */
    recordResult: async (attempt: Attempt, result: AttemptResult): Promise<Verdict | 'stale'> => {
      const toRecord = evaluate(attempt, result)
      let outcome: Recorded = 'unrecorded'
      if (toRecord.next === undefined) {
        // The slot in the process is free for other endpoints while the result is recorded.
        slots.beginRecording(attempt.partnerId)
        onSlotFree(undefined)
      }
      try {
        outcome = await recordWithRetries(record, toRecord, pause)
        return outcome
      } finally {
        end(attempt, toRecord, outcome)
      }
    },

    /** The attempt was not made, or the worker does not wait for its result. The delivery is due at once. */
    returnToQueue: (attempt: Attempt): void => {
      const ended = attempts.end(attempt)
      slots.release(attempt.partnerId)
      if (ended) memory.discardRows(ended.endpointQueue, clock.now())
    },
  }
}

type Recorded = Verdict | 'stale' | 'unrecorded'

function updateQueue(
  queue: EndpointQueue,
  { reference }: QueuedDelivery,
  next: AttemptToRecord['next'],
  outcome: Recorded,
  now: Date,
): void {
  // The same error may come again. The rest keeps the endpoint from being called endlessly.
  if (outcome === 'unrecorded') memory.close(queue, { closed: false, dueAt: after(now, troubleRestMs) }, now)
  else if (outcome === 'stale') memory.doubtLease(queue, now)
  else if (next !== undefined) memory.scheduleRead(queue, next.dueAt)
  else if (queue.target.ordered) memory.unblockReference(queue, reference)
}

/** Retries while the database is unreachable. If a commit succeeded and its answer was lost, the retry finds it: `stale`. */
async function recordWithRetries(
  record: RecordAttempt,
  attempt: AttemptToRecord,
  pause: (ms: number) => Promise<void>,
): Promise<Verdict | 'stale'> {
  for (let waitMs = retryWaitMsMin; ; waitMs *= 2) {
    try {
      return await record(attempt)
    } catch (error) {
      if (!(error instanceof Unreachable) || waitMs > retryWaitMsMax) throw error
      await pause(waitMs)
    }
  }
}

// Applies the result of an attempt to its delivery, by the retry schedule, and to its endpoint queue, by its health.

/** State that the worker holds in memory. Undefined if it has lost the endpoint queue since the attempt began. */
type AttemptContext =
  | {
      readonly health: Health
      readonly window: Window
      readonly isProbe: boolean
      readonly delivery: { readonly failures: number }
    }
  | undefined

type AttemptOutcome = {
  readonly verdict: Verdict
  /** Undefined: delivered. */
  readonly next: Next | undefined
  readonly health: Health
  readonly disable: 'Gone' | 'Failing' | undefined
  readonly alert: FailingAlert | undefined
}

type Rules = { readonly now: Date; readonly limits: Limits; readonly retryDelaysMs: readonly number[] }

function evaluateAttempt(
  context: AttemptContext,
  result: AttemptResult,
  { now, limits, retryDelaysMs }: Rules,
): AttemptOutcome {
  const restMs = retryAfterMs(result.retryAfter, now, limits.retryAfterMsMax)
  const verdict = verdictOf(result, restMs)
  const fraction = randomFraction()
  const { health, countsAsFailure, disable, alert } = nextHealth(
    context?.health ?? healthy,
    context?.window ?? createWindow(),
    { verdict, restMs, now, fraction, isProbe: context?.isProbe ?? false },
    limits,
  )
  const failures = context?.delivery.failures ?? 0
  const { pausedUntil } = health
  const next =
    verdict === 'delivered'
      ? undefined
      : countsAsFailure
        ? nextAfterFailure(failures, now, fraction, retryDelaysMs)
        : ({
            status: 'Pending',
            failures,
            dueAt: pausedUntil !== null && pausedUntil > now ? pausedUntil : now,
          } as const)
  return { verdict, next, health, disable, alert }
}
