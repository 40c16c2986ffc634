/** Webhooks: the event types (documented) and the partner's subscriptions and deliveries (extensions). */
import { Timestamp, Type, Url, Uuid, closed, nullable, oneOf, optional, page, pageQuery, text } from './shapes.ts'

export const subscriptionsPerPartnerMax = 20
export const subscriptionStatuses = ['Enabled', 'Disabled'] as const
export const deliveryStatuses = ['Pending', 'Delivered', 'Held'] as const

const EventNames = Type.Array(text(100), { minItems: 1, maxItems: 50, uniqueItems: true })

export const EventType = closed({
  name: Type.String(),
  description: Type.String(),
  emitted: Type.Boolean(),
  version: Type.Integer(),
  properties: Type.Record(Type.String(), Type.Unknown()),
})
export const EventTypes = closed({ data: Type.Array(EventType) })

export const SubscriptionCreate = closed({ url: Url, events: EventNames, description: optional(text(255)) })
export const SubscriptionUpdate = closed({
  url: optional(Url),
  events: optional(EventNames),
  description: optional(nullable(text(255))),
  status: optional(oneOf(subscriptionStatuses)),
})

const subscription = {
  id: Uuid,
  url: Type.String(),
  events: Type.Array(Type.String()),
  description: optional(Type.String()),
  status: oneOf(subscriptionStatuses),
  createdAt: Timestamp,
  updatedAt: Timestamp,
  warnings: optional(Type.Array(Type.String())),
}
export const Subscription = closed(subscription)
/** The secret (`whsec_...`, Standard Webhooks) is shown once, here. */
export const SubscriptionCreated = closed({ ...subscription, secret: Type.String() })
export const SubscriptionPage = page(Subscription)

export const DeliveryAttempt = closed({
  attempt: Type.Integer(),
  startedAt: Timestamp,
  durationMs: Type.Integer(),
  status: optional(Type.Integer()),
  error: optional(Type.String()),
  responseBody: optional(Type.String()),
})
export const Delivery = closed({
  eventId: Uuid,
  eventType: Type.String(),
  reference: Type.String(),
  status: oneOf(deliveryStatuses),
  attemptCount: Type.Integer(),
  nextAttemptAt: nullable(Timestamp),
  createdAt: Timestamp,
  attempts: Type.Array(DeliveryAttempt),
})
export const DeliveryPage = page(Delivery)
export const DeliveryQuery = closed({ ...pageQuery, status: optional(oneOf(deliveryStatuses)) })
export const SubscriptionQuery = closed(pageQuery)
