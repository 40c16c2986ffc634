/**
 * Webhooks out: takes what the room `webhooks` says is due, signs it, POSTs it through a guarded connector, and records
 * what came of it. Owns no tables. Promises: no transaction is open during HTTP; no address that is not public is ever
 * connected to; redirects are not followed; an exchange ends within its time limit; a stopped worker leaves no lease.
 */
export { answerKeptBytesMax } from './answer.ts'
export { envelope, exchangeTimeoutMsDefault } from './exchange.ts'
export { type Proxy, readProxy } from './proxy.ts'
export type { Resolve } from './resolver.ts'
export { type DeliveryObserver, type DeliveryOptions, startDelivery } from './worker.ts'
export { limitNames, type Limits } from '../rooms/webhooks/index.ts'
