/** The SQL that erases fields of deposits. */
import { noSql, sql, type Tx } from '../../postgres/index.ts'

/** In the order of the ids, as `lockDeposits`. The partner's own fields and where the payer was, or also who it was. */
export async function eraseFields(
  tx: Tx,
  partnerId: string,
  references: readonly string[],
  scope: 'details' | 'all',
): Promise<void> {
  if (references.length === 0) return
  await tx.run(sql`/* deposits.eraseFields */
    update deposits.deposits set custom_fields = null, website_reference = null, ip_address = '', payment_country = ''
      ${scope === 'all' ? sql`, debtor = null, error_details = null` : noSql}
    where partner_id = ${partnerId} and id = any(array(
      select id from deposits.deposits where partner_id = ${partnerId} and reference = any(${references}::text[])
      order by id for no key update))`)
}
