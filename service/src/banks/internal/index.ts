/**
 * Transfers inside: a connector without a bank, for payouts to an account that this database has issued. It keeps each instruction as a
 * row, has the payee credited first, and reports the payout as settled once the credit is booked.
 *
 * Table: rails.internal_transfers. Invariant: each transaction touches the ledger of one partner, so that payer and payee may be on two
 * shards. The row says which of the two is booked next, so that a crash between them loses nothing: docs/decisions/0083.
 */
export { createInternalConnector, type PayeeProblem } from './connector.ts'
export { eraseInternalTransfers } from './store.ts'
