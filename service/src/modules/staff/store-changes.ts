/** All SQL of changes that wait for a second person. */
import { sql, type Tx } from '../../postgres/index.ts'

export type ChangeRow = {
  readonly id: string
  readonly command: string
  /** JSON object of what was typed. */
  readonly options: string
  readonly proposedBy: string
  readonly proposedByName: string
  readonly proposedAt: Date
  readonly expiresAt: Date
  readonly decidedBy: string | null
  readonly decidedByName: string | null
  readonly decidedAt: Date | null
  readonly approved: boolean | null
  readonly reason: string | null
  readonly doneAt: Date | null
}

const columns = sql`id, command, options::text as options, proposed_by, proposed_by_name, proposed_at, expires_at,
  decided_by, decided_by_name, decided_at, approved, reason, done_at`

type NewChange = Pick<
  ChangeRow,
  'id' | 'command' | 'options' | 'proposedBy' | 'proposedByName' | 'proposedAt' | 'expiresAt'
>

export async function insertChange(tx: Tx, row: NewChange): Promise<void> {
  await tx.run(sql`/* staff.insertChange */
    insert into staff.changes (id, command, options, proposed_by, proposed_by_name, proposed_at, expires_at)
    values (${row.id}, ${row.command}, ${row.options}::jsonb, ${row.proposedBy}, ${row.proposedByName},
      ${row.proposedAt}, ${row.expiresAt})`)
}

export function changeById(tx: Tx, id: string): Promise<ChangeRow | undefined> {
  return tx.row<ChangeRow>(sql`/* staff.changeById */ select ${columns} from staff.changes where id = ${id}`)
}

/** The change, locked until the end of the transaction. */
export function lockChange(tx: Tx, id: string): Promise<ChangeRow | undefined> {
  return tx.row<ChangeRow>(sql`/* staff.lockChange */ select ${columns} from staff.changes where id = ${id} for update`)
}

/** Changes that are neither carried out, rejected nor over, oldest first. */
export function waitingChanges(tx: Tx, now: Date, rowsMax: number): Promise<readonly ChangeRow[]> {
  return tx.rows<ChangeRow>(sql`/* staff.waitingChanges */
    select ${columns} from staff.changes
    where done_at is null and approved is not false and expires_at > ${now}
    order by proposed_at, id limit ${rowsMax}`)
}

type Decision = {
  readonly by: string
  readonly byName: string
  readonly approved: boolean
  readonly reason: string | null
  readonly now: Date
}

export async function decideChange(tx: Tx, id: string, { by, byName, approved, reason, now }: Decision): Promise<void> {
  await tx.run(sql`/* staff.decideChange */
    update staff.changes
    set decided_by = ${by}, decided_by_name = ${byName}, decided_at = ${now}, approved = ${approved}, reason = ${reason}
    where id = ${id}`)
}

export async function recordDone(tx: Tx, id: string, now: Date): Promise<void> {
  await tx.run(sql`/* staff.recordDone */ update staff.changes set done_at = ${now} where id = ${id}`)
}
