/** Reads for partners: deliveries and statistics of a subscription, and the feed of all events. Includes redelivery. */
import { eventNames, isEventName, ownJsonExactly, type Static, webhooks as wire } from '@partner-payments/wire'
import { type Cursors, notFound, type Page, parseTime, Refusal, refuseField } from '../../kernel/api/index.ts'
import { after, type Clock, dayMs, deriveTimeId, firstIdOf, idTime } from '../../kernel/index.ts'
import { type Database, inTransaction, type Tx } from '../../postgres/index.ts'
import { type DeliveryStatus, storedStatuses, visibleStatus, type SubscriptionStatus } from './rules.ts'
import * as endpointQueues from '../queue/store-endpoint-queues.ts'
import * as store from './store-history.ts'
import * as requeue from '../queue/store-queue.ts'
import { subscriptionById, type SubscriptionKey } from './store-subscriptions.ts'
import { loadSubscription } from './subscriptions.ts'
import { classifyAttempt } from '../queue/schedule.ts'
import type { EventOutbox, StoredEvent } from '../../events/index.ts'

type Delivery = {
  readonly eventId: string
  readonly eventType: string
  readonly reference: string
  readonly status: DeliveryStatus
  readonly attemptCount: number
  readonly nextAttemptAt: Date | null
  readonly createdAt: Date
  readonly deliveredAt: Date | null
  readonly attempts: readonly store.AttemptRow[]
}

type HistoryDeps = { readonly db: Database; readonly clock: Clock; readonly cursors: Cursors }
type DeliveryQuery = Static<typeof wire.DeliveryQuery>

/** Rows that a page of a filtered list examines. The page may have fewer matches than its limit, and then continues there. */
const examinedRowsMax = 10_000
const attemptsShownMax = 20
/** The list returns the last examined row of each of its two sources, even if that row does not match. */
const lastExaminedRowsMax = 2

function toDelivery(
  row: store.DeliveryRow,
  subscription: SubscriptionStatus,
  attempts: readonly store.AttemptRow[] = [],
): Delivery {
  const status = visibleStatus(row.status, subscription)
  return {
    eventId: row.wireEventId,
    eventType: row.type,
    reference: row.reference,
    status,
    attemptCount: row.attemptCount,
    // A delivery without an attempt is due since its creation.
    nextAttemptAt: status === 'Pending' ? (row.dueAt ?? row.createdAt) : null,
    createdAt: row.createdAt,
    deliveredAt: row.deliveredAt,
    attempts,
  }
}

/** Returns the rows of the page and the event id after which the next page starts. */
function cutPage(rows: readonly store.ListedDelivery[], limit: number) {
  const found: store.ListedDelivery[] = []
  for (const row of rows) {
    if (row.matches && found.length === limit) return { found, next: found.at(-1)?.eventId }
    if (row.matches) found.push(row)
    if (row.last) return { found, next: row.eventId }
  }
  return { found, next: undefined }
}

/**
 * Returns the range of event ids in the millisecond of the given id. Undefined if the id contains no time, or a time in the
 * future.
 */
function eventIdRange(wireEventId: string, now: Date) {
  const moment = idTime(wireEventId)
  if (wireEventId.charAt(14) !== '7' || moment > after(now, dayMs)) return undefined
  return { from: firstIdOf(moment), before: firstIdOf(after(moment, 1)) }
}

const earliest = (a: string | null, b: string | null) => (a === null || (b !== null && b < a) ? b : a)

function toHistoryFilter(
  query: DeliveryQuery,
  subscription: SubscriptionStatus,
  afterId: string | null,
): store.HistoryFilter {
  const { status, eventType = null, reference = null, from, to } = query
  return {
    statuses: status === undefined ? wire.deliveryStatuses : storedStatuses(status, subscription),
    type: eventType,
    reference,
    from: from === undefined ? null : firstIdOf(parseTime(from)),
    before: earliest(afterId, to === undefined ? null : firstIdOf(parseTime(to))),
  }
}

/** Reports whether the filter may match few of the rows that the list reads in order. */
const isSparse = ({ eventType, reference, status }: DeliveryQuery): boolean =>
  eventType !== undefined || reference !== undefined || status === 'Pending'

function createDeliveryReader({ db, clock }: HistoryDeps) {
  /** Reads the newest attempts of each delivery, by event id. */
  const readAttempts = async (tx: Tx, key: SubscriptionKey, eventIds: readonly string[]) =>
    eventIds.length === 0
      ? new Map<string, store.AttemptRow[]>()
      : Map.groupBy(await store.listDeliveryAttempts(tx, key, eventIds, attemptsShownMax), (attempt) => attempt.eventId)

  const load = async (tx: Tx, key: SubscriptionKey, wireEventId: string): Promise<store.DeliveryRow> => {
    const range = eventIdRange(wireEventId, clock.now())
    const row = range && (await store.deliveryByWireId(tx, key, wireEventId, range))
    if (row === undefined) throw notFound('delivery')
    return row
  }

  const get = async (partnerId: string, id: string, wireEventId: string, tx: Tx = db): Promise<Delivery> => {
    const { status } = await loadSubscription(tx, partnerId, id)
    const key = { partnerId, subscriptionId: id }
    const row = await load(tx, key, wireEventId)
    const attempts = await readAttempts(tx, key, [row.eventId])
    return toDelivery(row, status, attempts.get(row.eventId))
  }
  return { readAttempts, load, get }
}

type DeliveryReader = ReturnType<typeof createDeliveryReader>

/**
 * Lists deliveries, newest first, by the time of the event. A page examines a limited number of rows, so it may contain fewer
 * deliveries than its limit, or none, and still have a next page. Refuses: not_found.
 */
const createDeliveryList =
  ({ db, cursors }: HistoryDeps, { readAttempts }: DeliveryReader) =>
  async (partnerId: string, id: string, query: DeliveryQuery): Promise<Page<Delivery>> => {
    const { status } = await loadSubscription(db, partnerId, id)
    const list = `${partnerId} deliveries of ${id}`
    const { limit, afterId } = cursors.read(list, query)
    const key = { partnerId, subscriptionId: id }
    const filter = toHistoryFilter(query, status, afterId)
    const examinedMax = isSparse(query) ? examinedRowsMax : limit + 1
    const rows = await store.listHistory(db, key, filter, examinedMax, limit + 1 + lastExaminedRowsMax)
    const { found, next } = cutPage(rows, limit)
    const eventIds = found.map((row) => row.eventId)
    const attempts = await readAttempts(db, key, eventIds)
    return {
      data: found.map((row) => toDelivery(row, status, attempts.get(row.eventId))),
      nextCursor: next === undefined ? null : cursors.write(list, next),
      hasMore: next !== undefined,
    }
  }

/**
 * Makes a delivery due at once, from the first step of the schedule, with the same event id. A delivered one becomes
 * outstanding again, without a second row. A redelivery during an attempt has no effect: the attempt decides.
 * Refuses: not_found.
 */
const createRedelivery =
  ({ db, clock }: HistoryDeps, { load, get }: DeliveryReader) =>
  async (partnerId: string, id: string, wireEventId: string, outerTx?: Tx): Promise<Delivery> => {
    const key = { partnerId, subscriptionId: id }
    await loadSubscription(outerTx ?? db, partnerId, id)
    const { eventId } = await load(outerTx ?? db, key, wireEventId)
    await inTransaction(db, outerTx, async (tx) => {
      const now = clock.now()
      if (!(await endpointQueues.wakeEndpointQueue(tx, partnerId, id, now))) throw notFound('webhook subscription')
      // Under this lock a delivery can only move from the queue to the delivered rows. Search in the same order.
      if (await requeue.expedite(tx, key, eventId, now)) return
      const moved = await requeue.removeDelivered(tx, key, eventId)
      if (moved === undefined) throw notFound('delivery')
      await requeue.insertDue(tx, key, [{ ...moved, eventId }], now)
    })
    return get(partnerId, id, wireEventId, outerTx)
  }

export function createHistory(deps: HistoryDeps) {
  const reader = createDeliveryReader(deps)
  return {
    deliveries: createDeliveryList(deps, reader),
    /** Reads a delivery. Refuses: not_found, also for event ids of early versions, which contain no time. */
    delivery: reader.get,
    redeliver: createRedelivery(deps, reader),
    ...createSubscriptionStatistics(deps),
  }
}

export type History = ReturnType<typeof createHistory>

// The statistics of a subscription, as its partner sees them.

type Statistics = Static<typeof wire.SubscriptionStatistics>

function percentile(sorted: readonly number[], fraction: number): number | null {
  return sorted[Math.ceil(sorted.length * fraction) - 1] ?? null
}

const isSuccess = ({ status, error }: store.AttemptOutcome): boolean =>
  status !== null && classifyAttempt(error === null ? { status } : { status, error }) === 'delivered'

function last24Hours(outcomes: readonly store.AttemptOutcome[], now: Date): Statistics['last24Hours'] {
  const since = now.getTime() - dayMs
  const recent = outcomes.filter((outcome) => outcome.startedAt.getTime() >= since)
  const successes = recent.filter(isSuccess).length
  const latencies = recent.map((outcome) => outcome.durationMs).toSorted((a, b) => a - b)
  return {
    attempts: recent.length,
    successes,
    failures: recent.length - successes,
    latencyMs: {
      p50: percentile(latencies, 0.5),
      p95: percentile(latencies, 0.95),
      p99: percentile(latencies, 0.99),
    },
  }
}

/** Counts the pending deliveries of a disabled subscription as held. */
function deliveryCounts(counts: store.DeliveryCounts, subscription: SubscriptionStatus) {
  const delivered = Number(counts.delivered)
  const pending = Number(counts.pending)
  const held = Number(counts.held)
  const capped = [delivered, pending, held].includes(wire.statisticsCountMax)
  if (subscription === 'Disabled') return { delivered, pending: 0, held: held + pending, capped, oldestPendingAt: null }
  const oldest = counts.oldestPendingId === null ? null : idTime(counts.oldestPendingId)
  return { delivered, pending, held, capped, oldestPendingAt: oldest?.toISOString() ?? null }
}

function createSubscriptionStatistics({ db, clock }: { readonly db: Database; readonly clock: Clock }) {
  return {
    /** Computes the statistics of a subscription. Refuses: not_found. */
    statistics: async (partnerId: string, id: string): Promise<Statistics> => {
      const key = { partnerId, subscriptionId: id }
      const { status } = await loadSubscription(db, partnerId, id)
      const [endpointQueue, counts, outcomes] = await Promise.all([
        store.endpointQueueState(db, partnerId, id),
        store.countDeliveries(db, key, wire.statisticsCountMax),
        store.newestAttemptOutcomes(db, key, wire.statisticsAttemptsMax),
      ])
      if (endpointQueue === undefined || counts === undefined) throw notFound('webhook subscription')
      return {
        owed: Number(endpointQueue.owed),
        ...deliveryCounts(counts, status),
        failingSince: endpointQueue.failingSince?.toISOString() ?? null,
        breaker: endpointQueue.probeMs === null ? 'Closed' : 'Open',
        last24Hours: last24Hours(outcomes, clock.now()),
      }
    },
  }
}

// The pull feed: every event of a partner in the order of fan-out. Needs no subscription.

type FeedDeps = { readonly db: Database; readonly cursors: Cursors; readonly eventOutbox: EventOutbox }

/** Events that a page with filters examines. The page may have fewer matches than its limit, and then continues there. */
const examinedEventsMax = 1000

export type FeedEvent = {
  readonly id: string
  readonly sequence: bigint
  readonly eventType: string
  readonly reference: string
  readonly occurredAt: Date
  readonly eventId?: string
  readonly data: Record<string, unknown>
}
type Feed = {
  readonly data: readonly FeedEvent[]
  readonly nextCursor: string
  readonly hasMore: boolean
}

type EventView = Omit<FeedEvent, 'sequence' | 'eventId'> & {
  readonly deliveries: readonly { readonly subscriptionId: string; readonly eventId: string }[]
}

/** Refuses (400, /query/types): an unknown event type, because a client would wait for it forever. */
function readTypes(text: string | undefined): readonly string[] | undefined {
  const types = text?.split(',')
  const unknown = types?.find((type) => !isEventName(type))
  if (unknown !== undefined)
    throw refuseField({
      pointer: '/query/types',
      code: 'invalid_value',
      message: `must be event types separated by commas, each one of ${eventNames.join(', ')}`,
    })
  return types
}

type FeedQuery = Static<typeof wire.FeedQuery>

const eventFields = ({ id, type, reference, occurredAt }: StoredEvent) => ({
  id,
  eventType: type,
  reference,
  occurredAt,
})
const eventData = ({ data }: StoredEvent) => ownJsonExactly<Record<string, unknown>>(data)

/** Reads the event ids that deliveries of the subscription have or will have. */
const readDeliveryIds = async (tx: Tx, partnerId: string, subscriptionId: string, ids: readonly string[]) => {
  const rows = await store.publicEventIds(tx, { partnerId, subscriptionId }, ids)
  const known = new Map(rows.map((row) => [row.eventId, row.wireEventId]))
  return (id: string) => known.get(id) ?? deriveTimeId(id, subscriptionId)
}

export function createFeed({ db, cursors, eventOutbox }: FeedDeps) {
  /** Reads the sequence at which the page starts, exclusive. Refuses: validation_failed (/query/after), cursor_expired. */
  const readPosition = async (list: string, partnerId: string, query: FeedQuery): Promise<bigint> => {
    const { after, order } = query
    // Reads the last sequence first: in an empty feed, every later event has a higher number.
    const last = await store.lastSequence(db, partnerId)
    const first = (await store.oldestSequence(db, partnerId)) ?? last + 1n
    if (after === undefined) return order === 'newest' ? last + 1n : first - 1n
    const position = BigInt(cursors.open(list, after, '/query/after'))
    // Newest first, the list simply ends at the oldest event.
    if (order === 'newest') return position
    if (position + 1n < first)
      throw new Refusal(
        'cursor_expired',
        `Events ${position + 1n} to ${first - 1n} were deleted, because they are older than ${wire.eventRetentionDays} days. ` +
          'Omit `after` to start at the oldest available event.',
      )
    return position
  }

  return {
    /**
     * Lists events after the cursor, oldest first by default. Sequence numbers are assigned under a lock, so that no lower number becomes
     * visible later: a client that continues from each `nextCursor` misses no event. Refuses: validation_failed, not_found, cursor_expired.
     */
    events: async (partnerId: string, query: FeedQuery): Promise<Feed> => {
      const { subscriptionId, reference, order = 'oldest' } = query
      if (subscriptionId !== undefined && (await subscriptionById(db, partnerId, subscriptionId)) === undefined)
        throw notFound('webhook subscription', '/query/subscriptionId')
      const list = order === 'newest' ? `${partnerId} feed newest` : `${partnerId} feed`
      const { limit } = cursors.read(list, query.limit === undefined ? {} : { limit: query.limit })
      const position = await readPosition(list, partnerId, query)
      const types = readTypes(query.types)
      const examinedMax = types === undefined && reference === undefined ? limit : examinedEventsMax
      const read = order === 'newest' ? store.feedBefore : store.feedAfter
      const rows = await read(db, partnerId, position, examinedMax + 1)
      const examined = rows.slice(0, examinedMax)
      const keys = examined.map(({ eventId }) => ({ partnerId, eventId }))
      const events = new Map((await eventOutbox.byIds(db, keys)).map((event) => [event.id, event]))
      const found = examined.flatMap(({ sequence, eventId }) => {
        const event = events.get(eventId)
        if (event === undefined || types?.includes(event.type) === false) return []
        return reference === undefined || event.reference === reference ? [{ sequence, event }] : []
      })
      const shown = found.slice(0, limit)
      const ids = shown.map(({ event }) => event.id)
      const eventIdOf = subscriptionId && (await readDeliveryIds(db, partnerId, subscriptionId, ids))
      const data = shown.map(({ sequence, event }) => ({
        ...eventFields(event),
        sequence,
        ...(eventIdOf ? { eventId: eventIdOf(event.id) } : {}),
        data: eventData(event),
      }))
      const isCut = found.length > limit
      const last = (isCut ? shown.at(-1)?.sequence : examined.at(-1)?.sequence) ?? position
      return { data, nextCursor: cursors.write(list, String(last)), hasMore: isCut || rows.length > examinedMax }
    },
    event: (partnerId: string, id: string) => readEvent({ db, eventOutbox }, partnerId, id),
  }
}

/** Reads an event with its deliveries. Refuses: not_found. */
async function readEvent(
  { db, eventOutbox }: Pick<FeedDeps, 'db' | 'eventOutbox'>,
  partnerId: string,
  id: string,
): Promise<EventView> {
  const [event] = await eventOutbox.byIds(db, [{ partnerId, eventId: id }])
  if (event === undefined) throw notFound('event')
  const deliveries = await store.deliveriesOfEvent(db, partnerId, id)
  return {
    ...eventFields(event),
    deliveries: deliveries.map(({ subscriptionId, wireEventId }) => ({ subscriptionId, eventId: wireEventId })),
    data: eventData(event),
  }
}

export type EventFeed = ReturnType<typeof createFeed>
