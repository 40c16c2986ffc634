/** All SQL of returns: the money of cases that is sent back. */
import type { Currency, Minor } from '../kernel/index.ts'
import { dueWork, type Sql, sql, type Tx } from '../postgres/index.ts'

export type ReturnStatus = 'Due' | 'Sent' | 'Refused' | 'Rejected' | 'Returned' | 'Booked'
export type ReturnRow = {
  readonly partnerId: string
  /** The id of the instruction, and of the proposal that was approved. */
  readonly id: string
  readonly caseId: string
  readonly connector: string
  readonly currency: Currency
  readonly amount: Minor
  readonly creditorName: string
  readonly creditorAccount: string
  readonly creditorBic: string | null
  readonly remittance: string
  readonly status: ReturnStatus
  readonly attempts: number
  readonly dueAt: Date | null
  readonly leaseId: string | null
  /** The notification that booked it, and the one that rejected or returned it. Null: none has. */
  readonly settledBy: string | null
  readonly endedBy: string | null
  readonly createdAt: Date
  readonly updatedAt: Date
}

const columns = sql`partner_id, id, case_id, connector, currency, amount, creditor_name, creditor_account, creditor_bic,
  remittance, status, attempts, due_at, lease_id, settled_by, ended_by, created_at, updated_at`

export async function insertReturn(tx: Tx, row: ReturnRow): Promise<void> {
  await tx.run(sql`/* cases.insertReturn */
    insert into cases.returns (${columns})
    values (${row.partnerId}, ${row.id}, ${row.caseId}, ${row.connector}, ${row.currency}, ${row.amount}, ${row.creditorName},
      ${row.creditorAccount}, ${row.creditorBic}, ${row.remittance}, ${row.status}, ${row.attempts}, ${row.dueAt},
      ${row.leaseId}, ${row.settledBy}, ${row.endedBy}, ${row.createdAt}, ${row.updatedAt})`)
}

/** The due-work scan, without a lock. */
export function dueReturns(
  tx: Tx,
  connector: string,
  now: Date,
  rowsMax: number,
): Promise<readonly { readonly partnerId: string; readonly id: string }[]> {
  return tx.rows(
    dueWork(
      'finds money of cases that is due to be sent back, without a lock',
      (whose) => sql`/* cases.dueReturns */
      select partner_id, id from cases.returns where connector = ${connector} and due_at <= ${now} and ${whose()}
      order by due_at, id limit ${rowsMax}`,
    ),
  )
}

export const returnsDue = (connector: string, after: Date): Sql =>
  dueWork(
    'reads when the next money of a case is due to be sent back',
    (whose) => sql`/* cases.returnsDue */
      select due_at from cases.returns where connector = ${connector} and due_at > ${after} and ${whose()}
      order by due_at limit 1`,
  )

/** Claims a due return for an attempt. Undefined: another worker has it, or it is no longer due. */
export function claimReturn(
  tx: Tx,
  partnerId: string,
  id: string,
  lease: { readonly now: Date; readonly leaseId: string; readonly until: Date },
): Promise<ReturnRow | undefined> {
  return tx.row<ReturnRow>(sql`/* cases.claimReturn */
    update cases.returns set attempts = attempts + 1, lease_id = ${lease.leaseId}, due_at = ${lease.until},
      updated_at = ${lease.now}
    where partner_id = ${partnerId} and id = ${id} and due_at <= ${lease.now} returning ${columns}`)
}

export function lockReturn(tx: Tx, partnerId: string, id: string): Promise<ReturnRow | undefined> {
  return tx.row<ReturnRow>(sql`/* cases.lockReturn */
    select ${columns} from cases.returns where partner_id = ${partnerId} and id = ${id} for update`)
}

export function returnById(tx: Tx, partnerId: string, id: string): Promise<ReturnRow | undefined> {
  return tx.row<ReturnRow>(sql`/* cases.returnById */
    select ${columns} from cases.returns where partner_id = ${partnerId} and id = ${id}`)
}

/** The caller holds the lock. Ends the lease. */
export async function updateReturn(
  tx: Tx,
  { partnerId, id }: Pick<ReturnRow, 'partnerId' | 'id'>,
  change: Pick<ReturnRow, 'status' | 'dueAt'> & Partial<Pick<ReturnRow, 'settledBy' | 'endedBy'>>,
  now: Date,
): Promise<void> {
  await tx.run(sql`/* cases.updateReturn */
    update cases.returns set status = ${change.status}, due_at = ${change.dueAt}, lease_id = null, updated_at = ${now},
      settled_by = coalesce(${change.settledBy ?? null}, settled_by), ended_by = coalesce(${change.endedBy ?? null}, ended_by)
    where partner_id = ${partnerId} and id = ${id}`)
}
