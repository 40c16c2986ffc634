/**
 * Webhooks out: takes what the module `webhooks` says is due, signs it, POSTs it through a guarded connector, and records
 * what came of it. Owns no tables. Promises: no transaction is open during HTTP; no address that is not public is ever
 * connected to; redirects are not followed; an exchange ends within its time limit; a stopped worker leaves no lease.
 */
export { answerKeptBytesMax } from './exchange/answer.ts'
export { type StatisticsCollectorOptions, startStatisticsCollector } from './statistics-collector.ts'
export { envelope, exchangeTimeoutMsDefault } from './exchange/exchange.ts'
export { createPost } from './exchange/post.ts'
export { type Proxy, readProxy } from './exchange/proxy.ts'
export type { Resolve } from './exchange/resolver.ts'
export { type DeliveryObserver, type DeliveryOptions, startDelivery } from './start.ts'
export { limitNames, type Limits } from '../modules/webhooks/index.ts'
