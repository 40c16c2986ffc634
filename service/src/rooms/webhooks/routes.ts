/** Operation id -> service call and shape. */
import type { webhooks as wire, Static } from '@partner-payments/wire'
import type { Handlers } from '../../kernel/index.ts'
import { eventTypes } from './event-types.ts'
import type { Webhooks } from './service.ts'
import type { Delivery, Subscription } from './subscriptions.ts'

function subscriptionAnswer(row: Subscription): Static<typeof wire.Subscription> {
  return {
    id: row.id,
    url: row.url,
    events: [...row.events],
    ...(row.description === null ? {} : { description: row.description }),
    status: row.status,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
    ...(row.warnings.length === 0 ? {} : { warnings: [...row.warnings] }),
  }
}

function attemptAnswer(row: Delivery['attempts'][number]): Static<typeof wire.DeliveryAttempt> {
  return {
    attempt: row.attempt,
    startedAt: row.startedAt.toISOString(),
    durationMs: row.durationMs,
    ...(row.status === null ? {} : { status: row.status }),
    ...(row.error === null ? {} : { error: row.error }),
    ...(row.responseBody === null ? {} : { responseBody: row.responseBody }),
  }
}

function deliveryAnswer(row: Delivery): Static<typeof wire.Delivery> {
  return {
    eventId: row.eventId,
    eventType: row.eventType,
    reference: row.reference,
    status: row.status,
    attemptCount: row.attemptCount,
    nextAttemptAt: row.nextAttemptAt?.toISOString() ?? null,
    createdAt: row.createdAt.toISOString(),
    attempts: row.attempts.map(attemptAnswer),
  }
}

export function webhooksRoutes(webhooks: Webhooks): Handlers<'webhooks'> {
  return {
    listEventTypes: async () => ({ body: { data: eventTypes } }),
    createSubscription: async ({ caller, body }) => {
      const created = await webhooks.create(caller.partnerId, body)
      return { body: { ...subscriptionAnswer(created), secret: created.secret } }
    },
    listSubscriptions: async ({ caller, query }) => {
      const page = await webhooks.list(caller.partnerId, query)
      return { body: { ...page, data: page.data.map(subscriptionAnswer) } }
    },
    getSubscription: async ({ caller, params }) => ({
      body: subscriptionAnswer(await webhooks.get(caller.partnerId, params.id)),
    }),
    updateSubscription: async ({ caller, params, body }) => ({
      body: subscriptionAnswer(await webhooks.update(caller.partnerId, params.id, body)),
    }),
    deleteSubscription: async ({ caller, params }) => ({
      body: await webhooks.remove(caller.partnerId, params.id).then(() => undefined),
    }),
    listDeliveries: async ({ caller, params, query }) => {
      const page = await webhooks.deliveries(caller.partnerId, params.id, query)
      return { body: { ...page, data: page.data.map(deliveryAnswer) } }
    },
  }
}
