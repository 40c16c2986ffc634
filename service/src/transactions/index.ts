/**
 * Transactions: every movement of money, completed or not, with its timeline.
 *
 * Tables: transactions.transactions. Invariants: a Pending transaction changes its status once, to Completed,
 * Unsuccessful, Cancelled or Expired. Each such change appends one `transaction.status.changed` in the same database
 * transaction. A reference is unique within its partner. A later return is a new, linked transaction.
 */
export { type PartnerHold, explainHold, type Hold, holds, holdsOfCases, partnerWords } from './holds.ts'
export { toTransaction, type FindHold, transactionsRoutes } from './routes.ts'
export {
  type StepCause,
  createTransactions,
  type TransactionMove,
  type NewTransaction,
  type Party,
  toRequester,
  type TakenReferences,
  type Transactions,
} from './service.ts'
export * as patterns from './store-patterns.ts'
export type { Measure, Movement, PartReads, Payment, ChangePlace, PayoutCounts } from './store-patterns.ts'
export type { WithdrawalSearch } from './store.ts'
export { type TransactionWithUser, type TransactionView } from './reads.ts'
