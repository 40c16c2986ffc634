/** The SQL that erases fields of deposits. */
import { noSql, sql, type Tx } from '../../postgres/index.ts'

/**
 * Erases the partner's own fields, also in the fingerprint of the request, and the payer's location or also its
 * identity. Locks in the order of the ids, as `lockDeposits`. Returns the ids.
 */
export async function eraseFields(
  tx: Tx,
  partnerId: string,
  references: readonly string[],
  scope: 'details' | 'all',
): Promise<readonly string[]> {
  if (references.length === 0) return []
  const rows = await tx.rows<{ id: string }>(sql`/* deposits.eraseFields */
    update deposits.deposits set request_hash = '', custom_fields = null, website_reference = null, ip_address = '', payment_country = ''
      ${scope === 'all' ? sql`, debtor = null, error_details = null` : noSql}
    where partner_id = ${partnerId} and id = any(array(
      select id from deposits.deposits where partner_id = ${partnerId} and reference = any(${references}::text[])
      order by id for no key update))
    returning id`)
  return rows.map(({ id }) => id)
}
