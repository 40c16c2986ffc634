/** The SQL of records whose duty of retention ends by their age. */
import { dueWork, type Sql, sql, type Tx } from '../../postgres/index.ts'

export type KeptRow = {
  readonly floor: string
  readonly position: string
  readonly hasLeft: boolean
  readonly dueAt: Date
}

/** Leaves an existing row unchanged. */
export async function beginPlace(tx: Tx, partnerId: string, place: string, row: KeptRow): Promise<void> {
  await tx.run(sql`/* customers.beginPlace */
    insert into customers.kept_records (partner_id, place, floor, position, has_left, due_at)
    values (${partnerId}, ${place}, ${row.floor}, ${row.position}, ${row.hasLeft}, ${row.dueAt}) on conflict do nothing`)
}

export async function placesOf(tx: Tx, partnerId: string): Promise<readonly string[]> {
  const rows = await tx.rows<{ place: string }>(sql`/* customers.placesOf */
    select place from customers.kept_records where partner_id = ${partnerId}`)
  return rows.map(({ place }) => place)
}

/** The partner whose records have been due for the longest time, and since when. */
export function oldestDuePlace(
  tx: Tx,
  now: Date,
): Promise<{ readonly partnerId: string; readonly dueAt: Date } | undefined> {
  return tx.row(
    dueWork(
      'finds a partner with records that are due, without a lock, by an index of those',
      (whose) => sql`/* customers.oldestDuePlace */
      select partner_id, due_at from customers.kept_records where due_at <= ${now} and ${whose()} order by due_at limit 1`,
    ),
  )
}

/** When the next place is due. */
export const placesDue = (after: Date): Sql =>
  dueWork(
    'reads when the next records are due that are kept too long',
    (whose) => sql`/* customers.placesDue */
      select due_at from customers.kept_records where due_at > ${after} and ${whose()} order by due_at limit 1`,
  )

/** Undefined: another process has it. */
export function claimPlace(
  tx: Tx,
  partnerId: string,
  now: Date,
): Promise<(KeptRow & { readonly place: string }) | undefined> {
  return tx.row(sql`/* customers.claimPlace */
    select place, floor, position, has_left, due_at from customers.kept_records
    where partner_id = ${partnerId} and due_at <= ${now} order by due_at limit 1 for update skip locked`)
}

export async function movePlace(tx: Tx, partnerId: string, place: string, row: KeptRow): Promise<void> {
  await tx.run(sql`/* customers.movePlace */
    update customers.kept_records set floor = ${row.floor}, position = ${row.position}, has_left = ${row.hasLeft},
      due_at = ${row.dueAt}
    where partner_id = ${partnerId} and place = ${place}`)
}
