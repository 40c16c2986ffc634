/** The end of an attempt: what it means is learnt, recorded, and forgotten. */
import { Unreachable } from '../../api/index.ts'
import { after, type Clock } from '../../kernel/index.ts'
import { sameHealth } from './health.ts'
import { evaluateAttempt } from './attempt-outcome.ts'
import type { Claim, EndpointQueue, UnderWay } from './endpoint-queue.ts'
import * as memory from './endpoint-queue.ts'
import { type Limits, troubleRestMs } from '../limits.ts'
import type { Reading } from './prefetch.ts'
import type { Recording } from './result-batches.ts'
import type { AttemptResult, Verdict } from './schedule.ts'
import type { Slots } from './slots.ts'

/** Together about six seconds, well within a lease. */
const recordWaitMsMin = 100
const recordWaitMsMax = 3200

type Deps = {
  readonly record: (recording: Recording) => Promise<Verdict | 'stale'>
  readonly clock: Clock
  readonly limits: Limits
  readonly retryDelaysMs: readonly number[]
}

type WorkerHarness = {
  readonly workerId: string
  readonly endpointQueues: ReadonlyMap<string, EndpointQueue>
  readonly underWay: Map<Claim, UnderWay & { readonly endpointQueue: EndpointQueue }>
  readonly slots: Slots
  readonly reading: Pick<Reading, 'unblock'>
  readonly pause: (ms: number) => Promise<void>
  /** A place is free; in the endpoint queue, where that is still held, something may begin. */
  readonly freed: (endpointQueue: EndpointQueue | undefined) => void
}

export function createSettling(
  deps: Deps,
  { workerId, endpointQueues, underWay, slots, reading, pause, freed }: WorkerHarness,
) {
  const { record, clock, limits, retryDelaysMs } = deps

  /** Undefined where the endpoint queue was lost meanwhile; it may have been claimed again, and know nothing of this attempt. */
  const attemptOf = (claimed: Claim) => {
    const under = underWay.get(claimed)
    return under && endpointQueues.get(claimed.subscriptionId) === under.endpointQueue ? under : undefined
  }

  /** What the attempt means, for its delivery and for its endpoint queue, whose memory learns it at once. */
  const judge = (claimed: Claim, result: AttemptResult): Recording => {
    const under = attemptOf(claimed)
    const before = under && { ...under, health: under.endpointQueue.health, window: under.endpointQueue.window }
    const { health, ...judged } = evaluateAttempt(before, result, { now: clock.now(), limits, retryDelaysMs })
    if (under) under.endpointQueue.health = health
    const { partnerId, subscriptionId, deliveryId: eventId, attemptCount } = claimed
    const { url } = claimed.target
    const taught = before && !sameHealth(before.health, health) ? health : undefined
    return { partnerId, subscriptionId, eventId, url, attemptCount, workerId, result, health: taught, ...judged }
  }

  const end = (claimed: Claim) => {
    const under = attemptOf(claimed)
    underWay.delete(claimed)
    if (under) memory.end(under.endpointQueue, under.owed)
    return under
  }

  const settled = (claimed: Claim, next: Recording['next'], outcome: Verdict | 'stale' | 'unrecorded'): void => {
    const under = end(claimed)
    if (next === undefined) slots.recorded()
    else slots.giveBack(claimed.partnerId)
    if (under) {
      const { endpointQueue, owed } = under
      if (outcome === 'unrecorded') {
        // Whatever kept it from being recorded may keep it again: nobody is to be called without end.
        memory.forget(endpointQueue, clock.now())
        endpointQueue.closing = { closed: false, dueAt: after(clock.now(), troubleRestMs) }
      } else if (outcome === 'stale') {
        // Somebody else has had it, or has the endpoint queue: the lease is asked for at once, and the rows are read again.
        endpointQueue.leaseUntil = memory.doubtful
        memory.forget(endpointQueue, clock.now())
      } else if (next === undefined) {
        if (endpointQueue.target.ordered) reading.unblock(endpointQueue, owed.reference)
      } else if (next.dueAt !== null && (endpointQueue.dueAt === null || next.dueAt < endpointQueue.dueAt))
        endpointQueue.dueAt = next.dueAt
    }
    freed(under?.endpointQueue)
  }

  /** While the database is away what is known is kept. A commit whose answer was lost is found done: `stale`. */
  const recordSurely = async (recording: Recording): Promise<Verdict | 'stale'> => {
    for (let waitMs = recordWaitMsMin; ; waitMs *= 2) {
      try {
        return await record(recording)
      } catch (error) {
        if (!(error instanceof Unreachable) || waitMs > recordWaitMsMax) throw error
        await pause(waitMs)
      }
    }
  }

  return {
    /**
     * Records the attempt; its place at the endpoint is kept until then. `stale`: it changed nothing. Throws what kept it
     * from being recorded.
     */
    settle: async (claimed: Claim, result: AttemptResult): Promise<Verdict | 'stale'> => {
      const recording = judge(claimed, result)
      let outcome: Verdict | 'stale' | 'unrecorded' = 'unrecorded'
      if (recording.next === undefined) {
        // Another endpoint may have its place in the process while it is recorded; this one's is kept.
        slots.deliver(claimed.partnerId)
        freed(undefined)
      }
      try {
        outcome = await recordSurely(recording)
        return outcome
      } finally {
        settled(claimed, recording.next, outcome)
      }
    },

    /** The attempt was not made, or its answer is not waited for. It is due at once. */
    giveBack: (claimed: Claim): void => {
      const under = end(claimed)
      slots.giveBack(claimed.partnerId)
      if (under) memory.forget(under.endpointQueue, clock.now())
    },
  }
}
