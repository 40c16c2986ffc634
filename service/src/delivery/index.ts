/**
 * Webhook delivery: subscriptions, their secrets, the queue of each endpoint, the exchanges with endpoints, and what came
 * of every attempt. `modules/webhooks` is its management API. README.md explains the design.
 *
 * Tables: delivery.partners, delivery.subscriptions, delivery.secrets, delivery.endpoint_queues, delivery.feed,
 * delivery.queue, delivery.deliveries, delivery.attempts, delivery.recoveries, delivery.notices.
 */
export { createDeliveryEngine, type DeliveryEngine, type DeliveryEngineDeps } from './engine.ts'
export { type DeliveryObserver, type DeliveryOptions, startDelivery } from './start.ts'
export { startStatisticsCollector, type StatisticsCollectorOptions } from './statistics-collector.ts'
export { limitNames, limitsDefault, type Limits, retryDelaysMsDefault } from './limits.ts'
export { answerKeptBytesMax } from './exchange/answer.ts'
export { envelope, exchangeTimeoutMsDefault } from './exchange/exchange.ts'
export { createPost } from './exchange/post.ts'
export { type Proxy, readProxy } from './exchange/proxy.ts'
export type { Resolve } from './exchange/resolver.ts'
export { addNotice, type NewNotice, type NoticeQueue, noticeQueue } from './management/alerts.ts'
export { type EndpointState, type EndpointStatistics, endpointStatistics } from './management/endpoint-statistics.ts'
export type { FeedEvent } from './management/feed.ts'
export type { Delivery } from './management/history.ts'
export type { Recovery } from './management/recoveries.ts'
export type { UrlRules } from './management/rules.ts'
export type { ClaimedNotice } from './management/store-alerts.ts'
export type { SubscriptionKey } from './management/store-subscriptions.ts'
export type { Subscription } from './management/subscriptions.ts'
export { createTestDeliveries, type Post, type Sample, type TestDeliveries } from './management/test-delivery.ts'
export type { Attempt } from './queue/attempt.ts'
export { type AttemptResult, type Verdict, verdictOf } from './queue/schedule.ts'
export { deliverySettings } from './settings.ts'
