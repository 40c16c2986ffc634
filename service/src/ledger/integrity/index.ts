/**
 * Compares the rows of a partner with each other: tables must agree about money. It uses no code of the modules, so it
 * also finds changes made in SQL, and errors that the code writes to all tables alike. docs/operations.md explains
 * findings.
 *
 * Tables: none of its own. It reads those of the ledger, of payments, of cases, of events and of the audit log, and
 * writes nothing. Invariants: each comparison is one statement of one partner, so that it has one snapshot, and
 * payments in progress cause no finding.
 */
import type { Tx } from '../../postgres/index.ts'
import * as payments from './store-payments.ts'

export { type Finding, findingsMax } from './store-payments.ts'

type Comparison = (tx: Tx, partnerId: string, rowsMax: number) => Promise<readonly payments.Finding[]>

/** Comparisons by name, in the order of a check. The last argument is `findingsMax`. */
export const comparisons: Readonly<Record<string, Comparison>> = {
  accounts: payments.checkAccounts,
  transfers: payments.checkTransfers,
  ends: payments.checkReserveEnds,
  entries: payments.checkEntries,
  checkpoints: payments.checkCheckpoints,
  checkpointsMissing: payments.checkCheckpointCoverage,
  partyCheckpoints: payments.checkPartyCheckpoints,
  partyAccounts: payments.checkPartyAccounts,
  booked: payments.checkTransactionTransfers,
  timelines: payments.checkTimelines,
  records: payments.checkAuditRecords,
  payouts: payments.checkPayouts,
  reserves: payments.checkReserves,
  transfersInside: payments.checkInternalTransfers,
  deposits: payments.checkDeposits,
  conversions: payments.checkConversions,
  cases: payments.checkCases,
  parts: payments.checkParts,
  statusEvents: payments.checkStatusEvents,
  eventAmounts: payments.checkEventAmounts,
}
