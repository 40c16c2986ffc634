/** The end of an attempt: what it means is learnt, recorded, and forgotten. */
import { after, type Clock, Unreachable } from '../../kernel/index.ts'
import { sameHealth } from './health.ts'
import { judgeAttempt } from './attempt-outcome.ts'
import type { Claim, Lane, UnderWay } from './endpoint-queue.ts'
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

type Hands = {
  readonly workerId: string
  readonly lanes: ReadonlyMap<string, Lane>
  readonly underWay: Map<Claim, UnderWay & { readonly lane: Lane }>
  readonly slots: Slots
  readonly reading: Pick<Reading, 'unblock'>
  readonly pause: (ms: number) => Promise<void>
  /** A place is free; in the lane, where that is still held, something may begin. */
  readonly freed: (lane: Lane | undefined) => void
}

export function createSettling(deps: Deps, { workerId, lanes, underWay, slots, reading, pause, freed }: Hands) {
  const { record, clock, limits, retryDelaysMs } = deps

  /** Undefined where the lane was lost meanwhile; it may have been claimed again, and know nothing of this attempt. */
  const attemptOf = (claimed: Claim) => {
    const under = underWay.get(claimed)
    return under && lanes.get(claimed.subscriptionId) === under.lane ? under : undefined
  }

  /** What the attempt means, for its delivery and for its lane, whose memory learns it at once. */
  const judge = (claimed: Claim, result: AttemptResult): Recording => {
    const under = attemptOf(claimed)
    const before = under && { ...under, health: under.lane.health, window: under.lane.window }
    const { health, ...judged } = judgeAttempt(before, result, { now: clock.now(), limits, retryDelaysMs })
    if (under) under.lane.health = health
    const { partnerId, subscriptionId, deliveryId: eventId, attemptCount } = claimed
    const { url } = claimed.target
    const taught = before && !sameHealth(before.health, health) ? health : undefined
    return { partnerId, subscriptionId, eventId, url, attemptCount, workerId, result, health: taught, ...judged }
  }

  const end = (claimed: Claim) => {
    const under = attemptOf(claimed)
    underWay.delete(claimed)
    if (under) memory.end(under.lane, under.owed)
    return under
  }

  const settled = (claimed: Claim, next: Recording['next'], outcome: Verdict | 'stale' | 'unrecorded'): void => {
    const under = end(claimed)
    if (next === undefined) slots.recorded()
    else slots.giveBack(claimed.partnerId)
    if (under) {
      const { lane, owed } = under
      if (outcome === 'unrecorded') {
        // Whatever kept it from being recorded may keep it again: nobody is to be called without end.
        memory.forget(lane, clock.now())
        lane.closing = { closed: false, dueAt: after(clock.now(), troubleRestMs) }
      } else if (outcome === 'stale') {
        // Somebody else has had it, or has the lane: the lease is asked for at once, and the rows are read again.
        lane.leaseUntil = memory.doubtful
        memory.forget(lane, clock.now())
      } else if (next === undefined) {
        if (lane.target.ordered) reading.unblock(lane, owed.reference)
      } else if (next.dueAt !== null && (lane.dueAt === null || next.dueAt < lane.dueAt)) lane.dueAt = next.dueAt
    }
    freed(under?.lane)
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
      if (under) memory.forget(under.lane, clock.now())
    },
  }
}
