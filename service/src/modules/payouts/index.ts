/**
 * Payouts: money out to a beneficiary, once per idempotency key.
 *
 * Table: payouts.payouts. Invariants: one payout per (partner, operation, key), for ever; its money is reserved in the
 * transaction that accepts it and posted or released exactly once; `Pending -> Processing -> Sent -> Completed`, with
 * `Failed` and `Returned` as the ways out; each move writes its events in the same transaction. The payout's id is the
 * instruction's id at the bank, so that no try is a second payment.
 */
export { payoutsRoutes } from './routes.ts'
export { type AcceptedPayout, type PayoutClaim, type Payouts, createPayouts } from './service.ts'
