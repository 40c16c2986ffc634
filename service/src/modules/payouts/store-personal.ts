/** Personal columns of payouts and of their approvals. */
import { erasePersonal, type PersonalColumns, sql, type Tx } from '../../postgres/index.ts'

const personalPayouts: PersonalColumns = {
  table: 'payouts.payouts',
  by: 'id',
  erased: {
    ...{ creditor_name: '', creditor_account: '', creditor_bic: null, creditor_address: null },
    ...{ remittance: null, error_details: null },
  },
}
/** The reason why a second person rejected a payout may name the customer, and the salt opens the digest of the payee in the audit log. */
const personalApprovals: PersonalColumns = {
  table: 'payouts.approvals',
  by: 'payout_id',
  erased: { reason: null, payee_salt: null },
}

/**
 * Erases a page of the payouts of an erased customer, after one of them. Returns them in order. The last page is
 * shorter.
 */
export async function erasePayouts(
  tx: Tx,
  {
    partnerId,
    customerId,
    afterId,
  }: { readonly partnerId: string; readonly customerId: string; readonly afterId: string },
  rowsMax: number,
): Promise<readonly { readonly id: string; readonly endToEndId: string }[]> {
  const rows = await tx.rows<{ id: string; endToEndId: string }>(sql`/* payouts.erasePayouts */
    select id, end_to_end_id from payouts.payouts
    where partner_id = ${partnerId} and customer_id = ${customerId} and id > ${afterId}
    order by id limit ${rowsMax} for update`)
  const ids = rows.map(({ id }) => id)
  await erasePersonal(tx, personalPayouts, partnerId, ids)
  await erasePersonal(tx, personalApprovals, partnerId, ids)
  return rows
}
