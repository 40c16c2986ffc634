/** The SQL of recoveries. */
import { dueWork, type Sql, sql, type Tx, unprepared } from '../../postgres/index.ts'
import type { MemberRow } from './store-members.ts'

export type RecoveryRow = {
  readonly id: string
  readonly memberId: string
  readonly status: 'Waiting' | 'Open' | 'Used' | 'Cancelled'
  readonly byStaff: boolean
  readonly begunByName: string
  readonly reason: string
  /** The end of the cooling-off. */
  readonly dueAt: Date | null
  readonly tokenHash: Buffer | null
  readonly expiresAt: Date | null
  readonly cancelHash: Buffer | null
  readonly endedBecause: string | null
  readonly createdAt: Date
  readonly updatedAt: Date
}

const columns = sql`id, member_id, status, by_staff, begun_by_name, reason, due_at, token_hash, expires_at, cancel_hash,
  ended_because, created_at, updated_at`

export async function insertRecovery(tx: Tx, partnerId: string, row: RecoveryRow): Promise<void> {
  await tx.run(sql`/* users.insertRecovery */
    insert into users.recoveries (partner_id, id, member_id, status, by_staff, begun_by_name, reason, due_at, token_hash,
      expires_at, cancel_hash, ended_because, created_at, updated_at)
    values (${partnerId}, ${row.id}, ${row.memberId}, ${row.status}, ${row.byStaff}, ${row.begunByName}, ${row.reason},
      ${row.dueAt}, ${row.tokenHash}, ${row.expiresAt}, ${row.cancelHash}, ${row.endedBecause}, ${row.createdAt},
      ${row.updatedAt})`)
}

export async function updateRecovery(tx: Tx, partnerId: string, row: RecoveryRow): Promise<void> {
  await tx.run(sql`/* users.updateRecovery */
    update users.recoveries set status = ${row.status}, token_hash = ${row.tokenHash}, expires_at = ${row.expiresAt},
      ended_because = ${row.endedBecause}, updated_at = ${row.updatedAt}
    where partner_id = ${partnerId} and id = ${row.id}`)
}

export function recoveryByToken(tx: Tx, partnerId: string, hash: Buffer): Promise<RecoveryRow | undefined> {
  return tx.row<RecoveryRow>(sql`/* users.recoveryByToken */
    select ${columns} from users.recoveries where partner_id = ${partnerId} and token_hash = ${hash}`)
}

export function recoveryByCancel(tx: Tx, partnerId: string, hash: Buffer): Promise<RecoveryRow | undefined> {
  return tx.row<RecoveryRow>(sql`/* users.recoveryByCancel */
    select ${columns} from users.recoveries where partner_id = ${partnerId} and cancel_hash = ${hash}`)
}

/** Locks a recovery. Lock order: the members of the team, then their recoveries. */
export function lockRecovery(tx: Tx, partnerId: string, id: string): Promise<RecoveryRow | undefined> {
  return tx.row<RecoveryRow>(sql`/* users.lockRecovery */
    select ${columns} from users.recoveries where partner_id = ${partnerId} and id = ${id} for no key update`)
}

/** The recovery of a member that is not over, locked. */
export function lockLiveRecovery(tx: Tx, partnerId: string, memberId: string): Promise<RecoveryRow | undefined> {
  return tx.row<RecoveryRow>(sql`/* users.lockLiveRecovery */
    select ${columns} from users.recoveries
    where partner_id = ${partnerId} and member_id = ${memberId} and status in ('Waiting', 'Open')
    for no key update`)
}

/** Newest first, with the name and the address of each member. */
export function recoveriesOf(
  tx: Tx,
  partnerId: string,
  rowsMax: number,
): Promise<readonly (RecoveryRow & Pick<MemberRow, 'fullName' | 'email'>)[]> {
  return tx.rows(sql`/* users.recoveriesOf */
    select recoveries.id, member_id, status, by_staff, begun_by_name, reason, due_at, expires_at, ended_because,
      recoveries.created_at, recoveries.updated_at, full_name, email
    from users.recoveries
    join users.members on members.partner_id = recoveries.partner_id and members.id = recoveries.member_id
    where recoveries.partner_id = ${partnerId} order by recoveries.id desc limit ${rowsMax}`)
}

export const recoveriesDue = (after: Date): Sql =>
  dueWork(
    'reads when the next cooling-off of a recovery ends',
    (whose) => sql`/* users.recoveriesDue */
      select due_at from users.recoveries
      where status = 'Waiting' and due_at > ${after} and ${whose()} order by due_at limit 1`,
  )

/** Recoveries whose cooling-off is over, without a lock. */
export function dueRecoveries(
  tx: Tx,
  now: Date,
  rowsMax: number,
): Promise<readonly { readonly partnerId: string; readonly id: string; readonly memberId: string }[]> {
  return tx.rows(
    dueWork('finds recoveries whose cooling-off is over, without a lock', (whose) =>
      unprepared(sql`/* users.dueRecoveries */
        select partner_id, id, member_id from users.recoveries
        where status = 'Waiting' and due_at <= ${now} and ${whose()} order by due_at limit ${rowsMax}`),
    ),
  )
}

/** The Admins who have joined. */
export function adminsOf(
  tx: Tx,
  partnerId: string,
  rowsMax: number,
): Promise<readonly Pick<MemberRow, 'id' | 'fullName' | 'email'>[]> {
  return tx.rows(sql`/* users.adminsOf */
    select id, full_name, email from users.members
    where partner_id = ${partnerId} and role = 'Admin' and removed_at is null order by id limit ${rowsMax}`)
}
