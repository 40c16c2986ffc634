/**
 * Webhooks: a partner's subscriptions, what each is owed, and what every attempt came to. The HTTP is in `delivery/`.
 *
 * Tables: delivery.partners, delivery.subscriptions, delivery.secrets, webhooks.endpoint queues, delivery.feed, delivery.queue,
 * delivery.deliveries, delivery.attempts, delivery.recoveries, delivery.notices. Invariants: an event that commits gets
 * the next number of its partner's feed and becomes one row of the queue per subscription that wants it, in the transaction that takes it
 * off the outbox; a row leaves the queue delivered, or when its subscription is deleted, or held for 30 days; its eventId
 * is the same at every attempt; a endpoint queue is worked by the one worker that holds it, one attempt of a delivery and of a
 * reference at a time; what a worker records counts only where the delivery is as it was when the attempt began, and the
 * endpoint queue still its own; per subscription and reference, first attempts are in the order of the events, and all attempts
 * where the subscription is ordered; 20 subscriptions a partner. Promise: at least once.
 */
export { isAllowedAddress, isLoopbackAddress, isLoopbackName } from '../../delivery/exchange/addresses.ts'
export { type EndpointStatistics, endpointStatistics, type EndpointState } from '../../delivery/management/endpoint-statistics.ts'
export type { SubscriptionKey } from '../../delivery/engine.ts'
export type { Holder, QueueWorkerOptions } from '../../delivery/queue/worker.ts'
export type { Claim, Target } from '../../delivery/queue/endpoint-queue.ts'
export { limitNames, limitsDefault, type Limits, retryDelaysMsDefault } from '../../delivery/limits.ts'
export { addNotice, type NewNotice, type NoticeQueue, noticeQueue } from '../../delivery/management/alerts.ts'
export { webhooksRoutes } from './routes.ts'
export type { UrlRules } from '../../delivery/management/rules.ts'
export type { SampleContext, Samples } from '../../events/samples.ts'
export { type AttemptResult, type Verdict, verdictOf } from '../../delivery/queue/schedule.ts'
export { createTestDeliveries, type Post, type Sample } from '../../delivery/management/test-delivery.ts'
export { createDeliveryEngine, type Webhooks, type DeliveryEngineDeps } from './service.ts'
export type { ClaimedNotice } from '../../delivery/management/store-alerts.ts'
