/** SQL of transactions for the erasure of a customer. */
import { ownJson } from '@partner-payments/wire'
import { erasePersonal, type PersonalColumns, sql, type Tx, unprepared } from '../postgres/index.ts'
import type { TimelineEntry } from './store.ts'

/** Lists pending transactions of a customer, newest first. */
export async function pendingReferences(
  tx: Tx,
  partnerId: string,
  customerId: string,
  rowsMax: number,
): Promise<readonly string[]> {
  const rows = await tx.rows<{ reference: string }>(
    unprepared(sql`/* transactions.pendingReferences */
      select reference from transactions.transactions
      where partner_id = ${partnerId} and customer_id = ${customerId} and status = 'Pending'
      order by id desc limit ${rowsMax}`),
  )
  return rows.map(({ reference }) => reference)
}

/** Finds when the newest transaction of a customer last changed. Null: it has none. */
export async function lastPaymentAt(tx: Tx, partnerId: string, customerId: string): Promise<Date | null> {
  const row = await tx.row<{ updatedAt: Date }>(sql`/* transactions.lastPaymentAt */
    select updated_at from transactions.transactions where partner_id = ${partnerId} and customer_id = ${customerId}
    order by id desc limit 1`)
  return row?.updatedAt ?? null
}

export type ErasableRow = { readonly id: string; readonly reference: string; readonly sessionId: string | null }

/** Lists transactions of a customer, oldest first. `after` is the cursor. */
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

const partnerFields: PersonalColumns = {
  table: 'transactions.transactions',
  by: 'id',
  erased: { website_reference: null, beneficiary_alias: null, partner_user: null },
}
const personalFields: PersonalColumns = {
  ...partnerFields,
  erased: { ...partnerFields.erased, creditor: null, debtor: null, description: null, user_reference: null },
}

type BankTextRow = { readonly id: string; readonly timeline: string }

/** Locks the transactions that have a text of a bank. There are few. */
function lockBankTexts(tx: Tx, partnerId: string, ids: readonly string[]): Promise<readonly BankTextRow[]> {
  return tx.rows<BankTextRow>(sql`/* transactions.lockBankTexts */
    select id, timeline from transactions.transactions
    where partner_id = ${partnerId} and id = any(${ids}::uuid[]) and timeline @? '$[*].bankText' order by id for update`)
}

/** Erases the bank's text of a step, which may name a person. */
async function eraseBankText(tx: Tx, partnerId: string, { id, timeline }: BankTextRow): Promise<void> {
  const entries = ownJson<readonly TimelineEntry[]>(timeline)
  const kept = JSON.stringify(entries.map(({ bankText: _erased, ...entry }) => entry))
  await tx.run(sql`/* transactions.eraseBankText */
    update transactions.transactions set timeline = ${kept}::jsonb where partner_id = ${partnerId} and id = ${id}`)
}

/**
 * Erases the partner's own fields, or every field that names a person or is free text. The time of the last change
 * stays, because the payment does not change.
 */
export async function eraseFields(
  tx: Tx,
  partnerId: string,
  ids: readonly string[],
  scope: 'details' | 'all',
): Promise<void> {
  await erasePersonal(tx, scope === 'all' ? personalFields : partnerFields, partnerId, ids)
  if (scope === 'all' && ids.length > 0)
    for (const told of await lockBankTexts(tx, partnerId, ids)) await eraseBankText(tx, partnerId, told)
}
