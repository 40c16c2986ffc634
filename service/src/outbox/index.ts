/**
 * The outbox: one immutable event row, inserted in the transaction that changes the state, and one row in the queue of
 * events to fan out. What commits is delivered; what rolls back never was.
 *
 * Tables: outbox.events, outbox.pending. No NOTIFY: it would serialise commits, and polling is the truth anyway.
 */
import type { EventData, EventName } from '@partner-payments/wire'
import { newId } from '../kernel/index.ts'
import { sql, type Tx } from '../postgres/index.ts'

export type OutboxEvent = {
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

export type Outbox = {
  /** Appends an event; `data` must have the shape that the interface document gives its type. */
  readonly append: <N extends EventName>(tx: Tx, partnerId: string, type: N, occurredAt: Date, data: Data<N>) => void
  /** Appends events in their order. Written with the commit. */
  readonly appendMany: <N extends EventName>(tx: Tx, events: readonly NewEvent<N>[]) => void
  /** Partners with events to fan out: the unlocked read that finds due work (it names no partner by design). */
  readonly partnersWithPending: (tx: Tx, partnersMax: number) => Promise<readonly string[]>
  /** Takes events of a partner off the queue, oldest first, skipping what another worker is taking. */
  readonly take: (tx: Tx, partnerId: string, eventsMax: number) => Promise<readonly OutboxEvent[]>
}

function appendMany<N extends EventName>(tx: Tx, events: readonly NewEvent<N>[]): void {
  if (events.length === 0) return
  const rows = events.map(({ partnerId, type, occurredAt, data }) => ({
    partnerId,
    id: newId(),
    type,
    reference: (data as { readonly reference: string }).reference,
    payload: JSON.stringify({ eventType: type, timestamp: occurredAt.toISOString(), ...data }),
    occurredAt,
  }))
  const partnerIds = rows.map((row) => row.partnerId)
  const ids = rows.map((row) => row.id)
  tx.later(sql`
    insert into outbox.events (partner_id, id, type, reference, data, occurred_at)
    select * from unnest(${partnerIds}::uuid[], ${ids}::uuid[], ${rows.map((row) => row.type)}::text[],
      ${rows.map((row) => row.reference)}::text[], ${rows.map((row) => row.payload)}::text[],
      ${rows.map((row) => row.occurredAt)}::timestamptz[]) as e (partner_id, id, type, reference, data, occurred_at)`)
  tx.later(sql`
    insert into outbox.pending (partner_id, event_id)
    select * from unnest(${partnerIds}::uuid[], ${ids}::uuid[]) as e (partner_id, event_id)`)
}

export function createOutbox(): Outbox {
  return {
    append: (tx, partnerId, type, occurredAt, data) => appendMany(tx, [{ partnerId, type, occurredAt, data }]),
    appendMany,
    partnersWithPending: async (tx, partnersMax) => {
      const rows = await tx.rows<{ partnerId: string }>(sql`
        select partner_id from outbox.pending group by partner_id limit ${partnersMax}`)
      return rows.map((row) => row.partnerId)
    },
    take: async (tx, partnerId, eventsMax) => {
      const taken = await tx.rows<{ eventId: string }>(sql`
        delete from outbox.pending where partner_id = ${partnerId} and event_id = any(array(
          select event_id from outbox.pending where partner_id = ${partnerId}
          order by event_id for update skip locked limit ${eventsMax}))
        returning event_id`)
      if (taken.length === 0) return []
      return tx.rows<OutboxEvent>(sql`
        select id, type, reference, data, occurred_at from outbox.events
        where partner_id = ${partnerId} and id = any(${taken.map((row) => row.eventId)}::uuid[]) order by id`)
    },
  }
}
