/** All SQL of the notifications of a file-based bank. */
import {
  acrossPartners,
  dueWork,
  insertBy,
  ofPartners,
  type RowOf,
  type Sql,
  sql,
  type Tx,
} from '../../postgres/index.ts'

const types = {
  partnerId: 'uuid',
  id: 'uuid',
  connector: 'text',
  subjectId: 'uuid',
  kind: 'text',
  payload: 'json',
  entryId: 'uuid?',
  dueAt: 'timestamptz',
} as const
export type NewNotification = RowOf<typeof types>
export type NotificationRow = Omit<NewNotification, 'connector' | 'entryId' | 'dueAt'>

const newNotifications = insertBy<NewNotification>(
  types,
  [['partnerId', 'connector', 'dueAt'], ['kind']],
  ['partnerId', 'id'],
)

/** An existing one stays: its id is derived from its content. */
export function insertNotifications(tx: Tx, rows: readonly NewNotification[]): void {
  tx.later(sql`/* rails.insertNotifications */
    insert into rails.iso_notifications (partner_id, id, connector, subject_id, kind, payload, entry_id, due_at)
    ${newNotifications(tx, rows)} on conflict (partner_id, id) do nothing`)
}

/** Due notifications of all partners, oldest first: a due-work scan, which names no partner by design. */
export function dueNotifications(tx: Tx, connector: string, rowsMax: number): Promise<readonly NotificationRow[]> {
  return tx.rows<NotificationRow>(
    dueWork(
      'reads the notifications of a file-based bank in order of time',
      (whose) => sql`/* rails.dueNotifications */
        select partner_id, id, subject_id, kind, payload from rails.iso_notifications
        where connector = ${connector} and ${whose()} order by due_at, id limit ${rowsMax}`,
    ),
  )
}

/** Returns the entries that they reported. */
export async function deleteNotifications(
  tx: Tx,
  connector: string,
  rows: readonly { readonly partnerId: string; readonly id: string }[],
): Promise<readonly string[]> {
  const deleted = await tx.rows<{ entryId: string | null }>(sql`/* rails.deleteNotifications */
    delete from rails.iso_notifications
    where ${ofPartners(rows.map(({ partnerId }) => partnerId))} and id = any(${rows.map(({ id }) => id)}::uuid[])
      and connector = ${connector}
    returning entry_id`)
  return deleted.flatMap(({ entryId }) => entryId ?? [])
}

export const notificationsDue = (connector: string, after: Date): Sql =>
  dueWork(
    'reads when the next notification of a file-based bank is due',
    (whose) => sql`/* rails.notificationsDue */
      select due_at from rails.iso_notifications where connector = ${connector} and due_at > ${after} and ${whose()} order by due_at limit 1`,
  )

export async function oldestDue(tx: Tx, connector: string): Promise<Date | null> {
  const row = await tx.row<{ dueAt: Date }>(
    acrossPartners(
      'reads the age of the oldest notification of a file-based bank, for a metric',
      sql`/* rails.oldestDue */
        select due_at from rails.iso_notifications where connector = ${connector} order by due_at limit 1`,
    ),
  )
  return row?.dueAt ?? null
}
