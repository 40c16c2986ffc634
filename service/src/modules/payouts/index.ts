/**
 * Payouts: money out to a beneficiary, once per idempotency key.
 *
 * Tables: payouts.payouts, payouts.limits, payouts.limit_counters, payouts.fee_rules,
 * payouts.approval_rules, payouts.approvals, payouts.cooling_offs; payouts.bulks and payouts.bulk_items, of `bulk/`;
 * payouts.standing_orders, payouts.standing_executions and payouts.standing_order_turns, of `orders/`; payouts.recalls, of `recalls/`.
 * Invariants: one payout per (partner, operation, key), for ever. The transaction that accepts a
 * payout reserves its money and its fee, which are posted or released exactly once. `Pending -> Processing -> Sent -> Completed`, or
 * `Failed` or `Returned`; each move writes its events in the same transaction. The id of the
 * instruction at the bank is derived from the idempotency key, so that a repeated attempt is never a second payment.
 * A payout of an earlier version has its own id as the id of its instruction.
 * A payout that waits for an approval has an open row of payouts.approvals, which whatever ends the wait closes.
 * A date of a standing order has one execution, which the transaction that makes its payout writes.
 * A payout has at most one recall that is open, and one for each reason. Money that comes back ends it, whatever the bank has said.
 * A counter is the sum of the payouts that were counted in it and have not ended without a settlement.
 */
export { endToEndIdSent, instructionIdOf } from './rules.ts'
export type { PayoutSearch } from './find.ts'
export { partiesOf } from './screened.ts'
export { type FeeRule, feeRails } from '../payout-controls/fee-rules.ts'
export { type Limit, limitPeriods, limitScopes } from '../payout-controls/limit-rules.ts'
export type { PayoutsDeps } from './deps.ts'
export { type ApprovalRule } from '../payout-controls/approval-rules.ts'
export { payoutsRoutes, toPayoutRecord } from './routes.ts'
export { type AcceptedPayout, type PayoutClaim, type Payouts, type RecallClaim, createPayouts } from './service.ts'
