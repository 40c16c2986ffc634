/**
 * The ledger: double entry by construction. A transfer has one debit account, one credit account, one currency and one
 * amount greater than zero. The account row keeps the balance, which is the sum of the transfers. Design: README.md.
 *
 * Tables: ledger.accounts, ledger.party_accounts, ledger.transfers, ledger.checkpoints, ledger.party_checkpoints,
 * ledger.checkpoint_progress. Invariants, each also an SQL constraint: the posted balance of a partner never falls
 * below the reserved balance; a reserve is posted or released once. Transfers never change.
 */
export {
  type AccountSnapshots,
  hasBothAccounts,
  getAvailableBalance,
  getBalanceState,
  controlsVersion,
  type Movement,
  type Entry,
  singleEntry,
  type EntryRequest,
  insufficientFunds,
  type Permit,
  type FundsShortage,
} from './rules.ts'
export {
  type AccountName,
  isAccountName,
  accountKind,
  type AccountState,
  blocksInbound,
  blocksOutbound,
} from './account-kinds.ts'
export { createCheckpoints } from './checkpoints.ts'
export type { PartySum, StatementCursor, StatementLine, StatementPage, StatementRequest } from './history.ts'
export {
  type BalancesSnapshot,
  checkReadBalances,
  isSegregated,
  createFundsCheck,
  type FundsCheck,
} from './funds-check.ts'
export type { AccountMovement, MovementPage, AccountStanding } from './movements.ts'
export type { BalanceMode, PartyShortfall } from './segregation.ts'
export type { AccountSums, LineFilter, Period, PeriodLine } from './period.ts'
export { type Balance, type Ledger, createLedger } from './service.ts'
export { type MoneyHolds, type MoneyOwner, refuseBlocked } from './permits.ts'
