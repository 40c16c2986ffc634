/** Personal columns of deposits: the payer, and the partner's own fields. */
import { eraseParts } from './store-parts.ts'
import { erasePersonal, type PersonalColumns, sql, type Tx } from '../../postgres/index.ts'

/** The fingerprint of the request is made of the partner's own fields. The payer's location goes with them. */
const details: PersonalColumns = {
  table: 'deposits.deposits',
  by: 'id',
  erased: {
    ...{ request_hash: '', custom_fields: null, website_reference: null, ip_address: '', payment_country: '' },
    craft_text: null,
  },
}
const all: PersonalColumns = { ...details, erased: { ...details.erased, debtor: null, error_details: null } }

/** Locks in the order of the ids, as `lockDeposits`. Returns the ids. */
export async function eraseFields(
  tx: Tx,
  partnerId: string,
  references: readonly string[],
  scope: 'details' | 'all',
): Promise<readonly string[]> {
  if (references.length === 0) return []
  const rows = await tx.rows<{ id: string }>(sql`/* deposits.eraseFields */
    select id from deposits.deposits where partner_id = ${partnerId} and reference = any(${references}::text[])
    order by id for no key update`)
  const ids = rows.map(({ id }) => id)
  await erasePersonal(tx, scope === 'all' ? all : details, partnerId, ids)
  if (scope === 'all') await eraseParts(tx, partnerId, ids)
  return ids
}
