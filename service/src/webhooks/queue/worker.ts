/**
 * A queue worker: it holds endpoint queues, keeps their next rows in memory, and starts attempts. Only the holder of an
 * endpoint queue works on its rows, so no attempt needs a claim of its own. README.md explains the design.
 */
import { after, type Clock, type Log, newId, randomFraction } from '../../kernel/index.ts'
import type { EventOutbox } from '../../events/index.ts'
import type { Database } from '../../postgres/index.ts'
import * as memory from './endpoint-queue.ts'
import { createLeases, createReleases, type Leases, type Releases } from './leases.ts'
import { type DeliveryLimits, errorRestMs } from '../limits.ts'
import { createPrefetch, type Prefetch } from './prefetch.ts'
import type { AttemptToRecord } from './result-batches.ts'
import {
  type AttemptResult,
  type NextAttempt,
  attemptAfterFailure,
  retryAfterMs,
  type Verdict,
  classifyAttempt,
} from './schedule.ts'
import type { Secrets } from '../management/secrets.ts'
import { createPerReachableShard, createPerShard } from './shards.ts'
import { Unreachable } from '../../kernel/api/index.ts'
import {
  createFailureWindow,
  type FailingAlert,
  type EndpointHealth,
  healthy,
  nextHealth,
  sameHealth,
  type FailureWindow,
} from './health.ts'

type QueueWorkerDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  readonly eventOutbox: EventOutbox
  readonly secrets: Pick<Secrets, 'signingKeys'>
  readonly record: (attempt: AttemptToRecord) => Promise<Verdict | 'stale'>
  readonly limits: DeliveryLimits
  readonly retryDelaysMs: readonly number[]
}

export type QueueWorkerOptions = {
  /** Makes the attempt. Calls `recordResult` or `returnToQueue` at its end. */
  readonly begin: (attempt: memory.Attempt) => void
  /** Called when `step` has work to do. */
  readonly wake: () => void
  readonly pause: (ms: number) => Promise<void>
  readonly inFlightMax?: number | undefined
  /** Interval at which the worker claims due endpoint queues, and renews and releases held ones. */
  readonly idleMs: number
}

/** Rows from fan-out that a worker keeps in memory. It reads further rows when their endpoint queue needs them. */
const rowsFromFanOutMax = 20_000

export function createQueueWorker(deps: QueueWorkerDeps, options: QueueWorkerOptions) {
  const { clock, limits } = deps
  const { begin, wake, pause, idleMs } = options
  const workerId = newId()
  const held = memory.createHeldQueues()
  const slots = createSlots(options.inFlightMax ?? limits.inFlightMax)
  const shared = { ...deps, workerId, held, slots, perShard: createPerShard(deps) }
  const reachable = { ...shared, perShard: createPerReachableShard(deps) }
  const leases = createLeases(reachable)
  const releases = createReleases(reachable)
  const attempts = createAttempts({ ...shared, begin, wake })
  const prefetch = createPrefetch({ ...shared, releases })
  /** Subscriptions with new deliveries whose endpoint queues this worker does not hold. */
  const toClaim = new Map<string, memory.NewDeliveries>()
  const { step, maintainSoon } = createStep({ idleMs, toClaim, leases, releases, prefetch, attempts })

  const onSlotFree = (queue: memory.EndpointQueue | undefined) => {
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
    inFlight: slots.taken,

    /** Adds deliveries that fan-out has just committed. They start at once if no earlier row has to be read. */
    addNewDeliveries: (added: readonly memory.NewDeliveries[]): void => {
      for (const unheld of addToHeldQueues(added, { clock, limits, held })) toClaim.set(unheld.subscriptionId, unheld)
      attempts.start()
      wake()
    },

    step,

    /** Reports whether the worker holds endpoint queues or will soon, so that `step` must run every `idleMs`. */
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

type StepDeps = {
  readonly idleMs: number
  readonly toClaim: Map<string, memory.NewDeliveries>
  readonly leases: Leases
  readonly releases: Releases
  readonly prefetch: Prefetch
  readonly attempts: Attempts
}

function createStep({ idleMs, toClaim, leases, releases, prefetch, attempts }: StepDeps) {
  let maintainedAtMs = -Infinity

  const read = async (): Promise<number> => {
    const rows = await prefetch()
    attempts.start()
    return rows
  }

  /** Renews leases, claims due endpoint queues and releases idle ones. Returns the number claimed. */
  const maintain = async (): Promise<number> => {
    await leases.renew()
    const claimed = await leases.claimDue()
    await releases.releaseIdle()
    maintainedAtMs = performance.now()
    return claimed
  }

  return {
    /** Claims endpoint queues, reads rows, and maintains the leases when it is time. Returns the number of rows and queues. */
    step: async (): Promise<number> => {
      const announced = [...toClaim.values()]
      toClaim.clear()
      // Before the maintenance, because these deliveries are new and due.
      let done = (await leases.claim(announced)) + (await read())
      if (performance.now() - maintainedAtMs >= idleMs) done += (await maintain()) + (await read())
      return done
    },
    /** Makes the next step maintain the leases. */
    maintainSoon: (): void => void (maintainedAtMs = -Infinity),
  }
}

/** Adds deliveries to held endpoint queues. Returns the others, without rows, because their claim reads them. */
function addToHeldQueues(
  added: readonly memory.NewDeliveries[],
  { clock, limits, held }: { readonly clock: Clock; readonly limits: DeliveryLimits; readonly held: memory.HeldQueues },
): readonly memory.NewDeliveries[] {
  const now = clock.now()
  let space = rowsFromFanOutMax
  for (const queue of held.all()) space -= memory.waitingCount(queue)
  const unheld: memory.NewDeliveries[] = []
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

// The end of an attempt: the worker evaluates the result, records it and updates the endpoint queue in memory.

/** The waits add up to about six seconds, well within a lease. */
const retryWaitMsMin = 100
const retryWaitMsMax = 3200

type RecordAttempt = QueueWorkerDeps['record']

type ResultRecordingDeps = Pick<QueueWorkerDeps, 'record' | 'clock' | 'limits' | 'retryDelaysMs'> &
  Pick<QueueWorkerOptions, 'pause'> & {
    readonly workerId: string
    readonly attempts: Attempts
    readonly slots: Slots
    /** Called when a slot is free, with the endpoint queue of the ended attempt. Undefined: the worker has lost it. */
    readonly onSlotFree: (endpointQueue: memory.EndpointQueue | undefined) => void
  }

function createResultRecording(deps: ResultRecordingDeps) {
  const { record, clock, limits, retryDelaysMs, pause, workerId, attempts, slots, onSlotFree } = deps

  /** Changes the health in memory at once, so that it applies to the next attempt. */
  const evaluate = (attempt: memory.Attempt, result: AttemptResult): AttemptToRecord => {
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

  const end = (attempt: memory.Attempt, { next }: AttemptToRecord, outcome: RecordingOutcome): void => {
    const ended = attempts.end(attempt)
    if (next === undefined) slots.endRecording()
    else slots.release(attempt.partnerId)
    if (ended) updateQueue(ended.endpointQueue, ended.delivery, next, outcome, clock.now())
    onSlotFree(ended?.endpointQueue)
  }

  return {
    /**
     * Records the result. The attempt counts as in flight at its endpoint until then. `stale`: the result was discarded. Throws if it
     * could not be recorded.
     */
    recordResult: async (attempt: memory.Attempt, result: AttemptResult): Promise<Verdict | 'stale'> => {
      const toRecord = evaluate(attempt, result)
      let outcome: RecordingOutcome = 'unrecorded'
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

    /** Returns a delivery whose attempt was not made or was abandoned. The delivery is due at once. */
    returnToQueue: (attempt: memory.Attempt): void => {
      const ended = attempts.end(attempt)
      slots.release(attempt.partnerId)
      if (ended) memory.discardRows(ended.endpointQueue, clock.now())
    },
  }
}

type RecordingOutcome = Verdict | 'stale' | 'unrecorded'

function updateQueue(
  queue: memory.EndpointQueue,
  { reference }: memory.QueuedDelivery,
  next: AttemptToRecord['next'],
  outcome: RecordingOutcome,
  now: Date,
): void {
  // Pauses the endpoint, because the same error would otherwise cause the same call again and again.
  if (outcome === 'unrecorded') memory.close(queue, { closed: false, dueAt: after(now, errorRestMs) }, now)
  else if (outcome === 'stale') memory.markLeaseUncertain(queue, now)
  else if (next !== undefined) memory.scheduleRead(queue, next.dueAt)
  else if (queue.target.ordered) memory.unblockReference(queue, reference)
}

/** Retries while the database is unreachable. If an earlier commit succeeded and its answer was lost, the retry is `stale`. */
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

/** State that the worker holds in memory. Undefined: the worker has lost the endpoint queue since the attempt began. */
type AttemptContext =
  | {
      readonly health: EndpointHealth
      readonly window: FailureWindow
      readonly isProbe: boolean
      readonly delivery: { readonly failures: number }
    }
  | undefined

type AttemptOutcome = {
  readonly verdict: Verdict
  /** Undefined: delivered. */
  readonly next: NextAttempt | undefined
  readonly health: EndpointHealth
  readonly disable: 'Gone' | 'Failing' | undefined
  readonly alert: FailingAlert | undefined
}

type EvaluationContext = {
  readonly now: Date
  readonly limits: DeliveryLimits
  readonly retryDelaysMs: readonly number[]
}

function evaluateAttempt(
  context: AttemptContext,
  result: AttemptResult,
  { now, limits, retryDelaysMs }: EvaluationContext,
): AttemptOutcome {
  const restMs = retryAfterMs(result.retryAfter, now, limits.retryAfterMsMax)
  const verdict = classifyAttempt(result, restMs)
  const fraction = randomFraction()
  const { health, countsAsFailure, disable, alert } = nextHealth(
    context?.health ?? healthy,
    context?.window ?? createFailureWindow(),
    { verdict, restMs, now, fraction, isProbe: context?.isProbe ?? false },
    limits,
  )
  const failures = context?.delivery.failures ?? 0
  const { pausedUntil } = health
  const next =
    verdict === 'delivered'
      ? undefined
      : countsAsFailure
        ? attemptAfterFailure(failures, now, fraction, retryDelaysMs)
        : ({
            status: 'Pending',
            failures,
            dueAt: pausedUntil !== null && pausedUntil > now ? pausedUntil : now,
          } as const)
  return { verdict, next, health, disable, alert }
}

// Starts attempts and keeps track of them until they end. Endpoint queues take turns, one attempt each.

type AttemptsDeps = Pick<QueueWorkerDeps, 'clock' | 'limits'> &
  Pick<QueueWorkerOptions, 'begin' | 'wake'> & { readonly held: memory.HeldQueues; readonly slots: Slots }

type QueueAttempt = memory.StartedAttempt & { readonly endpointQueue: memory.EndpointQueue }

function createAttempts({ clock, limits, held, slots, begin, wake }: AttemptsDeps) {
  const started = new Map<memory.Attempt, QueueAttempt>()
  let isOpen = true
  let isScheduled = false

  const startOne = (endpointQueue: memory.EndpointQueue, now: Date): boolean => {
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
      // A partner over its share keeps its turn until an attempt ends.
      if (!slots.mayTake(queue.key.partnerId, queue.inFlight.size)) continue
      held.startable.delete(queue)
      // Adds it at the end, so that this loop reaches it again.
      if (startOne(queue, now)) held.startable.add(queue)
      if (!held.toRead.has(queue) && memory.needsRead(queue, now, limits)) held.toRead.add(queue)
    }
    if (held.toRead.size > 0) wake()
  }

  /**
   * Finds an attempt in flight with its endpoint queue. Undefined if the worker has lost the endpoint queue, even if it claimed it
   * again.
   */
  const find = (attempt: memory.Attempt): QueueAttempt | undefined => {
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
    end: (attempt: memory.Attempt): QueueAttempt | undefined => {
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
 * Shares the slots of a process among partners. Pure. A partner may hold twice as many slots as are free, so that one partner alone
 * gets two thirds of them. An endpoint queue without an attempt in flight may always start one, because a slow endpoint must not
 * delay the partner's other endpoints. The last twentieth is for partners without any attempt in flight, one each.
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
