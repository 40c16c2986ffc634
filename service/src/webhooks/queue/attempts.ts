/** Starts attempts and keeps those that have not ended. Endpoint queues take turns, one attempt each. */
import type { Clock } from '../../kernel/index.ts'
import type { Attempt } from './attempt.ts'
import type { EndpointQueue, StartedAttempt } from './endpoint-queue.ts'
import * as memory from './endpoint-queue.ts'
import type { HeldQueues } from './held-queues.ts'
import type { Limits } from '../limits.ts'
import type { Slots } from './slots.ts'

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

export function createAttempts({ clock, limits, held, slots, begin, wake }: AttemptsDeps) {
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

export type Attempts = ReturnType<typeof createAttempts>
