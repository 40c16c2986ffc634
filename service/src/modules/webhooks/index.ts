/**
 * Webhooks: a partner's subscriptions, what each is owed, and what every attempt came to. The HTTP is in `delivery/`.
 *
 * Tables: webhooks.partners, webhooks.subscriptions, webhooks.secrets, webhooks.lanes, webhooks.feed, webhooks.queue,
 * webhooks.deliveries, webhooks.attempts, webhooks.recoveries, webhooks.notices. Invariants: an event that commits gets
 * the next number of its partner's feed and becomes one row of the queue per subscription that wants it, in the transaction that takes it
 * off the outbox; a row leaves the queue delivered, or when its subscription is deleted, or held for 30 days; its eventId
 * is the same at every attempt; a lane is worked by the one worker that holds it, one attempt of a delivery and of a
 * reference at a time; what a worker records counts only where the delivery is as it was when the attempt began, and the
 * lane still its own; per subscription and reference, first attempts are in the order of the events, and all attempts
 * where the subscription is ordered; 20 subscriptions a partner. Promise: at least once.
 */
export { isAllowedAddress, isLoopbackAddress, isLoopbackName } from '../../delivery/exchange/addresses.ts'
export { type Census, census, type EndpointState } from '../../delivery/management/endpoint-statistics.ts'
export type { SubscriptionKey } from '../../delivery/engine.ts'
export type { Holder, HolderOptions } from '../../delivery/queue/worker.ts'
export type { Claim, Target } from '../../delivery/queue/endpoint-queue.ts'
export { limitNames, limitsDefault, type Limits, retryDelaysMsDefault } from '../../delivery/limits.ts'
export { addNotice, type NewNotice, type NoticeQueue, noticeQueue } from '../../delivery/management/alerts.ts'
export { webhooksRoutes } from './routes.ts'
export type { UrlRules } from '../../delivery/management/rules.ts'
export type { SampleContext, Samples } from '../../events/samples.ts'
export { type AttemptResult, type Verdict, verdictOf } from '../../delivery/queue/schedule.ts'
export { createTrials, type Post, type Sample } from '../../delivery/management/test-delivery.ts'
export { createWebhooks, type Webhooks, type WebhooksDeps } from './service.ts'
export type { ClaimedNotice } from '../../delivery/management/store-alerts.ts'
