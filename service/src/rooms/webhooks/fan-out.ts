/** Events become what subscriptions are owed: the feed, the queue, and lanes that are due. */
import { after, type Clock, derivedTimeId } from '../../kernel/index.ts'
import type { Outbox, OwnedEvent } from '../../outbox/index.ts'
import type { Tx } from '../../postgres/index.ts'
import { subscribedMarginMs } from './limits.ts'
import { wants as wantsType } from './rules.ts'
import * as lanes from './store-lanes.ts'
import * as queue from './store-queue.ts'
import * as store from './store.ts'

export type FannedOut = {
  readonly events: number
  /** Subscriptions with something new to attempt. */
  readonly woken: readonly store.SubscriptionKey[]
}

/**
 * What happened before a subscription was there is none of its business, however late it is fanned out; but an event too
 * many is better than one too few. One made at a time to come was made before the clock was put back: all is after it.
 */
const wants = ({ events, createdAt }: store.Wanting, event: OwnedEvent, now: Date): boolean =>
  wantsType(events, event.type) && (createdAt <= after(event.occurredAt, subscribedMarginMs) || createdAt > now)

/** The numbers of the events: each partner's own, one after another. */
async function numbered(tx: Tx, byPartner: ReadonlyMap<string, readonly OwnedEvent[]>) {
  const counts = new Map([...byPartner].map(([partnerId, events]) => [partnerId, events.length]))
  const lasts = await store.takeNumbers(tx, counts)
  return [...byPartner].flatMap(([partnerId, events]) => {
    const first = (lasts.get(partnerId) ?? 0n) - BigInt(events.length) + 1n
    return events.map((event, index) => ({ event, sequence: first + BigInt(index) }))
  })
}

export function createFanOut({ clock, outbox }: { readonly clock: Clock; readonly outbox: Outbox }) {
  /**
   * Turns up to `eventsMax` events of each of the partners into one delivery for each subscription that wants them, also
   * while it is disabled. None of a partner whom another worker is at: one at a time keeps the order of the events.
   * `workerId`: who hears of what is new by the answer, and needs no wake-up for the lanes that it holds.
   */
  return async (
    tx: Tx,
    partnerIds: readonly string[],
    eventsMax: number,
    workerId: string | null = null,
  ): Promise<FannedOut> => {
    const locked = await store.lockPartners(tx, partnerIds)
    if (locked.length === 0) return { events: 0, woken: [] }
    const [events, wanting] = await Promise.all([outbox.take(tx, locked, eventsMax), store.subscriptionsOf(tx, locked)])
    if (events.length === 0) return { events: 0, woken: [] }
    const byPartner = Map.groupBy(events, (event) => event.partnerId)
    const numbers = await numbered(tx, byPartner)
    queue.insertFeed(
      tx,
      numbers.map(({ event, sequence }) => ({ partnerId: event.partnerId, sequence, eventId: event.id })),
    )
    const now = clock.now()
    const subscriptions = Map.groupBy(wanting, (row) => row.partnerId)
    const rows = numbers.flatMap(({ event, sequence }) =>
      (subscriptions.get(event.partnerId) ?? [])
        .filter((subscription) => wants(subscription, event, now))
        .map(({ id: subscriptionId }) => ({
          ...{ partnerId: event.partnerId, subscriptionId, eventId: event.id, sequence },
          ...{ wireEventId: derivedTimeId(event.id, subscriptionId), type: event.type, reference: event.reference },
        })),
    )
    if (rows.length === 0) return { events: events.length, woken: [] }
    const enabled = new Set(
      [...subscriptions.values()].flat().flatMap(({ id, status }) => (status === 'Enabled' ? [id] : [])),
    )
    const owed = [...Map.groupBy(rows, (row) => row.subscriptionId)].map(([subscriptionId, of]) => ({
      ...{ partnerId: of[0]?.partnerId ?? '', subscriptionId, count: of.length, wake: enabled.has(subscriptionId) },
    }))
    lanes.lockLanes(tx, owed)
    lanes.addOwed(tx, owed, workerId, now)
    queue.insertQueue(tx, rows, now)
    return { events: events.length, woken: owed.filter(({ wake }) => wake) }
  }
}
