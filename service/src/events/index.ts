/**
 * The outbox: one immutable event row, inserted in the transaction that changes the state, and one row in the queue of
 * events to fan out. What commits is delivered; what rolls back never was.
 *
 * Tables: events.events, events.pending. No NOTIFY: it would serialise commits, and polling is the truth anyway.
 */
import type { EventData, EventName } from '@partner-payments/wire'
import { newId } from '../kernel/index.ts'
import { type Database, givenBy, ofOnePartner, unprepared, sql, type Tx } from '../postgres/index.ts'

export { type SampleContext, sampleOf } from './samples.ts'

export type StoredEvent = {
  readonly id: string
  readonly type: EventName
  readonly reference: string
  /** The JSON text of the payload: exactly what every delivery carries as `data`. */
  readonly data: string
  readonly occurredAt: Date
}

type Data<N extends EventName> = Omit<EventData<N>, 'eventType' | 'timestamp'>

export type NewEvent<N extends EventName> = {
  readonly partnerId: string
  readonly type: N
  readonly occurredAt: Date
  readonly data: Data<N>
}

export type EventOutbox = {
  /** Appends an event; `data` must have the shape that the interface document gives its type. */
  readonly append: <N extends EventName>(tx: Tx, partnerId: string, type: N, occurredAt: Date, data: Data<N>) => void
  /** Appends events in their order. Written with the commit. */
  readonly appendMany: <N extends EventName>(tx: Tx, events: readonly NewEvent<N>[]) => void
  /**
   * Up to `partnersMax` partners with events to fan out, behind `after` in the order of their ids: the unlocked read that
   * finds due work (it names no partner by design). One probe of the index for each, however long the queue is.
   */
  readonly partnersWithPending: (tx: Tx, after: string, partnersMax: number) => Promise<readonly string[]>
  /**
   * Takes up to `eventsMax` events of each of the partners off the queue, oldest first. The caller holds a lock by which
   * nobody else takes theirs.
   */
  readonly take: (tx: Tx, partnerIds: readonly string[], eventsMax: number) => Promise<readonly OwnedEvent[]>
  /** The oldest event that is not fanned out, of everybody. */
  readonly oldestPending: (tx: Tx) => Promise<string | undefined>
  /** Those of the events that are there, in no order. */
  readonly byIds: (tx: Tx, keys: readonly EventKey[]) => Promise<readonly OwnedEvent[]>
  /** Whether an event of the partner with an id before this one is still to be fanned out. */
  readonly hasPendingBefore: (tx: Tx, partnerId: string, eventId: string) => Promise<boolean>
}

export type EventKey = { readonly partnerId: string; readonly eventId: string }
export type OwnedEvent = StoredEvent & { readonly partnerId: string }

/** The JSON text of an event's payload, as every delivery carries it. */
export const payloadOf = <N extends EventName>(type: N, occurredAt: Date, data: Data<N>): string =>
  JSON.stringify({ eventType: type, timestamp: occurredAt.toISOString(), ...data })

/** Transactions with events in them. */
const appended = new WeakSet<Tx>()

/**
 * The same database, telling `wake` after each commit that had events in it. A hint, and no more: what is told of the
 * events is their rows, which whoever looks for them finds with or without it.
 */
export function wakingDatabase<D extends Database>(db: D, wake: () => void): D {
  return {
    ...db,
    transaction: async (work, options) => {
      let last: Tx | undefined
      const result = await db.transaction((tx, read) => {
        last = tx
        return work(tx, read)
      }, options)
      if (last !== undefined && appended.has(last)) wake()
      return result
    },
  }
}

const givenEvents = givenBy<OwnedEvent>(
  { partnerId: 'uuid', id: 'uuid', type: 'text', reference: 'text', data: 'json', occurredAt: 'timestamptz' },
  [['partnerId'], ['type', 'occurredAt']],
)
const givenPending = givenBy<EventKey>({ partnerId: 'uuid', eventId: 'uuid' }, [['partnerId']])

function appendMany<N extends EventName>(tx: Tx, events: readonly NewEvent<N>[]): void {
  if (events.length === 0) return
  const rows = events.map(({ partnerId, type, occurredAt, data }) => ({
    partnerId,
    id: newId(),
    type,
    reference: (data as { readonly reference: string }).reference,
    data: payloadOf(type, occurredAt, data),
    occurredAt,
  }))
  appended.add(tx)
  tx.later(sql`
    insert into events.events (partner_id, id, type, reference, data, occurred_at) ${givenEvents(rows)}`)
  const pending = rows.map(({ partnerId, id: eventId }) => ({ partnerId, eventId }))
  tx.later(sql`insert into events.pending (partner_id, event_id) ${givenPending(pending)}`)
}

/** The ids come from one partner's rows, or from many: then each row is looked up by both columns of its key. */
async function byIds(tx: Tx, keys: readonly EventKey[]): Promise<readonly OwnedEvent[]> {
  if (keys.length === 0) return []
  const partnerIds = keys.map((key) => key.partnerId)
  return tx.rows<OwnedEvent>(
    unprepared(sql`
      select e.* from unnest(${partnerIds}::uuid[], ${keys.map((key) => key.eventId)}::uuid[]) as w (p, i)
      cross join lateral (
        select partner_id, id, type, reference, data, occurred_at from events.events
        where partner_id = w.p and id = w.i and ${ofOnePartner(partnerIds, sql`partner_id`)} limit 1) as e`),
  )
}

/** In the order of the partners, and of the events of each. */
const nextPending = (tx: Tx, partnerIds: readonly string[], eventsMax: number): Promise<readonly EventKey[]> =>
  tx.rows<EventKey>(
    unprepared(sql`
      select p.* from unnest(${partnerIds}::uuid[]) as w (p)
      cross join lateral (
        select partner_id, event_id from events.pending
        where partner_id = w.p and ${ofOnePartner(partnerIds, sql`partner_id`)}
        order by event_id limit ${eventsMax}) as p`),
  )

export function createEventOutbox(): EventOutbox {
  return {
    append: (tx, partnerId, type, occurredAt, data) => appendMany(tx, [{ partnerId, type, occurredAt, data }]),
    appendMany,
    partnersWithPending: async (tx, after, partnersMax) => {
      const rows = await tx.rows<{ partnerId: string }>(
        unprepared(sql`
          with recursive found (partner_id) as (
            (select partner_id from events.pending where partner_id > ${after} order by partner_id limit 1)
            union all
            select (select n.partner_id from events.pending n where n.partner_id > found.partner_id
              order by n.partner_id limit 1) from found where found.partner_id is not null)
          select partner_id from found where partner_id is not null limit ${partnersMax}`),
      )
      return rows.map((row) => row.partnerId)
    },
    take: async (tx, partnerIds, eventsMax) => {
      const taken = await nextPending(tx, partnerIds, eventsMax)
      if (taken.length === 0) return []
      tx.later(
        unprepared(sql`
          delete from events.pending p
          using unnest(${taken.map((row) => row.partnerId)}::uuid[], ${taken.map((row) => row.eventId)}::uuid[]) as w (p, e)
          where p.partner_id = w.p and p.event_id = w.e and ${ofOnePartner(partnerIds, sql`p.partner_id`)}`),
      )
      const events = await byIds(tx, taken)
      return events.toSorted((a, b) => (a.id < b.id ? -1 : 1))
    },
    oldestPending: async (tx) => {
      const row = await tx.row<{ eventId: string }>(
        unprepared(sql`select event_id from events.pending order by event_id limit 1`),
      )
      return row?.eventId
    },
    byIds,
    hasPendingBefore: async (tx, partnerId, eventId) => {
      const row = await tx.row(
        unprepared(sql`
          select 1 as found from events.pending where partner_id = ${partnerId} and event_id < ${eventId} limit 1`),
      )
      return row !== undefined
    },
  }
}
