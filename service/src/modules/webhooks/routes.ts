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

export function webhooksRoutes(webhooks: DeliveryEngine, testDeliveries: TestDeliveries): Handlers<'webhooks'> {
  return {
    listEventTypes: async () => ({ body: { data: eventTypes } }),
    createSubscription: async ({ caller, body }) => {
      const { secret, ...created } = await webhooks.create(caller.partnerId, body)
      const response = subscriptionResponse(created)
      return { body: secret === undefined ? response : { ...response, secret } }
    },
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
    rotateSecret: async ({ caller, params, body }) => {
      const { createdAt, overlapUntil, ...rest } = await webhooks.rotateSecret(caller.partnerId, params.id, body)
      return { body: { ...rest, createdAt: createdAt.toISOString(), overlapUntil: overlapUntil.toISOString() } }
    },
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
    redeliver: async ({ caller, params }) => ({
      body: deliveryResponse(await webhooks.redeliver(caller.partnerId, params.id, params.eventId)),
    }),
    startRecovery: async ({ caller, params, body }) => ({
      body: recoveryResponse(await webhooks.recover(caller.partnerId, params.id, body)),
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
  }
}
