/**
 * Deposits: money on its way to a customer. A module without an operation group: simulations open deposits today, and the
 * bank's notices move them on.
 *
 * Table: deposits.deposits. Invariants: `Created -> Initiated -> Submitted -> Accepted -> Completed`, with `Failed` and
 * `Expired` as the ways out; the balance is credited in the transaction that completes it, once; after `Expired` nothing
 * follows. What the bank repeats is no news and changes nothing.
 */
export { type Deposits, type NewDeposit, createDeposits } from './service.ts'
