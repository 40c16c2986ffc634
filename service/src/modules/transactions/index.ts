/**
 * Transactions: everything that moved, or tried to, with its timeline.
 *
 * Tables: transactions.transactions. Invariants: Pending moves once, to Completed, Unsuccessful,
 * Cancelled or Expired, and stays there; each such move writes one `transaction.status.changed` in the same transaction;
 * a reference is unique within its partner. A later return is a new, linked transaction.
 */
export { transactionsRoutes } from './routes.ts'
export {
  createTransactions,
  type Move,
  type NewTransaction,
  type Opened,
  type Party,
  type TakenReferences,
  type Transactions,
} from './service.ts'
