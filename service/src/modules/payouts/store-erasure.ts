/** The SQL that erases what payouts say of their parties. */
import { sql, type Tx } from '../../postgres/index.ts'

/** Erases a page of the payouts of an erased customer behind one of them. Answers them in order. The last page has fewer rows than a page. */
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
    update payouts.payouts set creditor_name = '', creditor_account = '', creditor_bic = null, remittance = null,
      error_details = null
    where partner_id = ${partnerId} and id = any(array(
      select id from payouts.payouts
      where partner_id = ${partnerId} and customer_id = ${customerId} and id > ${afterId}
      order by id limit ${rowsMax} for update))
    returning id, end_to_end_id`)
  await eraseRejections(
    tx,
    partnerId,
    rows.map(({ id }) => id),
  )
  return rows.toSorted((one, other) => (one.id < other.id ? -1 : 1))
}

/** Why a second person rejected a payout may name the customer. */
async function eraseRejections(tx: Tx, partnerId: string, payoutIds: readonly string[]): Promise<void> {
  await tx.run(sql`/* payouts.eraseRejections */
    update payouts.approvals set reason = null
    where partner_id = ${partnerId} and payout_id = any(${payoutIds}::uuid[]) and reason is not null`)
}
