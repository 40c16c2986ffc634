/** The pull feed: every event of a partner in the order in which they were told, whether or not anybody subscribes. */
import { isEventName, parseJsonExactly, type Static, webhooks as wire } from '@partner-payments/wire'
import { type Cursors, notFound, Refusal, refuseField } from '../../api/index.ts'
import { derivedTimeId } from '../../kernel/index.ts'
import type { EventOutbox } from '../../events/index.ts'
import type { Database, Tx } from '../../postgres/index.ts'
import * as history from './store-history.ts'
import * as store from './store-recoveries.ts'
import { subscriptionById } from './store-subscriptions.ts'

export type FeedDeps = { readonly db: Database; readonly cursors: Cursors; readonly eventOutbox: EventOutbox }

/** What a page that is asked for some types looks at: one that finds less than its limit says where it got to. */
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

/** Refuses (400, /query/types): a name that no event has, which would be waited for in vain. */
function readTypes(text: string | undefined): readonly string[] | undefined {
  const types = text?.split(',')
  const unknown = types?.find((type) => !isEventName(type))
  if (unknown !== undefined)
    throw refuseField({ pointer: '/query/types', code: 'invalid_value', message: 'has a name that no event has' })
  return types
}

export function createFeed({ db, cursors, eventOutbox }: FeedDeps) {
  /** The place to go on from. Refuses: validation_failed (/query/after), cursor_expired. */
  const readPlace = async (list: string, partnerId: string, after: string | undefined): Promise<bigint> => {
    // In this order: where nothing is kept, all up to this number is gone, and what comes meanwhile is above it.
    const last = await store.lastSequence(db, partnerId)
    const first = (await store.oldestInFeed(db, partnerId)) ?? last + 1n
    if (after === undefined) return first - 1n
    const place = BigInt(cursors.open(list, after, '/query/after'))
    if (place + 1n < first)
      throw new Refusal(
        'cursor_expired',
        `The events ${place + 1n} to ${first - 1n} are older than ${wire.eventRetentionDays} days and gone. ` +
          'Without `after`, the feed begins at the oldest that is kept.',
      )
    return place
  }

  /** As the deliveries of the subscription carry them, those to come included. */
  const eventIdsOf = async (tx: Tx, partnerId: string, subscriptionId: string, ids: readonly string[]) => {
    const rows = await history.wireIdsOf(tx, { partnerId, subscriptionId }, ids)
    const known = new Map(rows.map((row) => [row.eventId, row.wireEventId]))
    return (id: string) => known.get(id) ?? derivedTimeId(id, subscriptionId)
  }

  return {
    /**
     * Oldest first, behind `after`. Numbers are given under a lock, so that what can be read is followed by no smaller
     * one: a reader that goes on from each `nextCursor` misses nothing. Refuses: validation_failed, not_found,
     * cursor_expired.
     */
    events: async (partnerId: string, query: Static<typeof wire.FeedQuery>): Promise<Feed> => {
      const { subscriptionId } = query
      if (subscriptionId !== undefined && (await subscriptionById(db, partnerId, subscriptionId)) === undefined)
        throw notFound('webhook subscription', '/query/subscriptionId')
      const list = `${partnerId} feed`
      const { limit } = cursors.read(list, query.limit === undefined ? {} : { limit: query.limit })
      const place = await readPlace(list, partnerId, query.after)
      const types = readTypes(query.types)
      const examined = types === undefined ? limit : examinedEventsMax
      const rows = await store.feedAfter(db, partnerId, place, examined + 1)
      const looked = rows.slice(0, examined)
      const keys = looked.map(({ eventId }) => ({ partnerId, eventId }))
      const events = new Map((await eventOutbox.byIds(db, keys)).map((event) => [event.id, event]))
      const found = looked.flatMap(({ sequence, eventId }) => {
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
      const last = (isCut ? shown.at(-1)?.sequence : looked.at(-1)?.sequence) ?? place
      return { data, nextCursor: cursors.write(list, String(last)), hasMore: isCut || rows.length > examined }
    },
  }
}

export type FeedVerbs = ReturnType<typeof createFeed>
