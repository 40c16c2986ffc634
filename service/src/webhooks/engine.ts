/** Combines the delivery engine: the operations of partners, and the functions that the workers run. */
import type { EventOutbox } from '../events/index.ts'
import type { Cursors } from '../kernel/api/index.ts'
import type { Clock, Sealer } from '../kernel/index.ts'
import type { Database } from '../postgres/index.ts'
import { createFeed, createHistory, type EventFeed, type History } from './management/history.ts'
import { createRecoveries, type Recoveries } from './management/recoveries.ts'
import type { UrlRules } from './management/rules.ts'
import { createSecrets } from './management/secrets.ts'
import { createSubscriptions, type Subscriptions } from './management/subscriptions.ts'
import { createDeliveryQueue, type DeliveryQueue, type DeliveryQueueDeps } from './queue/service.ts'

export type DeliveryEngineDeps = Omit<DeliveryQueueDeps, 'secrets'> & {
  readonly db: Database
  readonly clock: Clock
  readonly sealer: Sealer
  readonly cursors: Cursors
  readonly eventOutbox: EventOutbox
  readonly urlRules: UrlRules
}
export type DeliveryEngine = Subscriptions & DeliveryQueue & History & Recoveries & EventFeed

export function createDeliveryEngine(given: DeliveryEngineDeps): DeliveryEngine {
  const secrets = createSecrets(given)
  const deps = { ...given, secrets }
  const deliveryQueue = createDeliveryQueue(deps)
  return {
    ...createSubscriptions(deps),
    ...createHistory(deps),
    ...createRecoveries(deps),
    ...createFeed(deps),
    ...deliveryQueue,
    sweep: async (log) => (await deliveryQueue.sweep(log)) + (await secrets.sweep(given.db, given.clock.now())),
  }
}
