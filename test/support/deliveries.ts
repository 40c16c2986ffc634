/** Verifies and parses received deliveries, like the code of a partner. */
import assert from 'node:assert/strict'
import { Webhook } from 'standardwebhooks'
import { Value } from 'typebox/value'
import { events, isEventName, parseJsonExactly } from '@partner-payments/wire'
import { type JsonObject, objectAt, textAt } from './client.ts'
import { emitted } from './emitted.ts'
import type { Delivery, Receiver } from './receiver.ts'

export type Event = {
  readonly eventId: string
  readonly name: string
  readonly data: JsonObject
  readonly body: string
}

/** Throws unless the signature is valid, the envelope is exact and `data` matches the contract of its event type. */
export function openDelivery(delivery: Delivery, secret: string): Event {
  const headers = delivery.headers as Record<string, string>
  const envelope = new Webhook(secret).verify(delivery.body, headers) as JsonObject
  assert.deepEqual(Object.keys(envelope), ['eventId', 'data'])
  const data = objectAt(envelope, 'data')
  const name = textAt(data, 'eventType')
  assert.ok(isEventName(name), `an event outside the emitted set: ${name}`)
  assert.deepEqual(Object.keys(data).sort(), emitted[name], `the fields of ${name}`)
  const exact = (parseJsonExactly(delivery.body) as { readonly data: unknown }).data
  const errors = [...Value.Errors(events[name].data, exact)].map((error) => `${error.instancePath} ${error.message}`)
  assert.deepEqual(errors, [], `${name}: ${delivery.body}`)
  assert.equal(envelope.eventId, headers['webhook-id'])
  return { eventId: textAt(envelope, 'eventId'), name, data, body: delivery.body }
}

/** Each event once, in the order of first arrival, without redeliveries. */
export function receivedEvents(receiver: Receiver, secret: string): readonly Event[] {
  const byId = new Map<string, Event>()
  for (const delivery of receiver.deliveries) {
    const event = openDelivery(delivery, secret)
    const earlier = byId.get(event.eventId)
    if (earlier === undefined) byId.set(event.eventId, event)
    else assert.equal(event.body, earlier.body, 'a redelivery has the same bytes')
  }
  return [...byId.values()]
}

/** The events of one transaction, ordered by the time at which they occurred, then by arrival. */
export function eventsOf(all: readonly Event[], reference: string): readonly Event[] {
  const own = all.filter((event) => event.data.reference === reference)
  return own.toSorted((a, b) => textAt(a.data, 'timestamp').localeCompare(textAt(b.data, 'timestamp')))
}
