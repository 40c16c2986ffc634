/** The pull feed: every event of a partner, in the order of fan-out, with or without a subscription. */
import { eventNames, isEventName, parseJsonExactly, type Static, webhooks as wire } from '@partner-payments/wire'
import { type Cursors, notFound, Refusal, refuseField } from '../../api/index.ts'
import { derivedTimeId } from '../../kernel/index.ts'
import type { EventOutbox } from '../../events/index.ts'
import type { Database, Tx } from '../../postgres/index.ts'
import * as history from './store-history.ts'
import * as store from './store-recoveries.ts'
import { subscriptionById } from './store-subscriptions.ts'

export type FeedDeps = { readonly db: Database; readonly cursors: Cursors; readonly eventOutbox: EventOutbox }

/** Events that a page filtered by type examines. The page may have fewer matches than its limit, and then continues there. */
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
export type Feed = {
  readonly data: readonly FeedEvent[]
  readonly nextCursor: string
  readonly hasMore: boolean
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

export function createFeed({ db, cursors, eventOutbox }: FeedDeps) {
  /** The sequence after which the page starts. Refuses: validation_failed (/query/after), cursor_expired. */
  const readPosition = async (list: string, partnerId: string, after: string | undefined): Promise<bigint> => {
    // Reads the last sequence first: in an empty feed, every later event has a higher number.
    const last = await store.lastSequence(db, partnerId)
    const first = (await store.oldestInFeed(db, partnerId)) ?? last + 1n
    if (after === undefined) return first - 1n
    const position = BigInt(cursors.open(list, after, '/query/after'))
    if (position + 1n < first)
      throw new Refusal(
        'cursor_expired',
        `The events ${position + 1n} to ${first - 1n} are older than ${wire.eventRetentionDays} days and deleted. ` +
          'Omit `after` to start at the oldest available event.',
      )
    return position
  }

  /** The event ids in the deliveries of the subscription, including future deliveries. */
  const eventIdsOf = async (tx: Tx, partnerId: string, subscriptionId: string, ids: readonly string[]) => {
    const rows = await history.wireIdsOf(tx, { partnerId, subscriptionId }, ids)
    const known = new Map(rows.map((row) => [row.eventId, row.wireEventId]))
    return (id: string) => known.get(id) ?? derivedTimeId(id, subscriptionId)
  }

  return {
    /**
     * Oldest first, from `after` on. Sequence numbers are assigned under a lock, so that no lower number becomes
     * visible later: a client that continues from each `nextCursor` misses no event. Refuses: validation_failed,
     * not_found, cursor_expired.
     */
    events: async (partnerId: string, query: Static<typeof wire.FeedQuery>): Promise<Feed> => {
      const { subscriptionId } = query
      if (subscriptionId !== undefined && (await subscriptionById(db, partnerId, subscriptionId)) === undefined)
        throw notFound('webhook subscription', '/query/subscriptionId')
      const list = `${partnerId} feed`
      const { limit } = cursors.read(list, query.limit === undefined ? {} : { limit: query.limit })
      const position = await readPosition(list, partnerId, query.after)
      const types = readTypes(query.types)
      const examinedMax = types === undefined ? limit : examinedEventsMax
      const rows = await store.feedAfter(db, partnerId, position, examinedMax + 1)
      const examined = rows.slice(0, examinedMax)
      const keys = examined.map(({ eventId }) => ({ partnerId, eventId }))
      const events = new Map((await eventOutbox.byIds(db, keys)).map((event) => [event.id, event]))
      const found = examined.flatMap(({ sequence, eventId }) => {
        const event = events.get(eventId)
        return event === undefined || types?.includes(event.type) === false ? [] : [{ sequence, event }]
      })
      const shown = found.slice(0, limit)
      const ids = shown.map(({ event }) => event.id)
      const eventIdOf = subscriptionId && (await eventIdsOf(db, partnerId, subscriptionId, ids))
      const data = shown.map(({ sequence, event }) => ({
        id: event.id,
        sequence,
        eventType: event.type,
        reference: event.reference,
        occurredAt: event.occurredAt,
        ...(eventIdOf ? { eventId: eventIdOf(event.id) } : {}),
        data: parseJsonExactly(event.data) as Record<string, unknown>,
      }))
      const isCut = found.length > limit
      const last = (isCut ? shown.at(-1)?.sequence : examined.at(-1)?.sequence) ?? position
      return { data, nextCursor: cursors.write(list, String(last)), hasMore: isCut || rows.length > examinedMax }
    },
  }
}

export type FeedVerbs = ReturnType<typeof createFeed>
