/** What a partner reads about its deliveries, and the one thing that it may do to one: have it delivered again. */
import { type Static, webhooks as wire } from '@partner-payments/wire'
import { type Cursors, notFound, type Page } from '../../api/index.ts'
import { after, type Clock, dayMs, firstIdOf, momentOfId } from '../../kernel/index.ts'
import type { Database } from '../../postgres/index.ts'
import { type DeliveryStatus, statusesStored, statusSeen, type SubscriptionStatus } from './rules.ts'
import { verdictOf } from '../queue/schedule.ts'
import { wakeEndpointQueue } from '../queue/store-endpoint-queues.ts'
import * as store from './store-history.ts'
import * as requeue from '../queue/store-requeue.ts'
import type { SubscriptionKey } from './store-subscriptions.ts'
import { loadSubscription } from './subscriptions.ts'

export type Delivery = {
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

export type HistoryDeps = { readonly db: Database; readonly clock: Clock; readonly cursors: Cursors }

/** What a page of a filtered list looks at: one that finds less than its limit says where it got to. */
const examinedRowsMax = 10_000
const attemptsShownMax = 20
/** Of both sources one row may stand for how far it was looked, without matching. */
const marksMax = 2

function seen(row: store.DeliveryRow, subscription: SubscriptionStatus, attempts: readonly store.AttemptRow[]) {
  const status = statusSeen(row.status, subscription)
  return {
    eventId: row.wireEventId,
    eventType: row.type,
    reference: row.reference,
    status,
    attemptCount: row.attemptCount,
    // Not attempted yet: it has been due since it was made.
    nextAttemptAt: status === 'Pending' ? (row.dueAt ?? row.createdAt) : null,
    createdAt: row.createdAt,
    deliveredAt: row.deliveredAt,
    attempts,
  }
}

/** The page out of the rows, and the id of the event behind which the next one begins. */
function cut(rows: readonly store.Listed[], limit: number) {
  const found: store.Listed[] = []
  for (const row of rows) {
    if (row.matches && found.length === limit) return { found, next: found.at(-1)?.eventId }
    if (row.matches) found.push(row)
    if (row.last) return { found, next: row.eventId }
  }
  return { found, next: undefined }
}

function percentile(sorted: readonly number[], fraction: number): number | null {
  return sorted[Math.ceil(sorted.length * fraction) - 1] ?? null
}

/** The ids of the events of one millisecond, that of an eventId; undefined where it carries no time, or one to come. */
function momentOf(wireEventId: string, now: Date) {
  const moment = momentOfId(wireEventId)
  if (wireEventId.charAt(14) !== '7' || moment > after(now, dayMs)) return undefined
  return { from: firstIdOf(moment), before: firstIdOf(after(moment, 1)) }
}

const earliest = (a: string | null, b: string | null) => (a === null || (b !== null && b < a) ? b : a)

export function createHistory({ db, clock, cursors }: HistoryDeps) {
  const attemptsFor = async (key: SubscriptionKey, eventIds: readonly string[]) =>
    eventIds.length === 0
      ? new Map<string, store.AttemptRow[]>()
      : Map.groupBy(await store.attemptsOf(db, key, eventIds, attemptsShownMax), (attempt) => attempt.eventId)

  const load = async (key: SubscriptionKey, wireEventId: string): Promise<store.DeliveryRow> => {
    const range = momentOf(wireEventId, clock.now())
    const row = range && (await store.deliveryByWireId(db, key, wireEventId, range))
    if (row === undefined) throw notFound('delivery')
    return row
  }

  const get = async (partnerId: string, id: string, eventId: string): Promise<Delivery> => {
    const { status } = await loadSubscription(db, partnerId, id)
    const key = { partnerId, subscriptionId: id }
    const row = await load(key, eventId)
    return seen(row, status, (await attemptsFor(key, [row.eventId])).get(row.eventId) ?? [])
  }

  return {
    /**
     * Newest first, by the time of the event. A page looks at a bounded number of rows, so that it may hold less than
     * its limit, even nothing, and yet say that there is more. Refuses: not_found.
     */
    deliveries: async (
      partnerId: string,
      id: string,
      query: Static<typeof wire.DeliveryQuery>,
    ): Promise<Page<Delivery>> => {
      const { status } = await loadSubscription(db, partnerId, id)
      const list = `${partnerId} deliveries of ${id}`
      const { limit, afterId } = cursors.read(list, query)
      const key = { partnerId, subscriptionId: id }
      const { eventType = null, reference = null, from, to } = query
      const filter = {
        statuses: query.status === undefined ? wire.deliveryStatuses : statusesStored(query.status, status),
        type: eventType,
        reference,
        from: from === undefined ? null : firstIdOf(new Date(from)),
        before: earliest(afterId, to === undefined ? null : firstIdOf(new Date(to))),
      }
      const isSparse = eventType !== null || reference !== null || query.status === 'Pending'
      const examined = isSparse ? examinedRowsMax : limit + 1
      const rows = await store.listHistory(db, key, filter, examined, limit + 1 + marksMax)
      const { found, next } = cut(rows, limit)
      const attempts = await attemptsFor(
        key,
        found.map((row) => row.eventId),
      )
      return {
        data: found.map((row) => seen(row, status, attempts.get(row.eventId) ?? [])),
        nextCursor: next === undefined ? null : cursors.write(list, next),
        hasMore: next !== undefined,
      }
    },

    /** Refuses: not_found; that, too, for the ids of deliveries that were made before ids carried their time. */
    delivery: get,

    /**
     * Due at once, from the first step of the schedule, under the same eventId; a delivered one is owed again, and not
     * twice. One whose attempt is under way stays as that attempt leaves it. Refuses: not_found.
     */
    redeliver: async (partnerId: string, id: string, wireEventId: string): Promise<Delivery> => {
      const key = { partnerId, subscriptionId: id }
      await loadSubscription(db, partnerId, id)
      const { eventId } = await load(key, wireEventId)
      await db.transaction(async (tx) => {
        const now = clock.now()
        if (!(await wakeEndpointQueue(tx, partnerId, id, now))) throw notFound('webhook subscription')
        // Under the endpoint queue's lock it can only go from the queue to the delivered: looked for in that order it is found.
        if (await requeue.hurry(tx, key, eventId, now)) return
        const moved = await requeue.takeDelivered(tx, key, eventId)
        if (moved === undefined) throw notFound('delivery')
        await requeue.insertDue(tx, key, [{ ...moved, eventId }], now)
      })
      return get(partnerId, id, wireEventId)
    },

    /** Refuses: not_found. */
    statistics: async (partnerId: string, id: string): Promise<Static<typeof wire.SubscriptionStatistics>> => {
      const key = { partnerId, subscriptionId: id }
      const { status } = await loadSubscription(db, partnerId, id)
      const countMax = wire.statisticsCountMax
      const [endpointQueue, counts, outcomes] = await Promise.all([
        store.endpointQueueState(db, partnerId, id),
        store.countDeliveries(db, key, countMax),
        store.newestAttempts(db, key, wire.statisticsAttemptsMax),
      ])
      if (endpointQueue === undefined || counts === undefined) throw notFound('webhook subscription')
      const [delivered, pending, held] = [counts.delivered, counts.pending, counts.held].map(Number) as [
        number,
        number,
        number,
      ]
      const since = clock.now().getTime() - dayMs
      const recent = outcomes.filter((one) => one.startedAt.getTime() >= since)
      const successes = recent.filter(
        (one) =>
          verdictOf({
            ...(one.status === null ? {} : { status: one.status }),
            ...(one.error === null ? {} : { error: one.error }),
          }) === 'delivered',
      ).length
      const latencies = recent.map((one) => one.durationMs).toSorted((a, b) => a - b)
      const isDisabled = status === 'Disabled'
      const oldest = counts.oldestPendingId === null ? undefined : momentOfId(counts.oldestPendingId)
      return {
        owed: Number(endpointQueue.owed),
        delivered,
        pending: isDisabled ? 0 : pending,
        held: isDisabled ? held + pending : held,
        capped: [delivered, pending, held].includes(countMax),
        oldestPendingAt: isDisabled || oldest === undefined ? null : oldest.toISOString(),
        failingSince: endpointQueue.failingSince?.toISOString() ?? null,
        breaker: endpointQueue.probeMs === null ? 'Closed' : 'Open',
        last24Hours: {
          attempts: recent.length,
          successes,
          failures: recent.length - successes,
          latencyMs: {
            p50: percentile(latencies, 0.5),
            p95: percentile(latencies, 0.95),
            p99: percentile(latencies, 0.99),
          },
        },
      }
    },
  }
}

export type History = ReturnType<typeof createHistory>
