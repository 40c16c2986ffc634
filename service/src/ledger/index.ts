/**
 * The ledger: double entry by construction. A transfer has one debit account, one credit account, one amount greater
 * than zero, one currency; balances follow from transfers and are kept on the account row.
 *
 * Tables: ledger.accounts, ledger.transfers. Invariants, each also an SQL constraint: a partner's balance never falls
 * below what is reserved; a reserve is posted or released once; transfers never change. Knows nothing of payouts.
 */
export type { KnownAccounts, Sums } from './batches.ts'
export type { Balance, Ledger } from './service.ts'
export { createLedger } from './service.ts'
export { type AccountName, insufficientFunds, type Transfer } from './rules.ts'
