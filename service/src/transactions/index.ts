/**
 * Transactions: every movement of money, completed or not, with its timeline.
 *
 * Tables: transactions.transactions. Invariants: a Pending transaction changes its status once, to Completed,
 * Unsuccessful, Cancelled or Expired. Each such change appends one `transaction.status.changed` in the same database
 * transaction. A reference is unique within its partner. A later return is a new, linked transaction.
 */
export { type Explained, explain, type Hold, holds, holdsOfCases, told } from './holds.ts'
export { toTransaction, type HoldOf, transactionsRoutes } from './routes.ts'
export {
  type Cause,
  createTransactions,
  type Exchange,
  type TransactionMove,
  type NewTransaction,
  type Opened,
  type Party,
  toRequester,
  type TakenReferences,
  type Transactions,
} from './service.ts'
export * as patterns from './store-patterns.ts'
export type { Measure, Movement, PartReads, Payment, Place, Standing } from './store-patterns.ts'
export type { WithdrawalSearch } from './store.ts'
export { type TransactionWithUser, type TransactionView } from './reads.ts'
