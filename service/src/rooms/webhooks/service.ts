/** The room's two sides, as one value: what partners do with subscriptions, and what the delivery worker does with dues. */
import type { Sealer } from '../../kernel/index.ts'
import { createDeliveries, type Deliveries, type DeliveriesDeps } from './deliveries.ts'
import { createSecrets } from './secrets.ts'
import { createSubscriptions, type Subscriptions, type SubscriptionsDeps } from './subscriptions.ts'

export type WebhooksDeps = Omit<SubscriptionsDeps, 'secrets'> & DeliveriesDeps & { readonly sealer: Sealer }
export type Webhooks = Subscriptions & Deliveries

export function createWebhooks(deps: WebhooksDeps): Webhooks {
  const secrets = createSecrets(deps)
  return { ...createSubscriptions({ ...deps, secrets }), ...createDeliveries({ ...deps, secrets }) }
}
