/**
 * Deposits: incoming money for a customer. The module has no operation group: checkout sessions and simulations open
 * deposits, and bank notifications change their status.
 *
 * Tables: deposits.deposits, deposits.parts, deposits.payer_rules, deposits.payer_checks. Invariants: the status goes
 * `Created -> Initiated -> Submitted -> Accepted -> Completed`, or ends as `Failed` or `Expired`. The transaction that
 * completes a deposit credits the balance, once. A duplicate bank notification changes nothing. While a deposit is
 * `Screening`, its money is in suspense, with a case that has the id of the deposit. It is credited when the name is
 * cleared, and stays in suspense when a sanctions match is confirmed. A deposit in parts counts each credit once, and
 * never more than its amount: the account `parts` has the sum of the parts that are `Held`.
 */
export type { AccountOwner, LatePaymentOffers, PaymentRefunds } from './deps.ts'
export { hashFingerprint, type Deposits, createDeposits, holdOfDeposit } from './service.ts'
export { type DepositWithParts, paidIn, parsePartReport } from './parts.ts'
export type { DepositStatus } from './lifecycle.ts'

export {
  type Deposit,
  type DepositRow,
  depositsDue,
  depositsOfHit,
  screenedDepositsDue,
  sessionReads,
} from './store.ts'
export { type Part, partMovements, partReads, type PayerRule } from './store-parts.ts'
export { lacksOwnershipProof } from './payers.ts'
