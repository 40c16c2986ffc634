/** The room's two sides, as one value: what partners do with subscriptions, and what the delivery worker does with dues. */
import { createDeliveries, type Deliveries, type DeliveriesDeps } from './deliveries.ts'
import { createSubscriptions, type Subscriptions, type SubscriptionsDeps } from './subscriptions.ts'

export type WebhooksDeps = SubscriptionsDeps & DeliveriesDeps
export type Webhooks = Subscriptions & Deliveries

export function createWebhooks(deps: WebhooksDeps): Webhooks {
  return { ...createSubscriptions(deps), ...createDeliveries(deps) }
}
