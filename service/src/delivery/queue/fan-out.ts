/** Fan-out: gives events their numbers in the feed, and creates a delivery for each subscription that wants an event. */
import { after, type Clock, derivedTimeId } from '../../kernel/index.ts'
import type { EventOutbox, OwnedEvent } from '../../events/index.ts'
import type { Tx } from '../../postgres/index.ts'
import type { NewDeliveries } from './attempt.ts'
import { subscribedMarginMs } from '../limits.ts'
import { wants as wantsType } from '../management/rules.ts'
import * as endpointQueues from './store-endpoint-queues.ts'
import * as queue from './store-queue.ts'
import * as subscriptions from '../management/store-subscriptions.ts'

export type FannedOut = {
  /** The number of events. */
  readonly events: number
  /** The deliveries of enabled subscriptions. */
  readonly deliveries: readonly NewDeliveries[]
}

type Subscription = subscriptions.Wanting

/**
 * A subscription gets no event from before its creation, however late fan-out comes to it. The margin allows for clocks
 * that differ. A creation in the future means that the clock was put back; then every event is after it.
 */
const wants = (subscription: Subscription, event: OwnedEvent, now: Date): boolean =>
  wantsType(subscription, event.type) &&
  (subscription.createdAt <= after(event.occurredAt, subscribedMarginMs) || subscription.createdAt > now)

type NumberedEvent = { readonly event: OwnedEvent; readonly sequence: bigint }

/** Assigns the next numbers of each partner, without gaps, in the order of the events. */
async function numberEvents(
  tx: Tx,
  events: readonly OwnedEvent[],
): Promise<ReadonlyMap<string, readonly NumberedEvent[]>> {
  const byPartner = Map.groupBy(events, (event) => event.partnerId)
  const counts = new Map([...byPartner].map(([partnerId, own]) => [partnerId, own.length]))
  const lasts = await subscriptions.takeNumbers(tx, counts)
  return new Map(
    [...byPartner].map(([partnerId, own]) => {
      const before = (lasts.get(partnerId) ?? 0n) - BigInt(own.length)
      return [partnerId, own.map((event, index) => ({ event, sequence: before + BigInt(index + 1) }))]
    }),
  )
}

function newDeliveriesOf(subscription: Subscription, events: readonly NumberedEvent[], now: Date): NewDeliveries {
  const { partnerId, id: subscriptionId, updatedAt } = subscription
  const rows = events
    .filter(({ event }) => wants(subscription, event, now))
    .map(({ event: { id: eventId, type, reference, data }, sequence }) => ({
      subscriptionId,
      eventId,
      sequence,
      wireEventId: derivedTimeId(eventId, subscriptionId),
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

export function createFanOut({ clock, eventOutbox }: { readonly clock: Clock; readonly eventOutbox: EventOutbox }) {
  /**
   * Takes up to `eventsMax` events of each partner. A disabled subscription gets its deliveries, too. A partner whose row
   * another worker has locked is skipped: one fan-out at a time keeps the order of its events. `workerId`: the worker that
   * gets the result, so that its endpoint queues need no wake-up.
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
      eventOutbox.take(tx, locked, eventsMax),
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
        ...newDeliveriesOf(subscription, numbered.get(subscription.partnerId) ?? [], now),
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
