/**
 * Deposits: incoming money for a customer. The module has no operation group: simulations open deposits, and bank
 * notifications change their status.
 *
 * Table: deposits.deposits. Invariants: the status goes `Created -> Initiated -> Submitted -> Accepted -> Completed`, or
 * ends as `Failed` or `Expired`. The transaction that completes a deposit credits the balance, once. A duplicate bank
 * notification changes nothing.
 */
export type { AccountOwner } from './deps.ts'
export { creditorReferenceOf } from './rules.ts'
export { type Deposits, type NewDeposit, createDeposits } from './service.ts'
