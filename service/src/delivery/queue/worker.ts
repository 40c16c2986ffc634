/**
 * A worker's hands: it holds endpoint queues, keeps what they are owed next in memory, and says what to attempt. All rows of a endpoint queue
 * go through the one that holds it, so that no attempt needs a claim of its own.
 */
import { after, type Clock, type Log, newId } from '../../kernel/index.ts'
import * as memory from './endpoint-queue.ts'
import type { Claim, Fresh, EndpointQueue, UnderWay } from './endpoint-queue.ts'
import type { EndpointQueues } from './endpoint-queues.ts'
import { type Limits, troubleRestMs } from '../limits.ts'
import { createReading } from './prefetch.ts'
import type { Recording } from './result-batches.ts'
import type { Verdict } from './schedule.ts'
import { createSettling } from './result-recording.ts'
import { createSlots } from './slots.ts'
import type { Release } from './store-endpoint-queues.ts'
import type { SubscriptionKey } from '../management/store-subscriptions.ts'

export type QueueWorkerDeps = {
  readonly endpointQueues: EndpointQueues
  readonly record: (recording: Recording) => Promise<Verdict | 'stale'>
  readonly clock: Clock
  readonly log: Log
  readonly limits: Limits
  readonly retryDelaysMs: readonly number[]
}

export type QueueWorkerOptions = {
  /** Makes the attempt, and tells `settle` or `giveBack` at its end. */
  readonly begin: (claim: Claim) => void
  /** There is something for `step` to do. */
  readonly wake: () => void
  readonly pause: (ms: number) => Promise<void>
  readonly inFlightMax?: number | undefined
  /** How often endpoint queues are looked for and looked after. */
  readonly idleMs: number
}

/** Behind every number of a feed. */
const maxSequence = 2n ** 63n - 1n
const endpointQueuesPerClaimMax = 200
/** Of what the fan-out hands over a worker keeps so many in memory; the rest is read in its turn. */
const rowsHandedMax = 20_000
/** What waits in memory is read again by whoever comes next. */
function releaseOf(endpointQueue: EndpointQueue, now: Date): Release {
  if (endpointQueue.closing) return { ...endpointQueue.key, readUpTo: maxSequence, ...endpointQueue.closing }
  const waits = memory.waitingOf(endpointQueue) + endpointQueue.inFlight.size > 0
  return {
    ...endpointQueue.key,
    readUpTo: waits ? 0n : endpointQueue.cursor,
    dueAt: waits ? now : endpointQueue.dueAt,
    closed: false,
  }
}

export function createQueueWorker(deps: QueueWorkerDeps, options: QueueWorkerOptions) {
  const { endpointQueues: verbs, clock, log, limits } = deps
  const { begin, wake, idleMs } = options
  const workerId = newId()
  const endpointQueues = new Map<string, EndpointQueue>()
  /** Endpoint queues that may have an attempt to begin, in turn. */
  const ready = new Set<EndpointQueue>()
  /** Endpoint queues for which rows should be read. */
  const hungry = new Set<EndpointQueue>()
  /** Fresh from the fan-out, and not held. */
  const heard = new Map<string, Fresh>()
  const slots = createSlots(options.inFlightMax ?? limits.inFlightMax)
  const reading = createReading({ verbs, clock, log })
  const underWay = new Map<Claim, UnderWay & { readonly endpointQueue: EndpointQueue }>()
  let open = true
  let lookedAt = -Infinity

  const drop = (endpointQueue: EndpointQueue) => {
    endpointQueues.delete(endpointQueue.key.subscriptionId)
    ready.delete(endpointQueue)
    hungry.delete(endpointQueue)
  }

  /** One attempt of one endpoint queue. */
  const beginOne = (endpointQueue: EndpointQueue, now: Date): boolean => {
    const attempt = memory.hasRoom(endpointQueue, now, limits) ? memory.begin(endpointQueue) : undefined
    if (attempt === undefined) return false
    slots.take(endpointQueue.key.partnerId)
    endpointQueue.idleSince = undefined
    const { eventId: deliveryId, wireEventId: eventId, data, attemptCount } = attempt.owed
    const { partnerId, subscriptionId } = endpointQueue.key
    const claimed = { partnerId, subscriptionId, deliveryId, target: endpointQueue.target, eventId, data, attemptCount }
    underWay.set(claimed, { owed: attempt.owed, isProbe: attempt.isProbe, endpointQueue })
    begin(claimed)
    return true
  }

  /** Endpoint queues take turns, one attempt each, until nothing more can begin. */
  const pump = () => {
    if (!open) return
    const now = clock.now()
    for (const endpointQueue of ready) {
      if (slots.free() <= 0) return
      // Over its partner's share it stays where it is, and is asked again when something ends.
      if (!slots.isFor(endpointQueue.key.partnerId, endpointQueue.inFlight.size)) continue
      ready.delete(endpointQueue)
      // At the end of the line, where this loop comes by once more.
      if (beginOne(endpointQueue, now)) ready.add(endpointQueue)
      if (!hungry.has(endpointQueue) && memory.isHungry(endpointQueue, now, limits)) hungry.add(endpointQueue)
    }
    if (hungry.size > 0) wake()
  }

  let pumping = false
  /** Once for all that end together. */
  const pumpSoon = () => {
    if (pumping) return
    pumping = true
    queueMicrotask(() => {
      pumping = false
      pump()
    })
  }

  const close = async (some: readonly EndpointQueue[]): Promise<void> => {
    some.forEach(drop)
    const now = clock.now()
    if (some.length > 0)
      await verbs.release(
        workerId,
        some.map((endpointQueue) => releaseOf(endpointQueue, now)),
      )
  }
  /** Their targets are asked for first, since a partner who changes an endpoint expects that at once. */
  const refill = async (): Promise<number> => {
    const batch = [...hungry].filter(
      (endpointQueue) => endpointQueues.get(endpointQueue.key.subscriptionId) === endpointQueue,
    )
    hungry.clear()
    if (batch.length === 0) return 0
    const now = clock.now()
    const outcome = await reading.refill(batch).catch((error: unknown) => {
      for (const endpointQueue of batch) {
        memory.forget(endpointQueue, now)
        hungry.add(endpointQueue)
      }
      throw error
    })
    const shut = (endpointQueue: EndpointQueue, closing: NonNullable<EndpointQueue['closing']>) => {
      memory.forget(endpointQueue, now)
      endpointQueue.closing = closing
    }
    for (const endpointQueue of outcome.closed) shut(endpointQueue, { closed: true, dueAt: null })
    for (const endpointQueue of outcome.troubled)
      shut(endpointQueue, { closed: false, dueAt: after(now, troubleRestMs) })
    await close(
      batch.filter((endpointQueue) => endpointQueue.closing !== undefined && endpointQueue.inFlight.size === 0),
    )
    for (const endpointQueue of batch) {
      if (endpointQueues.get(endpointQueue.key.subscriptionId) !== endpointQueue) continue
      ready.add(endpointQueue)
      if (memory.isHungry(endpointQueue, now, limits)) hungry.add(endpointQueue)
    }
    pump()
    return outcome.rows
  }

  const claim = async (keys: readonly (SubscriptionKey & { readonly upTo?: bigint })[]): Promise<number> => {
    const wanted = keys
      .filter((key) => !endpointQueues.has(key.subscriptionId))
      .slice(0, Math.max(0, limits.endpointQueuesMax - endpointQueues.size))
    if (wanted.length === 0) return 0
    const { claimed, leaseUntil } = await verbs.claim(workerId, wanted)
    const upTo = new Map(wanted.map((key) => [key.subscriptionId, key.upTo]))
    const now = clock.now()
    for (const { partnerId, subscriptionId, ...health } of claimed) {
      const endpointQueue = memory.createEndpointQueue(
        { partnerId, subscriptionId },
        memory.unread,
        health,
        leaseUntil,
        now,
      )
      endpointQueue.committed = upTo.get(subscriptionId) ?? 0n
      endpointQueues.set(subscriptionId, endpointQueue)
      hungry.add(endpointQueue)
    }
    return claimed.length
  }

  const hear = async (keys: readonly SubscriptionKey[]): Promise<void> => {
    const now = clock.now()
    for (const { partnerId: _partnerId, subscriptionId, ...health } of await verbs.hear(workerId, keys)) {
      const endpointQueue = endpointQueues.get(subscriptionId)
      if (endpointQueue === undefined) continue
      endpointQueue.health = health
      endpointQueue.closing = undefined
      endpointQueue.dueAt = now
      endpointQueue.mayHaveFresh = true
      // What stood before others may be gone without a word.
      if (endpointQueue.target.ordered) endpointQueue.cursor = 0n
      hungry.add(endpointQueue)
    }
  }

  /**
   * Renews in time, and where the clock was put back: nobody else would get a lease that ends in hours. A endpoint queue that is no
   * longer held is forgotten, and so is what it has under way.
   */
  const renew = async (): Promise<void> => {
    const now = clock.now().getTime()
    const old = [...endpointQueues.values()].filter(({ leaseUntil }) => {
      const restMs = leaseUntil.getTime() - now
      return restMs < (limits.leaseMs * 2) / 3 || restMs > limits.leaseMs
    })
    if (old.length === 0) return
    const { held, leaseUntil } = await verbs.renew(
      workerId,
      old.map((endpointQueue) => endpointQueue.key),
    )
    for (const endpointQueue of old) {
      if (held.has(endpointQueue.key.subscriptionId)) {
        endpointQueue.leaseUntil = leaseUntil
        ready.add(endpointQueue)
      } else {
        log.warn(
          { subscriptionId: endpointQueue.key.subscriptionId },
          'a endpoint queue was taken over: its lease had ended',
        )
        drop(endpointQueue)
      }
    }
  }

  /** Endpoint queues that have something due by now read it; those without work are given back after a while, resting ones at once. */
  const lookAfter = async (): Promise<void> => {
    const now = clock.now()
    const watch = performance.now()
    const idle: EndpointQueue[] = []
    for (const endpointQueue of endpointQueues.values()) {
      const paused = memory.isPaused(endpointQueue, now)
      if (memory.isHungry(endpointQueue, now, limits)) hungry.add(endpointQueue)
      else if (endpointQueue.inFlight.size > 0) continue
      else if (endpointQueue.closing) idle.push(endpointQueue)
      else if (!paused && memory.readyCount(endpointQueue, 1) > 0) ready.add(endpointQueue)
      else if (paused || watch - (endpointQueue.idleSince ??= watch) >= limits.lingerMs) idle.push(endpointQueue)
    }
    await close(idle)
  }

  const lookAround = async (): Promise<number> => {
    await renew()
    const due = await verbs.due(workerId, endpointQueuesPerClaimMax)
    await hear(due.filter((key) => key.isHeld && endpointQueues.has(key.subscriptionId)))
    const claimed = await claim(due)
    await lookAfter()
    return claimed
  }

  const freed = (endpointQueue: EndpointQueue | undefined) => {
    if (endpointQueue !== undefined) {
      ready.add(endpointQueue)
      if (reading.isBlocked(endpointQueue)) hungry.add(endpointQueue)
      if (endpointQueue.leaseUntil === memory.doubtful) {
        lookedAt = -Infinity
        wake()
      }
    }
    pumpSoon()
  }
  const settling = createSettling(deps, {
    workerId,
    endpointQueues,
    underWay,
    slots,
    reading,
    pause: options.pause,
    freed,
  })

  return {
    workerId,
    /** Attempts under way. */
    inFlight: slots.taken,
    /** These are new, this moment, and committed: begun at once where nothing need be read for that. */
    hint: (news: readonly Fresh[]): void => {
      const now = clock.now()
      let place =
        rowsHandedMax -
        [...endpointQueues.values()].reduce((sum, endpointQueue) => sum + memory.waitingOf(endpointQueue), 0)
      for (const fresh of news) {
        const endpointQueue = endpointQueues.get(fresh.subscriptionId)
        if (endpointQueue === undefined) heard.set(fresh.subscriptionId, { ...fresh, rows: [] })
        else if (memory.accept(endpointQueue, fresh, now, place)) {
          place -= fresh.rows.length
          ready.add(endpointQueue)
        } else if (memory.isHungry(endpointQueue, now, limits)) hungry.add(endpointQueue)
      }
      pump()
      wake()
    },

    /** Looks around when it is time, claims what it heard of, reads what is wanted. Answers how much it did. */
    step: async (): Promise<number> => {
      const keys = [...heard.values()]
      heard.clear()
      // What was heard of goes first: somebody waits for it.
      let did = (await claim(keys)) + (await refill())
      if (performance.now() - lookedAt >= idleMs) {
        did += await lookAround()
        lookedAt = performance.now()
        did += await refill()
      }
      pump()
      return did
    },

    ...settling,

    /** No attempt begins any more. */
    stop: (): void => void (open = false),
    /** Gives all endpoint queues back. */
    close: async (): Promise<void> => {
      open = false
      await close([...endpointQueues.values()])
    },
  }
}

export type Holder = ReturnType<typeof createQueueWorker>
