/** The handlers of webhook operations: each calls the delivery engine and shapes the response. */
import {
  type EventName,
  eventNames,
  events,
  ownJson,
  type Static,
  subscriptionField,
  webhooks as wire,
  type webhooks,
} from '@partner-payments/wire'
import { type Handlers, writePage, createRecordWriter } from '../../kernel/api/index.ts'
import type { DeliveryEngine, FeedEvent, Recovery, Subscription, TestDeliveries } from '../index.ts'
import type { Idempotency } from '../../idempotency/index.ts'

const writeSubscription = createRecordWriter(wire.Subscription)
const subscriptionResponse = ({ warnings, ...row }: Subscription) =>
  writeSubscription({ ...row, warnings: warnings.length === 0 ? undefined : warnings })

const deliveryResponse = createRecordWriter(wire.Delivery)

const writeRecovery = createRecordWriter(wire.Recovery)
const recoveryResponse = (row: Recovery) =>
  writeRecovery({ ...row, examined: Number(row.examined), recovered: Number(row.recovered) })

const writeEvent = createRecordWriter(wire.FeedEvent)
const eventResponse = (event: FeedEvent) => writeEvent({ ...event, sequence: Number(event.sequence) })

/** Creates the routes of operations that take effect once per idempotency key. */
function keyedRoutes(webhooks: DeliveryEngine, idempotency: Idempotency) {
  return {
    createSubscription: idempotency.handler('createSubscription', async ({ caller, body }, tx) => {
      const { secret, ...subscription } = await webhooks.create(caller.partnerId, body, tx)
      const response = subscriptionResponse(subscription)
      const created = `the webhook subscription ${subscription.id}`
      return { body: secret === undefined ? response : { ...response, secret }, created }
    }),
    rotateSecret: idempotency.handler('rotateSecret', async ({ caller, params, body }, tx) => {
      const rotated = await webhooks.rotateSecret(caller.partnerId, params.id, body, tx)
      const { createdAt, overlapUntil, ...rest } = rotated
      return {
        body: { ...rest, createdAt: createdAt.toISOString(), overlapUntil: overlapUntil.toISOString() },
        created: `a signing key of the webhook subscription ${rotated.id}`,
      }
    }),
    redeliver: idempotency.handler('redeliver', async ({ caller, params }, tx) => {
      const delivery = await webhooks.redeliver(caller.partnerId, params.id, params.eventId, tx)
      return { body: deliveryResponse(delivery), created: `a redelivery of the event ${delivery.eventId}` }
    }),
    startRecovery: idempotency.handler('startRecovery', async ({ caller, params, body }, tx) => {
      const recovery = await webhooks.recover(caller.partnerId, params.id, body, tx)
      return { body: recoveryResponse(recovery), created: `the recovery ${recovery.id}` }
    }),
  } satisfies Partial<Handlers<'webhooks'>>
}

export function webhooksRoutes(
  webhooks: DeliveryEngine,
  testDeliveries: TestDeliveries,
  idempotency: Idempotency,
): Handlers<'webhooks'> {
  return {
    ...keyedRoutes(webhooks, idempotency),
    listEventTypes: async () => ({ body: { data: eventTypes } }),
    listSubscriptions: async ({ caller, query }) =>
      writePage(await webhooks.list(caller.partnerId, query), subscriptionResponse),
    getSubscription: async ({ caller, params }) => ({
      body: subscriptionResponse(await webhooks.get(caller.partnerId, params.id)),
    }),
    updateSubscription: async ({ caller, params, body }) => ({
      body: subscriptionResponse(await webhooks.update(caller.partnerId, params.id, body)),
    }),
    enableSubscription: async ({ caller, params }) => ({
      body: subscriptionResponse(await webhooks.enable(caller.partnerId, params.id)),
    }),
    testSubscription: async ({ caller, params, body }) => ({
      body: await testDeliveries.test(caller.partnerId, params.id, body),
    }),
    deleteSubscription: async ({ caller, params }) => ({
      body: await webhooks.remove(caller.partnerId, params.id).then(() => undefined),
    }),
    listDeliveries: async ({ caller, params, query }) =>
      writePage(await webhooks.deliveries(caller.partnerId, params.id, query), deliveryResponse),
    getDelivery: async ({ caller, params }) => ({
      body: deliveryResponse(await webhooks.delivery(caller.partnerId, params.id, params.eventId)),
    }),
    listRecoveries: async ({ caller, params, query }) =>
      writePage(await webhooks.recoveries(caller.partnerId, params.id, query), recoveryResponse),
    getRecovery: async ({ caller, params }) => ({
      body: recoveryResponse(await webhooks.recovery(caller.partnerId, params.id, params.recoveryId)),
    }),
    getSubscriptionStatistics: async ({ caller, params }) => ({
      body: await webhooks.statistics(caller.partnerId, params.id),
    }),
    listEvents: async ({ caller, query }) => {
      const feed = await webhooks.events(caller.partnerId, query)
      return { body: { ...feed, data: feed.data.map(eventResponse) } }
    },
    getEvent: async ({ caller, params }) => {
      const { occurredAt, deliveries, ...event } = await webhooks.event(caller.partnerId, params.id)
      return { body: { ...event, occurredAt: occurredAt.toISOString(), deliveries: [...deliveries] } }
    },
  }
}

// The event types that partners can subscribe to, derived from the contract, with the schemas that type the events.

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/** Replaces `x-json-type`, which JSON Schema does not define: the service keeps an amount as text, the wire has a number. */
function plainSchema(node: Json): Json {
  if (Array.isArray(node)) return node.map(plainSchema)
  if (node === null || typeof node !== 'object') return node
  return Object.fromEntries(
    Object.entries(node).map(([key, value]) => [key === 'x-json-type' ? 'type' : key, plainSchema(value)]),
  )
}

const describe = (name: EventName): Static<typeof webhooks.EventType> => ({
  name,
  description: events[name].firesWhen,
  emitted: subscriptionField(name) === 'events',
  subscribedIn: subscriptionField(name),
  version: 2,
  // The conversion to text removes the functions and symbols of the schema library.
  properties: plainSchema(ownJson<Json>(JSON.stringify(events[name].data.properties))) as Record<string, unknown>,
})

export const eventTypes = eventNames.map(describe)
