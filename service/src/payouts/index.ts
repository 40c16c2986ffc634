/**
 * Payouts: money out to a beneficiary, once per idempotency key. accept.ts accepts a payout, life.ts has its later
 * steps, lifecycle.ts is the table of its transitions.
 *
 * Tables: payouts.payouts, payouts.approvals, payouts.notes, payouts.duplicate_turns. Invariants: one payout per
 * (partner, operation, key), for ever. The transaction that accepts a payout reserves its money and its fee, which are
 * posted or released exactly once. `Pending -> Processing -> Sent -> Completed`, or `Failed` or `Returned`; each
 * transition writes its events in the same transaction. The id of the instruction at the bank is derived from the
 * idempotency key, so that a repeated attempt is never a second payment. For a payout of an earlier version the id of
 * the instruction is that of the payout. A payout that waits for an approval has an open row of payouts.approvals.
 * Leaving PendingApproval closes it.
 */
export type { Acceptance } from './accept.ts'
export type { BulkDecision, BulkAwaitingApproval, WaitingApproval } from './approvals.ts'
export { createPayoutAges, type PayoutAges } from './ages.ts'
export type { Creditor, PayoutOutcome, PayoutCall } from './calls.ts'
export type { PayoutsDeps } from './deps.ts'
export type { BatchPreview } from './judge-all.ts'
export { approvalsJob, createPayoutLife, type PayoutLife } from './life.ts'
export {
  payoutsDue,
  lockPayouts,
  payoutById,
  type PayoutClaim,
  type PayoutRow,
  erasePayouts,
  unstartedPayoutIds,
} from './store.ts'
export { normaliseReference, type PossibleDuplicates } from './duplicates.ts'
export { outgoingAmount } from './events.ts'
export {
  instructionOf,
  payoutOfInstruction,
  payoutsOfAmount,
  type PayoutSearch,
  instructionStatuses,
  createPayouts,
  type Payouts,
} from './service.ts'

export type { RefundEvents, RecallReturns } from './advance.ts'
export { findOwnIbans, type BatchData } from './look-up.ts'
export { payoutsRoutes, toPayoutRecord } from './routes.ts'
export {
  endToEndIdSent,
  payoutFingerprint,
  instructionIdOf,
  type PayoutStatus,
  toProblem,
  requireSupportedCurrency,
  retryDelayAfter,
} from './rules.ts'
export { screenedParties, subjectOfPayout } from './screen.ts'
export { payoutsOfHit } from './store-held.ts'

export { toValidationInput, validatePayout } from './validate.ts'
