/**
 * Compares the rows of a partner with each other: tables must agree about money. It uses no code of the modules, so
 * that it finds changes made in SQL and faults that the code writes everywhere. docs/operations.md explains findings.
 *
 * Tables: none of its own. It reads those of the ledger, of payments, of cases, of events and of the audit log, and
 * writes nothing. Invariants: each comparison is one statement of one partner, so that it has one snapshot, and
 * payments in progress cause no finding.
 */
import type { Tx } from '../postgres/index.ts'
import { type Finding, findingsMax } from './finding.ts'
import * as ledger from './store-ledger.ts'
import * as payments from './store-payments.ts'

export type { Finding } from './finding.ts'
export { findingsMax } from './finding.ts'

type Comparison = (tx: Tx, partnerId: string, rowsMax: number) => Promise<readonly Finding[]>

const comparisons: readonly Comparison[] = [
  ledger.accounts,
  ledger.transfers,
  ledger.ends,
  ledger.entries,
  ledger.checkpoints,
  ledger.checkpointsMissing,
  ledger.partyCheckpoints,
  ledger.partyAccounts,
  payments.booked,
  payments.timelines,
  payments.records,
  payments.payouts,
  payments.reserves,
  payments.transfersInside,
  payments.deposits,
  payments.conversions,
  payments.cases,
  payments.parts,
  payments.statusEvents,
  payments.eventAmounts,
]

/** The findings of a partner, comparison by comparison: at most `findingsMax` of each. */
export async function* compareRows(tx: Tx, partnerId: string): AsyncGenerator<readonly Finding[]> {
  for (const compare of comparisons) yield await compare(tx, partnerId, findingsMax)
}
