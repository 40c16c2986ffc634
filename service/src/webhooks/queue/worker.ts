/**
 * A queue worker: it holds endpoint queues, keeps their next rows in memory, and starts attempts. Only the holder of an
 * endpoint queue works on its rows, so no attempt needs a claim of its own. README.md explains the design.
 */
import { after, type Clock, type Log, newId, randomFraction } from '../../kernel/index.ts'
import type { EventOutbox } from '../../events/index.ts'
import type { Database } from '../../postgres/index.ts'
import {
  type Attempt,
  createHeldQueues,
  type EndpointQueue,
  type HeldQueues,
  type NewDeliveries,
  type QueuedDelivery,
  type StartedAttempt,
} from './endpoint-queue.ts'
import * as memory from './endpoint-queue.ts'
import { createLeases, createReleases, type Leases, type Releases } from './leases.ts'
import { type Limits, troubleRestMs } from '../limits.ts'
import { createPrefetch, type Prefetch } from './prefetch.ts'
import type { AttemptToRecord } from './result-batches.ts'
import { type AttemptResult, type Next, nextAfterFailure, retryAfterMs, type Verdict, verdictOf } from './schedule.ts'
import type { Secrets } from '../management/secrets.ts'
import { createPerReachableShard, createPerShard } from './shards.ts'
import { Unreachable } from '../../kernel/api/index.ts'
import { createWindow, type FailingAlert, type Health, healthy, nextHealth, sameHealth, type Window } from './health.ts'

export type QueueWorkerDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  readonly eventOutbox: EventOutbox
  readonly secrets: Pick<Secrets, 'signingKeys'>
  readonly record: (attempt: AttemptToRecord) => Promise<Verdict | 'stale'>
  readonly limits: Limits
  readonly retryDelaysMs: readonly number[]
}

export type QueueWorkerOptions = {
  /** Makes the attempt, and calls `recordResult` or `returnToQueue` at its end. */
  readonly begin: (attempt: Attempt) => void
  /** Called when `step` has work to do. */
  readonly wake: () => void
  readonly pause: (ms: number) => Promise<void>
  readonly inFlightMax?: number | undefined
  /** The interval at which due endpoint queues are looked for, and held ones are renewed and released. */
  readonly idleMs: number
}

/** Rows from fan-out that a worker keeps in memory. Further ones are read when their endpoint queue needs them. */
const rowsFromFanOutMax = 20_000

export function createQueueWorker(deps: QueueWorkerDeps, options: QueueWorkerOptions) {
  const { clock, limits } = deps
  const { begin, wake, pause, idleMs } = options
  const workerId = newId()
  const held = createHeldQueues()
  const slots = createSlots(options.inFlightMax ?? limits.inFlightMax)
  const shared = { ...deps, workerId, held, slots, perShard: createPerShard(deps) }
  const reachable = { ...shared, perShard: createPerReachableShard(deps) }
  const leases = createLeases(reachable)
  const releases = createReleases(reachable)
  const attempts = createAttempts({ ...shared, begin, wake })
  const prefetch = createPrefetch({ ...shared, releases })
  /** Subscriptions with new deliveries whose endpoint queues this worker does not hold. */
  const toClaim = new Map<string, NewDeliveries>()
  const { step, maintainSoon } = createStep({ idleMs, toClaim, leases, releases, prefetch, attempts })

  const onSlotFree = (queue: EndpointQueue | undefined) => {
    if (queue !== undefined) {
      held.startable.add(queue)
      if (queue.unblockedReferences.size > 0) held.toRead.add(queue)
      if (memory.isLeaseUncertain(queue)) {
        maintainSoon()
        wake()
      }
    }
    attempts.startSoon()
  }

  return {
    workerId,
    /** Attempts in flight. */
    inFlight: slots.taken,

    /** Takes deliveries that fan-out has just committed. They start at once where no read is needed first. */
    addNewDeliveries: (added: readonly NewDeliveries[]): void => {
      for (const unheld of addToHeld(added, { clock, limits, held })) toClaim.set(unheld.subscriptionId, unheld)
      attempts.start()
      wake()
    },

    step,

    /** Reports whether it holds endpoint queues, or will soon: then it must run every `idleMs`. */
    isHolding: (): boolean => held.size() > 0 || toClaim.size > 0,

    ...createResultRecording({ ...shared, attempts, pause, onSlotFree }),

    /** Starts no further attempts. */
    stop: attempts.stop,
    /** Releases every endpoint queue. */
    close: async (): Promise<void> => {
      attempts.stop()
      await releases.release([...held.all()])
    },
  }
}

type StepParts = {
  readonly idleMs: number
  readonly toClaim: Map<string, NewDeliveries>
  readonly leases: Leases
  readonly releases: Releases
  readonly prefetch: Prefetch
  readonly attempts: Attempts
}

function createStep({ idleMs, toClaim, leases, releases, prefetch, attempts }: StepParts) {
  let maintainedAtMs = -Infinity

  const read = async (): Promise<number> => {
    const rows = await prefetch()
    attempts.start()
    return rows
  }

  /** Renews leases, claims what is due, releases what is idle. Returns how many endpoint queues it claimed. */
  const maintain = async (): Promise<number> => {
    await leases.renew()
    const claimed = await leases.claimDue()
    await releases.releaseIdle()
    maintainedAtMs = performance.now()
    return claimed
  }

  return {
    /** Claims and reads, and maintains the leases when it is time. Returns how much there was to do. */
    step: async (): Promise<number> => {
      const announced = [...toClaim.values()]
      toClaim.clear()
      // Before the maintenance, because these deliveries are new and due.
      let done = (await leases.claim(announced)) + (await read())
      if (performance.now() - maintainedAtMs >= idleMs) done += (await maintain()) + (await read())
      return done
    },
    /** The next step maintains the leases. */
    maintainSoon: (): void => void (maintainedAtMs = -Infinity),
  }
}

/** Returns what belongs to endpoint queues that are not held, without the rows: their claim reads them. */
function addToHeld(
  added: readonly NewDeliveries[],
  { clock, limits, held }: { readonly clock: Clock; readonly limits: Limits; readonly held: HeldQueues },
): readonly NewDeliveries[] {
  const now = clock.now()
  let space = rowsFromFanOutMax
  for (const queue of held.all()) space -= memory.waitingCount(queue)
  const unheld: NewDeliveries[] = []
  for (const deliveries of added) {
    const queue = held.get(deliveries.subscriptionId)
    if (queue === undefined) unheld.push({ ...deliveries, rows: [] })
    else if (memory.addNewDeliveries(queue, deliveries, now, space)) {
      space -= deliveries.rows.length
      held.startable.add(queue)
    } else if (memory.needsRead(queue, now, limits)) held.toRead.add(queue)
  }
  return unheld
}

export type QueueWorker = ReturnType<typeof createQueueWorker>

// The end of an attempt: evaluate its result, record it, and update the endpoint queue in memory.

/** Together about six seconds, well within a lease. */
const retryWaitMsMin = 100
const retryWaitMsMax = 3200

type RecordAttempt = (attempt: AttemptToRecord) => Promise<Verdict | 'stale'>

type ResultRecordingDeps = {
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

function createResultRecording(deps: ResultRecordingDeps) {
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

// Starts attempts and keeps those that have not ended. Endpoint queues take turns, one attempt each.

type AttemptsDeps = {
  readonly clock: Clock
  readonly limits: Limits
  readonly held: HeldQueues
  readonly slots: Slots
  /** Makes the attempt. */
  readonly begin: (attempt: Attempt) => void
  /** Some endpoint queues have to be read. */
  readonly wake: () => void
}

type OfQueue = StartedAttempt & { readonly endpointQueue: EndpointQueue }

function createAttempts({ clock, limits, held, slots, begin, wake }: AttemptsDeps) {
  const started = new Map<Attempt, OfQueue>()
  let isOpen = true
  let isScheduled = false

  const startOne = (endpointQueue: EndpointQueue, now: Date): boolean => {
    const next = memory.startAttempt(endpointQueue, now, limits)
    if (next === undefined) return false
    const { partnerId, subscriptionId } = endpointQueue.key
    slots.take(partnerId)
    const { eventId: deliveryId, wireEventId: eventId, data, attemptCount } = next.delivery
    const attempt = { partnerId, subscriptionId, deliveryId, target: endpointQueue.target, eventId, data, attemptCount }
    started.set(attempt, { delivery: next.delivery, isProbe: next.isProbe, endpointQueue })
    begin(attempt)
    return true
  }

  /** Starts attempts until no endpoint queue can start one or the process has no free slot. */
  const start = (): void => {
    if (!isOpen) return
    const now = clock.now()
    for (const queue of held.startable) {
      if (slots.free() <= 0) return
      // Over its partner's share it keeps its turn, until an attempt ends.
      if (!slots.mayTake(queue.key.partnerId, queue.inFlight.size)) continue
      held.startable.delete(queue)
      // Added again, it goes to the end, and this loop reaches it once more.
      if (startOne(queue, now)) held.startable.add(queue)
      if (!held.toRead.has(queue) && memory.needsRead(queue, now, limits)) held.toRead.add(queue)
    }
    if (held.toRead.size > 0) wake()
  }

  /**
   * Undefined if the endpoint queue was lost since. An endpoint queue that was claimed again does not have this
   * attempt.
   */
  const find = (attempt: Attempt): OfQueue | undefined => {
    const found = started.get(attempt)
    return found && held.isHeld(found.endpointQueue) ? found : undefined
  }

  return {
    start,
    /** Schedules one start for all attempts that end in the same turn of the event loop. */
    startSoon: (): void => {
      if (isScheduled) return
      isScheduled = true
      queueMicrotask(() => {
        isScheduled = false
        start()
      })
    },
    find,
    /** Ends an attempt. Returns what `find` would. */
    end: (attempt: Attempt): OfQueue | undefined => {
      const found = find(attempt)
      started.delete(attempt)
      if (found) memory.endAttempt(found.endpointQueue, found.delivery)
      return found
    },
    /** Starts no further attempts. */
    stop: (): void => void (isOpen = false),
  }
}

type Attempts = ReturnType<typeof createAttempts>

/**
 * The attempts that a process may have in flight, shared among partners. Pure. A partner may hold twice as many slots as
 * are free, so one partner alone gets two thirds of them. An endpoint queue without an attempt in flight may start one in
 * any case, because a slow endpoint must not delay its partner's others. The last twentieth is for partners without any
 * attempt in flight, one each.
 */
const shareOfFree = 2
const newPartnersPart = 20

export function createSlots(max: number) {
  const taken = new Map<string, number>()
  let total = 0
  /**
   * Attempts that are delivered and not recorded yet. Up to `max` of them do not count, so that endpoints and database
   * work side by side.
   */
  let recording = 0
  const free = () => max - total - Math.max(0, recording - max)
  const release = (partnerId: string): void => {
    total -= 1
    const left = (taken.get(partnerId) ?? 1) - 1
    if (left === 0) taken.delete(partnerId)
    else taken.set(partnerId, left)
  }
  return {
    taken: () => total,
    free,
    mayTake: (partnerId: string, inFlightOfQueue: number): boolean => {
      const left = free()
      const own = taken.get(partnerId) ?? 0
      if (own === 0) return left > 0
      return left > max / newPartnersPart && (inFlightOfQueue === 0 || own < left * shareOfFree)
    },
    take: (partnerId: string): void => {
      total += 1
      taken.set(partnerId, (taken.get(partnerId) ?? 0) + 1)
    },
    release,
    /** Releases the slot of a delivered attempt before it is recorded. */
    beginRecording: (partnerId: string): void => {
      release(partnerId)
      recording += 1
    },
    endRecording: (): void => void (recording -= 1),
  }
}

type Slots = ReturnType<typeof createSlots>
