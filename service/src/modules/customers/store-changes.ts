/** The SQL of the history of customers. Rows are added only. */
import { sql, type Tx } from '../../postgres/index.ts'

export type ChangeKind = 'Created' | 'Updated'
export type ChangeRow = {
  readonly id: string
  readonly sequence: number
  readonly kind: ChangeKind
  readonly actorId: string | null
  readonly actorName: string | null
  readonly requestId: string | null
  readonly fields: readonly string[]
  readonly valuesSealed: Uint8Array
  readonly changedAt: Date
}
export type NewChange = ChangeRow & { readonly customerId: string }

/** The sequence number of the newest change, or 0. The caller holds the lock of the customer. */
export async function lastSequence(tx: Tx, partnerId: string, customerId: string): Promise<number> {
  const row = await tx.row<{ sequence: number }>(sql`/* customers.lastSequence */
    select coalesce(max(sequence), 0) as sequence from customers.changes
    where partner_id = ${partnerId} and customer_id = ${customerId}`)
  return row?.sequence ?? 0
}

export async function insertChange(tx: Tx, partnerId: string, row: NewChange): Promise<void> {
  await tx.run(sql`/* customers.insertChange */
    insert into customers.changes (partner_id, id, customer_id, sequence, kind, actor_id, actor_name, request_id, fields,
      values_sealed, changed_at)
    values (${partnerId}, ${row.id}, ${row.customerId}, ${row.sequence}, ${row.kind}, ${row.actorId}, ${row.actorName},
      ${row.requestId}, ${row.fields}::text[], ${row.valuesSealed}, ${row.changedAt})`)
}

/** Newest first, before a sequence number. */
export function changesOf(
  tx: Tx,
  partnerId: string,
  customerId: string,
  before: number | null,
  rowsMax: number,
): Promise<readonly ChangeRow[]> {
  return tx.rows(sql`/* customers.changesOf */
    select id, sequence, kind, actor_id, actor_name, request_id, fields, values_sealed, changed_at from customers.changes
    where partner_id = ${partnerId} and customer_id = ${customerId}
      and sequence < ${before ?? greatestSequence}
    order by sequence desc limit ${rowsMax}`)
}

/** Maximum of the type `integer`. */
const greatestSequence = 2_147_483_647
