/**
 * Webhook delivery: subscriptions and their secrets, endpoint queues, the exchanges with endpoints, and the results of
 * all attempts. `webhooks/api` is its management API. README.md explains the design.
 *
 * Tables: delivery.partners, delivery.subscriptions, delivery.secrets, delivery.endpoint_queues, delivery.feed,
 * delivery.queue, delivery.deliveries, delivery.attempts, delivery.recoveries.
 */
export { createDeliveryEngine, type DeliveryEngine, type DeliveryEngineDeps } from './engine.ts'
export { type DeliveryJobsOptions, deliveryJobs } from './jobs.ts'

export { statisticsJob, type EndpointState, endpointStatistics } from './statistics-collector.ts'
export { deliveryLimitsDefault, operatorLimits, retryDelaysMsDefault } from './limits.ts'
export { type ChosenHosts, type ChosenHostsOptions, createChosenHosts } from './exchange/chosen-hosts.ts'
export { type Resolve } from './exchange/resolver.ts'
export { renderEndpointAlert, createEndpointAlerts } from './management/alerts.ts'

export type { FeedEvent } from './management/history.ts'

export type { Recovery } from './management/recoveries.ts'
export { createTestDeliveries, type CreateSampleData, type TestDeliveries } from './management/test-delivery.ts'
export { sealedWebhookSecrets } from './management/secrets.ts'
export type { SubscriptionKey } from './management/store-subscriptions.ts'
export type { Subscription } from './management/subscriptions.ts'

export type { Attempt } from './queue/endpoint-queue.ts'
export { type AttemptResult } from './queue/schedule.ts'
