/** The SQL by which an erasure of a customer reads and writes its transactions. */
import { erasePersonal, type PersonalColumns, sql, type Tx, unprepared } from '../../postgres/index.ts'

/** Some of a customer's transactions that are pending, the newest first. */
export async function pendingOf(
  tx: Tx,
  partnerId: string,
  customerId: string,
  rowsMax: number,
): Promise<readonly string[]> {
  const rows = await tx.rows<{ reference: string }>(
    unprepared(sql`/* transactions.pendingOf */
      select reference from transactions.transactions
      where partner_id = ${partnerId} and customer_id = ${customerId} and status = 'Pending'
      order by id desc limit ${rowsMax}`),
  )
  return rows.map(({ reference }) => reference)
}

/** When the newest transaction of a customer last changed. Null: it has none. */
export async function lastPaymentAt(tx: Tx, partnerId: string, customerId: string): Promise<Date | null> {
  const row = await tx.row<{ updatedAt: Date }>(sql`/* transactions.lastPaymentAt */
    select updated_at from transactions.transactions where partner_id = ${partnerId} and customer_id = ${customerId}
    order by id desc limit 1`)
  return row?.updatedAt ?? null
}

export type ErasableRow = { readonly id: string; readonly reference: string; readonly sessionId: string | null }

/** The transactions of a customer after one of them, in their order. */
export function transactionsOf(
  tx: Tx,
  partnerId: string,
  customerId: string,
  afterId: string,
  rowsMax: number,
): Promise<readonly ErasableRow[]> {
  return tx.rows<ErasableRow>(sql`/* transactions.transactionsOf */
    select id, reference, session_id from transactions.transactions
    where partner_id = ${partnerId} and customer_id = ${customerId} and id > ${afterId} order by id limit ${rowsMax}`)
}

const details: PersonalColumns = {
  table: 'transactions.transactions',
  by: 'id',
  erased: { website_reference: null, beneficiary_alias: null, partner_user: null },
}
const all: PersonalColumns = {
  ...details,
  erased: { ...details.erased, creditor: null, debtor: null, description: null, user_reference: null },
}

/**
 * Erases the partner's own fields, or everything that names a person or is free text. This is not a change of the
 * payment: the time of the last change stays.
 */
export async function eraseFields(
  tx: Tx,
  partnerId: string,
  ids: readonly string[],
  scope: 'details' | 'all',
): Promise<void> {
  await erasePersonal(tx, scope === 'all' ? all : details, partnerId, ids)
}
