/**
 * The delivery queue, as the worker process uses it: fan-out, queue workers, the sweep, retention. A delivery is attempted
 * until the endpoint answers 2xx or the retry schedule ends. Then it is held.
 */
import { after, assert, type Clock, dayMs, deriveTimeId, type Log, idTime, newId, nilId } from '../../kernel/index.ts'
import type { EventOutbox, PartnerEvent } from '../../events/index.ts'
import type { Database, Tx } from '../../postgres/index.ts'
import {
  clockDifferenceMsMax,
  type DeliveryLimits,
  readLimits,
  retryDelaysMsDefault,
  subscriptionMarginMs,
} from '../limits.ts'
import { createResultBatches } from './result-batches.ts'
import { createRetention } from '../retention.ts'
import { withJitter } from './schedule.ts'
import type { EndpointAlerts } from '../management/alerts.ts'
import type { Secrets } from '../management/secrets.ts'
import * as subscriptions from '../management/store-subscriptions.ts'
import { createQueueWorker, type QueueWorkerOptions } from './worker.ts'
import type { NewDeliveries } from './endpoint-queue.ts'
import { isSubscribedTo as wantsType } from '../management/rules.ts'
import * as endpointQueues from './store-endpoint-queues.ts'
import * as queue from './store-queue.ts'
import { createPerReachableShard } from './shards.ts'

export type DeliveryQueueDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly eventOutbox: EventOutbox
  /** The pauses between attempts. The sandbox shortens them. There is one attempt more than pauses. */
  readonly retryDelaysMs?: readonly number[]
  readonly limits?: Partial<DeliveryLimits>
  readonly alerts: EndpointAlerts
}

const purgeRowsMax = 1000
const endpointQueuesPerSweepMax = 100

export function createDeliveryQueue(deps: DeliveryQueueDeps & { readonly secrets: Pick<Secrets, 'signingKeys'> }) {
  const { db, clock, eventOutbox, secrets, alerts, retryDelaysMs = retryDelaysMsDefault } = deps
  assert(
    retryDelaysMs.every((ms) => Number.isSafeInteger(ms) && ms >= 0),
    'a retry delay is a whole number of milliseconds',
  )
  const limits = readLimits(deps.limits ?? {})
  const workerDeps = {
    db,
    clock,
    eventOutbox,
    secrets,
    limits,
    retryDelaysMs,
    record: createResultBatches({ db, clock, alerts }),
  }

  return {
    /** Reads when the oldest event that waits for fan-out was appended. Null: no event waits. */
    oldestEvent: async (): Promise<Date | null> => {
      const id = await eventOutbox.oldestPending(db)
      return id === undefined ? null : idTime(id)
    },

    /** Due-work scan: partners with events to fan out, with ids after `after` and in their order. */
    partnersToFanOut: (after: string, partnersMax: number) => eventOutbox.partnersWithPending(db, after, partnersMax),

    fanOut: createFanOut({ clock, eventOutbox }),

    createQueueWorker: (log: Log, options: QueueWorkerOptions) => createQueueWorker({ ...workerDeps, log }, options),

    /**
     * Ends all leases of a partner. Only for the embedded database, whose single process has no other live worker.
     */
    releaseLeases: (partnerId: string, tx: Tx = db): Promise<void> =>
      endpointQueues.releaseAllQueues(tx, partnerId, clock.now()),
    /** Holds the endpoint queues while the partner is moved to another database. */
    holdEndpointQueues: (tx: Tx, partnerId: string): Promise<void> =>
      endpointQueues.holdAllQueues(tx, partnerId, newId(), after(clock.now(), dayMs)),

    sweep: createSweep({ db, clock, limits }),

    ...createRetention({ db, clock, eventOutbox, limits }),

    limits,
  }
}

type SweepDeps = { readonly db: Database; readonly clock: Clock; readonly limits: DeliveryLimits }

function createSweep({ db, clock, limits }: SweepDeps) {
  const removeLeftovers = createLeftoverSweep({ db, clock })
  const purgeDeleted = async (): Promise<number> => {
    let dropped = 0
    for (const key of await subscriptions.deletedSubscriptions(db, endpointQueuesPerSweepMax))
      dropped += await db.transaction((tx) => subscriptions.purgeSubscription(tx, key, purgeRowsMax))
    return dropped
  }

  const wakeSleeping = async (): Promise<number> => {
    let woken = 0
    for (const { partnerId, subscriptionId } of await endpointQueues.stuckEndpointQueues(db, endpointQueuesPerSweepMax))
      if (await endpointQueues.wakeEndpointQueue(db, partnerId, subscriptionId, clock.now())) woken += 1
    return woken
  }

  /** Shortens leases and rests that were written before the clock was set back. */
  const shortenLongLeasesAndRests = async (): Promise<number> => {
    const now = clock.now()
    const restMsMax = Math.max(limits.retryAfterMsMax, withJitter(limits.probeMsMax, 1))
    const latest = { leaseUntil: after(now, limits.leaseMs), pausedUntil: after(now, restMsMax + clockDifferenceMsMax) }
    const tooLate = { ...latest, leaseUntil: after(latest.leaseUntil, clockDifferenceMsMax) }
    const keys = await endpointQueues.endpointQueuesEndingLater(db, tooLate, endpointQueuesPerSweepMax)
    for (const key of keys) await endpointQueues.shortenLeaseAndRest(db, key, latest, now)
    return keys.length
  }

  /** Drops the rows of deleted subscriptions in batches and repairs endpoint queues. Returns the number of rows it changed. */
  return async (log: Log): Promise<number> =>
    (await purgeDeleted()) + (await wakeSleeping()) + (await shortenLongLeasesAndRests()) + (await removeLeftovers(log))
}

export type DeliveryQueue = ReturnType<typeof createDeliveryQueue>

// Fan-out: gives events their numbers in the feed, and creates a delivery for each subscription that wants an event.

type FannedOut = {
  readonly events: number
  /** The deliveries of enabled subscriptions. */
  readonly deliveries: readonly NewDeliveries[]
}

type Subscription = subscriptions.FanOutSubscription

/**
 * Reports whether a subscription gets an event. It gets only events after its creation, however late their fan-out is. The margin allows
 * for clock differences. A creation in the future means that the clock was set back; then every event counts as later.
 */
const wants = (subscription: Subscription, event: PartnerEvent, now: Date): boolean =>
  wantsType(subscription, event.type) &&
  (subscription.createdAt <= after(event.occurredAt, subscriptionMarginMs) || subscription.createdAt > now)

type NumberedEvent = { readonly event: PartnerEvent; readonly sequence: bigint }

/** Assigns the next numbers of each partner, without gaps, in the order of the events. */
async function numberEvents(
  tx: Tx,
  events: readonly PartnerEvent[],
): Promise<ReadonlyMap<string, readonly NumberedEvent[]>> {
  const byPartner = Map.groupBy(events, (event) => event.partnerId)
  const counts = new Map([...byPartner].map(([partnerId, own]) => [partnerId, own.length]))
  const lasts = await subscriptions.reserveSequences(tx, counts)
  return new Map(
    [...byPartner].map(([partnerId, own]) => {
      const before = (lasts.get(partnerId) ?? 0n) - BigInt(own.length)
      return [partnerId, own.map((event, index) => ({ event, sequence: before + BigInt(index + 1) }))]
    }),
  )
}

function toNewDeliveries(subscription: Subscription, events: readonly NumberedEvent[], now: Date): NewDeliveries {
  const { partnerId, id: subscriptionId, updatedAt } = subscription
  const rows = events
    .filter(({ event }) => wants(subscription, event, now))
    .map(({ event: { id: eventId, type, reference, data }, sequence }) => ({
      subscriptionId,
      eventId,
      sequence,
      wireEventId: deriveTimeId(eventId, subscriptionId),
      type,
      reference,
      data,
      dueAt: null,
      attemptCount: 0,
      failures: 0,
    }))
  const after = (events[0]?.sequence ?? 1n) - 1n
  const upTo = events.at(-1)?.sequence ?? 0n
  return { partnerId, subscriptionId, updatedAt, after, upTo, rows }
}

const nothing: FannedOut = { events: 0, deliveries: [] }

function createFanOut({ clock, eventOutbox }: { readonly clock: Clock; readonly eventOutbox: EventOutbox }) {
  /**
   * Fans out up to `eventsMax` events of each partner, also for disabled subscriptions. Skips a partner whose row another worker has
   * locked: one fan-out at a time keeps the order of its events. `workerId`: the worker that gets the result, so that its endpoint
   * queues need no wake-up.
   */
  return async (
    tx: Tx,
    partnerIds: readonly string[],
    eventsMax: number,
    workerId: string | null = null,
  ): Promise<FannedOut> => {
    const locked = await subscriptions.lockPartners(tx, partnerIds)
    if (locked.length === 0) return nothing
    const [events, candidates] = await Promise.all([
      eventOutbox.takePending(tx, locked, eventsMax),
      subscriptions.subscriptionsOf(tx, locked),
    ])
    if (events.length === 0) return nothing
    const numbered = await numberEvents(tx, events)
    const feedRows = [...numbered].flatMap(([partnerId, own]) =>
      own.map(({ event, sequence }) => ({ partnerId, sequence, eventId: event.id })),
    )
    queue.insertFeed(tx, feedRows)
    const now = clock.now()
    const added = candidates
      .map((subscription) => ({
        ...toNewDeliveries(subscription, numbered.get(subscription.partnerId) ?? [], now),
        ordered: subscription.ordered,
        wake: subscription.status === 'Enabled',
      }))
      .filter(({ rows }) => rows.length > 0)
    if (added.length === 0) return { events: events.length, deliveries: [] }
    const counts = added.map(({ partnerId, subscriptionId, rows, wake }) => ({
      partnerId,
      subscriptionId,
      count: rows.length,
      wake,
    }))
    endpointQueues.lockEndpointQueues(tx, added)
    endpointQueues.addOwed(tx, counts, workerId, now)
    queue.insertQueue(tx, added, now)
    return { events: events.length, deliveries: added.filter(({ wake }) => wake) }
  }
}

// Finds and removes leftovers: queue rows of deliveries that are recorded as delivered. The endpoint would receive the event
// again, and the result could not be recorded. No transaction leaves such rows; earlier versions did.

/** Takes about 50 ms every ten seconds, and examines a queue of 200,000 rows in 17 minutes. */
const rowsPerSweepMax = 2000
const start: queue.QueueKey = { partnerId: nilId, subscriptionId: nilId, eventId: nilId }

type Deps = { readonly db: Database; readonly clock: Clock }

function createLeftoverSweep({ db, clock }: Deps) {
  let after = start

  const remove = (key: subscriptions.SubscriptionKey, eventIds: readonly string[]): Promise<number> =>
    db.transaction(async (tx) => {
      const { partnerId, subscriptionId } = key
      // Locks the endpoint queue. A redelivery, which moves a row back to the queue, holds the same lock.
      if (!(await endpointQueues.wakeEndpointQueue(tx, partnerId, subscriptionId, clock.now()))) return 0
      const removed = await queue.deleteLeftovers(tx, key, eventIds)
      if (removed > 0) await endpointQueues.subtractOwed(tx, [{ ...key, count: BigInt(removed) }])
      return removed
    })

  /** Examines the next part of the queue, and starts over at its end. Returns the number of rows removed. */
  return async (log: Log): Promise<number> => {
    const perReachableShard = createPerReachableShard({ db, log })
    const queued = await queue.listQueueAfter(db, after, rowsPerSweepMax)
    const leftovers = await perReachableShard(queued, (rows) => queue.findLeftovers(db, rows))
    after = (queued.length === rowsPerSweepMax ? queued.at(-1) : undefined) ?? start
    let removed = 0
    for (const rows of Map.groupBy(leftovers, (row) => row.subscriptionId).values()) {
      const [first] = rows
      if (first)
        removed += await remove(
          first,
          rows.map((row) => row.eventId),
        )
    }
    return removed
  }
}
