/**
 * The event outbox. The transaction that changes the state inserts one immutable event row and one row in the queue of
 * events to fan out. So every committed event is delivered, and no event of a rolled-back transaction is.
 *
 * Tables: events.events, events.pending. The transaction sends no NOTIFY, because that would serialise commits: `jobs/` wakes the fan-out after it.
 */
import type { EventName } from '@partner-payments/wire'
import { newId } from '../kernel/index.ts'
import {
  acrossPartners,
  columnValues,
  dueWork,
  firstPartners,
  insertBy,
  ofOnePartner,
  type PartnerPage,
  type Sql,
  sql,
  unprepared,
  type Tx,
} from '../postgres/index.ts'

import type { EventPayload } from './samples.ts'

export { type EventPayload, sampleEvent } from './samples.ts'

export type StoredEvent = {
  readonly id: string
  readonly type: EventName
  readonly reference: string
  /** JSON text of the payload. Every delivery sends it unchanged as `data`. */
  readonly data: string
  readonly occurredAt: Date
}

export type NewEvent<N extends EventName> = {
  readonly partnerId: string
  readonly type: N
  readonly occurredAt: Date
  readonly data: EventPayload<N>
}

export type EventOutbox = {
  /** Appends an event. `data` has the shape that the interface document defines for its type. */
  readonly append: <N extends EventName>(
    tx: Tx,
    partnerId: string,
    type: N,
    occurredAt: Date,
    data: EventPayload<N>,
  ) => void
  /** Appends events in order. They are sent with the next statement or with the commit (`Tx.later`). */
  readonly appendMany: <N extends EventName>(tx: Tx, events: readonly NewEvent<N>[]) => void
  /** Lists partners that have events to fan out, with ids above `after`. Takes no lock. */
  readonly partnersWithPending: (tx: Tx, after: string, partnersMax: number) => Promise<PartnerPage>
  /**
   * Removes up to `eventsMax` events of each partner from the queue and returns them, oldest first. The caller's lock
   * keeps other processes from taking events of these partners.
   */
  readonly takePending: (tx: Tx, partnerIds: readonly string[], eventsMax: number) => Promise<readonly PartnerEvent[]>
  /** Finds the oldest event that is not fanned out, across all partners. */
  readonly oldestPending: (tx: Tx) => Promise<string | undefined>
  /** Reads events by their keys, in no particular order. Leaves out keys without an event. */
  readonly byIds: (tx: Tx, keys: readonly EventKey[]) => Promise<readonly PartnerEvent[]>
  /** Reports whether the partner has an event with a smaller id that is not fanned out. */
  readonly hasPendingBefore: (tx: Tx, partnerId: string, eventId: string) => Promise<boolean>
}

export type EventKey = { readonly partnerId: string; readonly eventId: string }
export type PartnerEvent = StoredEvent & { readonly partnerId: string }

/** Formats the payload of an event as JSON text. */
export const formatPayload = <N extends EventName>(type: N, occurredAt: Date, data: EventPayload<N>): string =>
  JSON.stringify({ eventType: type, timestamp: occurredAt.toISOString(), ...data })

const newEvents = insertBy<PartnerEvent>(
  { partnerId: 'uuid', id: 'uuid', type: 'text', reference: 'text', data: 'json', occurredAt: 'timestamptz' },
  [['partnerId'], ['type', 'occurredAt']],
)
const newPending = insertBy<EventKey>({ partnerId: 'uuid', eventId: 'uuid' }, [['partnerId']])

function insertEvents<N extends EventName>(tx: Tx, events: readonly NewEvent<N>[]): void {
  const rows = events.map(({ partnerId, type, occurredAt, data }) => ({
    partnerId,
    id: newId(),
    type,
    reference: (data as { readonly reference: string }).reference,
    data: formatPayload(type, occurredAt, data),
    occurredAt,
  }))
  tx.later(sql`/* events.insertEvents */
    insert into events.events (partner_id, id, type, reference, data, occurred_at) ${newEvents(tx, rows)}`)
  const pending = rows.map(({ partnerId, id: eventId }) => ({ partnerId, eventId }))
  tx.later(sql`/* events.insertEvents */
    insert into events.pending (partner_id, event_id) ${newPending(tx, pending)}`)
}

async function byIds(tx: Tx, keys: readonly EventKey[]): Promise<readonly PartnerEvent[]> {
  if (keys.length === 0) return []
  const column = columnValues(keys)
  const partnerIds = column('partnerId')
  return tx.rows<PartnerEvent>(
    unprepared(sql`/* events.byIds */
      select event.* from unnest(${partnerIds}::uuid[], ${column('eventId')}::uuid[]) as input (partner_id, event_id)
      cross join lateral (
        select partner_id, id, type, reference, data, occurred_at from events.events
        where partner_id = input.partner_id and id = input.event_id and ${ofOnePartner(partnerIds)}
        limit 1) as event`),
  )
}

/** Lists the oldest events of each partner, in the order of the partners. */
const nextPending = (tx: Tx, partnerIds: readonly string[], eventsMax: number): Promise<readonly EventKey[]> =>
  tx.rows<EventKey>(
    unprepared(sql`/* events.nextPending */
      select oldest.* from unnest(${partnerIds}::uuid[]) as input (partner_id)
      cross join lateral (
        select partner_id, event_id from events.pending
        where partner_id = input.partner_id and ${ofOnePartner(partnerIds)}
        order by event_id limit ${eventsMax}) as oldest`),
  )

/** Removes events from the queue. */
function deletePending(tx: Tx, keys: readonly EventKey[]): void {
  const column = columnValues(keys)
  const partnerIds = column('partnerId')
  tx.later(
    unprepared(sql`/* events.deletePending */
      delete from events.pending
      using unnest(${partnerIds}::uuid[], ${column('eventId')}::uuid[]) as taken (partner_id, event_id)
      where pending.partner_id = taken.partner_id and pending.event_id = taken.event_id
        and ${ofOnePartner(partnerIds, sql`pending.partner_id`)}`),
  )
}

/** Returns the epoch if an event is queued, because events are due at once. */
export const eventsDue = (): Sql =>
  dueWork(
    'reads whether an event is to be fanned out',
    (whose) => sql`/* events.eventsDue */
      select 'epoch'::timestamptz as due_at from events.pending where ${whose()} limit 1`,
  )

export function createEventOutbox(): EventOutbox {
  const appendMany: EventOutbox['appendMany'] = (tx, events) => {
    if (events.length === 0) return
    insertEvents(tx, events)
  }
  return {
    append: (tx, partnerId, type, occurredAt, data) => appendMany(tx, [{ partnerId, type, occurredAt, data }]),
    appendMany,
    partnersWithPending: (tx, after, partnersMax) =>
      firstPartners(tx, partnersMax, (rowsMax) =>
        dueWork('finds partners with events to fan out, without a lock', (whose) =>
          unprepared(sql`/* events.partnersWithPending */
            select partner_id from events.pending where partner_id > ${after} and ${whose()}
            order by partner_id limit ${rowsMax}`),
        ),
      ),
    takePending: async (tx, partnerIds, eventsMax) => {
      const taken = await nextPending(tx, partnerIds, eventsMax)
      if (taken.length === 0) return []
      deletePending(tx, taken)
      const events = await byIds(tx, taken)
      return events.toSorted((a, b) => (a.id < b.id ? -1 : 1))
    },
    oldestPending: async (tx) => {
      const row = await tx.row<{ eventId: string }>(
        acrossPartners(
          'finds the oldest pending event, whose partition must be kept',
          unprepared(sql`/* events.oldestPending */ select event_id from events.pending order by event_id limit 1`),
        ),
      )
      return row?.eventId
    },
    byIds,
    hasPendingBefore: async (tx, partnerId, eventId) => {
      const row = await tx.row(
        unprepared(sql`/* events.hasPendingBefore */
          select 1 as found from events.pending where partner_id = ${partnerId} and event_id < ${eventId} limit 1`),
      )
      return row !== undefined
    },
  }
}
