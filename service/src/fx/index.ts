/**
 * Currency exchange: quotes whose rate is valid for a limited time, and conversions between the balances of a partner.
 *
 * Tables: fx.quotes, fx.conversions. Invariants: a quote is accepted at most once, before it expires, by one
 * transaction; its amounts never change. A conversion is one ledger entry over the accounts `fx`.
 */
export { type QuoteAcceptances, createAcceptances, type OpenQuote } from './acceptance.ts'
export { fxRoutes, toQuote } from './routes.ts'
export { exchangeTransfers } from './rules.ts'
export { createFx, type Fx } from './service.ts'
