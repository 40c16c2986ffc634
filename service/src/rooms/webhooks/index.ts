/**
 * Webhooks: a partner's subscriptions, what each is owed, and what every attempt came to. The HTTP is in `delivery/`.
 *
 * Tables: webhooks.partners, webhooks.subscriptions, webhooks.lanes, webhooks.messages, webhooks.deliveries,
 * webhooks.attempts. Invariants: an event that commits becomes one delivery per enabled subscription that wants it, in
 * the transaction that takes it off the outbox; a delivery ends delivered or held, never lost; its eventId is the same
 * at every attempt; one attempt at a time, by the holder of its lease; per subscription and reference, first attempts
 * are in the order of the events; 20 subscriptions a partner. Promise: at least once.
 */
export { isAllowedAddress, isLoopbackAddress, isLoopbackName } from './addresses.ts'
export { type Claim, inFlightPerEndpointMax, leaseMs, type SubscriptionKey } from './deliveries.ts'
export { webhooksRoutes } from './routes.ts'
export type { UrlRules } from './rules.ts'
export type { SampleContext, Samples } from './samples.ts'
export { type AttemptResult, retryDelaysMsDefault, type Verdict, verdictOf } from './schedule.ts'
export { createTrials, type Post, type Sample } from './trial.ts'
export { createWebhooks, type Webhooks, type WebhooksDeps } from './service.ts'
