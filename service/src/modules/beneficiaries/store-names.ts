/** The SQL of the index of names. A statement that writes runs under the locks of its payees. */
import { dueWork, insertBy, type RowOf, sql, type Tx } from '../../postgres/index.ts'

/** `name`: null if the payee was removed. `isIndexed`: the index has a name of the payee. */
export type NamedPayee = { readonly id: string; readonly name: string | null; readonly isIndexed: boolean }

const types = { partnerId: 'uuid', prefix: 'text', beneficiaryId: 'uuid' } as const
const newPrefixes = insertBy<RowOf<typeof types>>(types, [['partnerId']], ['beneficiaryId', 'prefix'])

export async function insertPrefixes(
  tx: Tx,
  partnerId: string,
  prefixes: readonly { readonly id: string; readonly prefix: string }[],
): Promise<void> {
  if (prefixes.length === 0) return
  const rows = prefixes.map(({ id, prefix }) => ({ partnerId, prefix, beneficiaryId: id }))
  await tx.run(sql`/* beneficiaries.insertPrefixes */
    insert into beneficiaries.name_prefixes (partner_id, prefix, beneficiary_id) ${newPrefixes(tx, rows)}`)
}

export async function deletePrefixes(tx: Tx, partnerId: string, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  await tx.run(sql`/* beneficiaries.deletePrefixes */
    delete from beneficiaries.name_prefixes where partner_id = ${partnerId} and beneficiary_id = any(${ids}::uuid[])`)
}

const isDue = sql`indexed_name is distinct from case when removed_at is null then name end`

/** The first partner after `afterId` with payees whose names are due. */
export async function partnerWithNamesDue(tx: Tx, afterId: string): Promise<string | undefined> {
  const row = await tx.row<{ readonly partnerId: string }>(
    dueWork(
      'finds a partner with names to index, without a lock, by an index of those',
      (whose) => sql`/* beneficiaries.partnerWithNamesDue */
      select partner_id from beneficiaries.beneficiaries
      where partner_id > ${afterId} and ${whose()} and ${isDue} order by partner_id limit 1`,
    ),
  )
  return row?.partnerId
}

/** Skips payees that another transaction changes, because it indexes their names. */
export function claimNamesDue(tx: Tx, partnerId: string, rowsMax: number): Promise<readonly NamedPayee[]> {
  return tx.rows(sql`/* beneficiaries.claimNamesDue */
    select id, case when removed_at is null then name end as name, indexed_name is not null as is_indexed
    from beneficiaries.beneficiaries where partner_id = ${partnerId} and ${isDue}
    order by id limit ${rowsMax}
    for no key update skip locked`)
}

export async function markIndexed(tx: Tx, partnerId: string, payees: readonly NamedPayee[]): Promise<void> {
  if (payees.length === 0) return
  await tx.run(sql`/* beneficiaries.markIndexed */
    update beneficiaries.beneficiaries set indexed_name = case when removed_at is null then name end
    where partner_id = ${partnerId} and id = any(${payees.map(({ id }) => id)}::uuid[])`)
}
