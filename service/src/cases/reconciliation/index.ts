/**
 * Reconciliation: whether the banks and the ledger agree, to the cent, and the reasons of each difference. Design:
 * README.md.
 *
 * Tables: reconciliation.accounts, reconciliation.runs, reconciliation.items, reconciliation.statements. Invariants: a
 * look reads one snapshot, so that `ledger - bank = named items + unexplained` holds exactly in each; an item keeps the
 * time at which it was first seen; an unexplained difference has a case until it is gone.
 */
export type { CandidateSources, Candidate } from './candidates.ts'
export {
  type DayLook,
  type DayReader,
  createReconciliation,
  type Reconciliation,
  reconciliationEveryMs,
} from './service.ts'
export type { LedgerStates } from './look.ts'
export { type ReportLine, reportHead, reportLine } from './read.ts'
