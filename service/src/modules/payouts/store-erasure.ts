/** The SQL that erases what payouts say of their parties. */
import { sql, type Tx } from '../../postgres/index.ts'

/** A page of the payouts of an erased customer behind one of them. Answers the last one, or undefined behind the last page. */
export async function erasePage(
  tx: Tx,
  {
    partnerId,
    customerId,
    afterId,
  }: { readonly partnerId: string; readonly customerId: string; readonly afterId: string },
  rowsMax: number,
): Promise<string | undefined> {
  const rows = await tx.rows<{ id: string }>(sql`/* payouts.erasePage */
    update payouts.payouts set creditor_name = '', creditor_account = '', creditor_bic = null, remittance = null,
      error_details = null
    where partner_id = ${partnerId} and id = any(array(
      select id from payouts.payouts
      where partner_id = ${partnerId} and customer_id = ${customerId} and id > ${afterId}
      order by id limit ${rowsMax} for update))
    returning id`)
  await eraseRecalls(
    tx,
    partnerId,
    rows.map(({ id }) => id),
  )
  return rows.length < rowsMax
    ? undefined
    : rows
        .map(({ id }) => id)
        .toSorted()
        .at(-1)
}

async function eraseRecalls(tx: Tx, partnerId: string, payoutIds: readonly string[]): Promise<void> {
  await tx.run(sql`/* payouts.eraseRecalls */
    update payouts.recalls set details = null
    where partner_id = ${partnerId} and payout_id = any(${payoutIds}::uuid[]) and details is not null`)
}
