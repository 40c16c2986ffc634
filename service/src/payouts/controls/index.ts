/**
 * Payout controls: the operator's rules for outgoing money. Payouts apply them at acceptance, and subtract the amounts
 * of payouts that end without a settlement from the counters.
 *
 * Tables: payouts.limits, payouts.limit_counters, payouts.fee_rules, payouts.approval_rules, payouts.cooling_offs.
 * Invariants: a balance with a rule is marked, so that payouts read its rules. A counter is the sum of the payouts that
 * were counted in it and have not ended without a settlement. An approver's counter is the sum of the approved payouts,
 * and never exceeds the maximum per person.
 */
export {
  type ApprovalRule,
  payeeMismatches,
  limitRefusal,
  type Limit,
  remainingAmount,
  resetsAt,
  formatCounterNames,
  type FeeRule,
  feeRails,
  refuseCoolingOff,
} from './rules.ts'

export {
  type ControlRequirements,
  type BatchControls,
  createRuleReader,
  feeMovement,
  isCharged,
  readControls,
  prefetchControls,
  addRequirements,
} from './controls.ts'
export {
  countPayouts,
  limitCounters,
  type OverLimitPayout,
  releaseLimits,
  fitWithinLimits,
  type UsedAmounts,
  withDayApproval,
  lockAndCheckLimits,
  checkLimits,
} from './counting.ts'

export { type BeyondMaximum, countApprovals, findExceededMaximum } from './maxima.ts'
export { payoutControlsRoutes } from './routes.ts'
export { createPayoutControls } from './service.ts'
export { listApprovalRules } from './store.ts'
export { debitedCurrency, parseReference, controlledAmountsOfCall, formatReference } from './sides.ts'
