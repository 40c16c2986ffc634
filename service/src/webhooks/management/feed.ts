/** The pull feed: every event of a partner, in the order of fan-out, with or without a subscription. */
import { eventNames, isEventName, ownJsonExactly, type Static, webhooks as wire } from '@partner-payments/wire'
import { type Cursors, notFound, Refusal, refuseField } from '../../kernel/api/index.ts'
import { derivedTimeId } from '../../kernel/index.ts'
import type { EventOutbox, StoredEvent } from '../../events/index.ts'
import type { Database, Tx } from '../../postgres/index.ts'
import * as history from './store-history.ts'
import { subscriptionById } from './store-subscriptions.ts'

export type FeedDeps = { readonly db: Database; readonly cursors: Cursors; readonly eventOutbox: EventOutbox }

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
export type Feed = {
  readonly data: readonly FeedEvent[]
  readonly nextCursor: string
  readonly hasMore: boolean
}

export type EventView = Omit<FeedEvent, 'sequence' | 'eventId'> & {
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

const namesOf = ({ id, type, reference, occurredAt }: StoredEvent) => ({ id, eventType: type, reference, occurredAt })
const dataOf = ({ data }: StoredEvent) => ownJsonExactly<Record<string, unknown>>(data)

/** The event ids in the deliveries of the subscription, including future deliveries. */
const eventIdsOf = async (tx: Tx, partnerId: string, subscriptionId: string, ids: readonly string[]) => {
  const rows = await history.wireIdsOf(tx, { partnerId, subscriptionId }, ids)
  const known = new Map(rows.map((row) => [row.eventId, row.wireEventId]))
  return (id: string) => known.get(id) ?? derivedTimeId(id, subscriptionId)
}

export function createFeed({ db, cursors, eventOutbox }: FeedDeps) {
  /** The sequence beside which the page starts. Refuses: validation_failed (/query/after), cursor_expired. */
  const readPosition = async (list: string, partnerId: string, query: FeedQuery): Promise<bigint> => {
    const { after, order } = query
    // Reads the last sequence first: in an empty feed, every later event has a higher number.
    const last = await history.lastSequence(db, partnerId)
    const first = (await history.oldestInFeed(db, partnerId)) ?? last + 1n
    if (after === undefined) return order === 'newest' ? last + 1n : first - 1n
    const position = BigInt(cursors.open(list, after, '/query/after'))
    // The way back ends at the oldest event.
    if (order === 'newest') return position
    if (position + 1n < first)
      throw new Refusal(
        'cursor_expired',
        `The events ${position + 1n} to ${first - 1n} are older than ${wire.eventRetentionDays} days and deleted. ` +
          'Omit `after` to start at the oldest available event.',
      )
    return position
  }

  return {
    /**
     * Oldest first, from `after` on, unless the newest are asked for. Sequence numbers are assigned under a lock, so that no lower number becomes
     * visible later: a client that continues from each `nextCursor` misses no event. Refuses: validation_failed,
     * not_found, cursor_expired.
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
      const read = order === 'newest' ? history.feedBefore : history.feedAfter
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
      const eventIdOf = subscriptionId && (await eventIdsOf(db, partnerId, subscriptionId, ids))
      const data = shown.map(({ sequence, event }) => ({
        ...namesOf(event),
        sequence,
        ...(eventIdOf ? { eventId: eventIdOf(event.id) } : {}),
        data: dataOf(event),
      }))
      const isCut = found.length > limit
      const last = (isCut ? shown.at(-1)?.sequence : examined.at(-1)?.sequence) ?? position
      return { data, nextCursor: cursors.write(list, String(last)), hasMore: isCut || rows.length > examinedMax }
    },
    event: (partnerId: string, id: string) => readEvent({ db, eventOutbox }, partnerId, id),
  }
}

/** An event with its deliveries. Refuses: not_found. */
async function readEvent(
  { db, eventOutbox }: Pick<FeedDeps, 'db' | 'eventOutbox'>,
  partnerId: string,
  id: string,
): Promise<EventView> {
  const [event] = await eventOutbox.byIds(db, [{ partnerId, eventId: id }])
  if (event === undefined) throw notFound('event')
  const deliveries = await history.deliveriesOfEvent(db, partnerId, id)
  return {
    ...namesOf(event),
    deliveries: deliveries.map(({ subscriptionId, wireEventId }) => ({ subscriptionId, eventId: wireEventId })),
    data: dataOf(event),
  }
}

export type FeedVerbs = ReturnType<typeof createFeed>
