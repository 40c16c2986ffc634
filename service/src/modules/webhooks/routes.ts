/** The handlers of webhook operations: each calls the delivery engine and shapes the response. */
import type { webhooks as wire, Static } from '@partner-payments/wire'
import type { Handlers } from '../../api/index.ts'
import type {
  Delivery,
  DeliveryEngine,
  FeedEvent,
  Recovery,
  Subscription,
  TestDeliveries,
} from '../../delivery/index.ts'
import type { Idempotency } from '../../idempotency/index.ts'
import { eventTypes } from './event-types.ts'

function subscriptionResponse(row: Subscription): Static<typeof wire.Subscription> {
  return {
    id: row.id,
    url: row.url,
    events: [...row.events],
    ...(row.description === null ? {} : { description: row.description }),
    apiVersion: row.apiVersion,
    ordered: row.ordered,
    signature: row.signature,
    ...(row.publicKey === undefined ? {} : { publicKey: row.publicKey }),
    status: row.status,
    ...(row.disabledReason === null ? {} : { disabledReason: row.disabledReason }),
    ...(row.disabledAt === null ? {} : { disabledAt: row.disabledAt.toISOString() }),
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
    ...(row.warnings.length === 0 ? {} : { warnings: [...row.warnings] }),
  }
}

function attemptResponse(row: Delivery['attempts'][number]): Static<typeof wire.DeliveryAttempt> {
  return {
    attempt: row.attempt,
    startedAt: row.startedAt.toISOString(),
    durationMs: row.durationMs,
    ...(row.status === null ? {} : { status: row.status }),
    ...(row.error === null ? {} : { error: row.error }),
    ...(row.responseBody === null ? {} : { responseBody: row.responseBody }),
  }
}

function deliveryResponse(row: Delivery): Static<typeof wire.Delivery> {
  return {
    eventId: row.eventId,
    eventType: row.eventType,
    reference: row.reference,
    status: row.status,
    attemptCount: row.attemptCount,
    nextAttemptAt: row.nextAttemptAt?.toISOString() ?? null,
    createdAt: row.createdAt.toISOString(),
    ...(row.deliveredAt === null ? {} : { deliveredAt: row.deliveredAt.toISOString() }),
    attempts: row.attempts.map(attemptResponse),
  }
}

function recoveryResponse(row: Recovery): Static<typeof wire.Recovery> {
  return {
    id: row.id,
    status: row.status,
    since: row.since.toISOString(),
    until: row.until.toISOString(),
    examined: Number(row.examined),
    recovered: Number(row.recovered),
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  }
}

const eventResponse = (event: FeedEvent): Static<typeof wire.FeedEvent> => ({
  ...event,
  sequence: Number(event.sequence),
  occurredAt: event.occurredAt.toISOString(),
})

/** The operations that take effect once per idempotency key. */
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
    listSubscriptions: async ({ caller, query }) => {
      const page = await webhooks.list(caller.partnerId, query)
      return { body: { ...page, data: page.data.map(subscriptionResponse) } }
    },
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
    listDeliveries: async ({ caller, params, query }) => {
      const page = await webhooks.deliveries(caller.partnerId, params.id, query)
      return { body: { ...page, data: page.data.map(deliveryResponse) } }
    },
    getDelivery: async ({ caller, params }) => ({
      body: deliveryResponse(await webhooks.delivery(caller.partnerId, params.id, params.eventId)),
    }),
    listRecoveries: async ({ caller, params, query }) => {
      const page = await webhooks.recoveries(caller.partnerId, params.id, query)
      return { body: { ...page, data: page.data.map(recoveryResponse) } }
    },
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
