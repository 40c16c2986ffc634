/** Events become what subscriptions are owed: the feed, the queue, and endpoint queues that are due. */
import { after, type Clock, derivedTimeId } from '../../kernel/index.ts'
import type { EventOutbox, OwnedEvent } from '../../events/index.ts'
import type { Tx } from '../../postgres/index.ts'
import type { Fresh } from './endpoint-queue.ts'
import { subscribedMarginMs } from '../limits.ts'
import { wants as wantsType } from '../management/rules.ts'
import * as endpointQueues from './store-endpoint-queues.ts'
import * as queue from './store-queue.ts'
import * as store from '../management/store-subscriptions.ts'

export type FannedOut = {
  readonly events: number
  /** What there is to attempt for each enabled subscription. */
  readonly woken: readonly Fresh[]
}

/**
 * What happened before a subscription was there is none of its business, however late it is fanned out; but an event too
 * many is better than one too few. One made at a time to come was made before the clock was put back: all is after it.
 */
const wants = (
  { events, createdAt }: Pick<store.Wanting, 'events' | 'createdAt'>,
  event: OwnedEvent,
  now: Date,
): boolean =>
  wantsType(events, event.type) && (createdAt <= after(event.occurredAt, subscribedMarginMs) || createdAt > now)

type Numbered = { readonly event: OwnedEvent; readonly sequence: bigint }

/** The numbers of the events: each partner's own, one after another. */
async function numbered(tx: Tx, events: readonly OwnedEvent[]): Promise<ReadonlyMap<string, readonly Numbered[]>> {
  const byPartner = Map.groupBy(events, (event) => event.partnerId)
  const counts = new Map([...byPartner].map(([partnerId, of]) => [partnerId, of.length]))
  const lasts = await store.takeNumbers(tx, counts)
  return new Map(
    [...byPartner].map(([partnerId, of]) => {
      const before = (lasts.get(partnerId) ?? 0n) - BigInt(of.length)
      return [partnerId, of.map((event, index) => ({ event, sequence: before + BigInt(index + 1) }))]
    }),
  )
}

/** What a subscription is owed of its partner's new events. */
function freshOf(
  { partnerId, id: subscriptionId, ...wanting }: store.Wanting,
  numbers: readonly Numbered[],
  now: Date,
): Fresh {
  const rows = numbers
    .filter(({ event }) => wants(wanting, event, now))
    .map(({ event: { id: eventId, type, reference, data }, sequence }) => ({
      ...{ subscriptionId, eventId, sequence, wireEventId: derivedTimeId(eventId, subscriptionId), type, reference },
      ...{ data, dueAt: null, attemptCount: 0, failures: 0 },
    }))
  const [before, upTo] = [(numbers[0]?.sequence ?? 1n) - 1n, numbers.at(-1)?.sequence ?? 0n]
  return { partnerId, subscriptionId, updatedAt: wanting.updatedAt, after: before, upTo, rows }
}

export function createFanOut({ clock, eventOutbox }: { readonly clock: Clock; readonly eventOutbox: EventOutbox }) {
  /**
   * Turns up to `eventsMax` events of each of the partners into one delivery for each subscription that wants them, also
   * while it is disabled. None of a partner whom another worker is at: one at a time keeps the order of the events.
   * `workerId`: who hears of what is new by the answer, and needs no wake-up for the endpoint queues that it holds.
   */
  return async (
    tx: Tx,
    partnerIds: readonly string[],
    eventsMax: number,
    workerId: string | null = null,
  ): Promise<FannedOut> => {
    const locked = await store.lockPartners(tx, partnerIds)
    if (locked.length === 0) return { events: 0, woken: [] }
    const [events, wanting] = await Promise.all([
      eventOutbox.take(tx, locked, eventsMax),
      store.subscriptionsOf(tx, locked),
    ])
    if (events.length === 0) return { events: 0, woken: [] }
    const numbers = await numbered(tx, events)
    queue.insertFeed(
      tx,
      [...numbers].flatMap(([partnerId, of]) =>
        of.map(({ event, sequence }) => ({ partnerId, sequence, eventId: event.id })),
      ),
    )
    const now = clock.now()
    const owed = wanting
      .map((one) => ({
        ...freshOf(one, numbers.get(one.partnerId) ?? [], now),
        ...{ wake: one.status === 'Enabled', ordered: one.ordered },
      }))
      .filter(({ rows }) => rows.length > 0)
    if (owed.length === 0) return { events: events.length, woken: [] }
    const counted = owed.map((of) => ({ ...of, count: of.rows.length }))
    endpointQueues.lockEndpointQueues(tx, owed)
    endpointQueues.addOwed(tx, counted, workerId, now)
    queue.insertQueue(tx, owed, now)
    return { events: events.length, woken: owed.filter(({ wake }) => wake) }
  }
}
