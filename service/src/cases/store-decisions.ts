/** All SQL of decisions. Rows are only added and read. */
import { sql, type Tx } from '../postgres/index.ts'

export type DecisionKind =
  | 'proposed'
  | 'replaced'
  | 'withdrawn'
  | 'rejected'
  | 'expired'
  | 'approved'
  | 'noted'
  | 'gone'
  | 'released'
  | 'return_refused'
  | 'return_rejected'
  | 'return_booked'
  | 'taken'
  | 'given'
  | 'handed_back'
  | 'remarked'

export type DecisionRow = {
  readonly partnerId: string
  readonly caseId: string
  /** Position in the case, from 1. */
  readonly sequence: number
  readonly kind: DecisionKind
  readonly actor: string
  readonly proposalId: string | null
  readonly action: string | null
  readonly note: string
  readonly before: string
  readonly after: string
  readonly decidedAt: Date
}

const columns = sql`partner_id, case_id, sequence, kind, actor, proposal_id, action, note, before, after, decided_at`

/** The caller holds the lock of the case, so that no other decision takes the same number. */
export async function appendDecision(tx: Tx, row: Omit<DecisionRow, 'sequence'>): Promise<void> {
  const last = await lastSequence(tx, row.partnerId, row.caseId)
  await insertDecision(tx, { ...row, sequence: last + 1 })
}

async function lastSequence(tx: Tx, partnerId: string, caseId: string): Promise<number> {
  const row = await tx.row<{ sequence: number }>(sql`/* cases.lastSequence */
    select sequence from cases.decisions where partner_id = ${partnerId} and case_id = ${caseId}
    order by sequence desc limit 1`)
  return row?.sequence ?? 0
}

async function insertDecision(tx: Tx, row: DecisionRow): Promise<void> {
  await tx.run(sql`/* cases.insertDecision */
    insert into cases.decisions (${columns})
    values (${row.partnerId}, ${row.caseId}, ${row.sequence}, ${row.kind}, ${row.actor}, ${row.proposalId}, ${row.action},
      ${row.note}, ${row.before}, ${row.after}, ${row.decidedAt})`)
}

/** Reads the decisions of a case in their order. */
export function decisionsOf(tx: Tx, partnerId: string, caseId: string): Promise<readonly DecisionRow[]> {
  return tx.rows<DecisionRow>(sql`/* cases.decisionsOf */
    select ${columns} from cases.decisions where partner_id = ${partnerId} and case_id = ${caseId} order by sequence`)
}

/** The last note of each of some cases. Cases without one are absent. */
export function lastRemarks(
  tx: Tx,
  partnerId: string,
  caseIds: readonly string[],
): Promise<readonly { readonly caseId: string; readonly note: string }[]> {
  return tx.rows(sql`/* cases.lastRemarks */
    select distinct on (case_id) case_id, note from cases.decisions
    where partner_id = ${partnerId} and case_id = any(${[...caseIds]}::uuid[]) and kind = 'remarked'
    order by case_id, sequence desc`)
}
