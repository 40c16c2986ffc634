/** The sealed API secrets, for the command that seals all values under a new master key. */
import { nilId } from '../kernel/index.ts'
import { acrossPartners, columnOf, type SealedColumn, sql } from '../postgres/index.ts'
import { secretContext } from './credentials.ts'

/** Bytes 2 to 5 of a sealed value are the id of its key (`kernel/seal.ts`). */
export const sealedApiSecrets: SealedColumn = {
  name: 'access.service_accounts.api_secret_sealed',
  contextOf: (partnerId, cell) => secretContext(partnerId, cell('id')),
  countByKey: (tx) =>
    tx.rows(
      acrossPartners(
        'an operator counts the values under each master key',
        sql`/* access.countByKey */
          select encode(substring(api_secret_sealed from 2 for 4), 'hex') as key_id, count(*) as count
          from access.service_accounts where api_secret_sealed is not null group by 1 order by 1`,
      ),
    ),
  notUnder: async (tx, partnerId, { keyId, afterId = nilId, rowsMax }) => {
    const rows = await tx.rows<{ readonly id: string; readonly sealed: Buffer }>(sql`/* access.notUnder */
      select id, api_secret_sealed as sealed from access.service_accounts
      where partner_id = ${partnerId} and id > ${afterId} and api_secret_sealed is not null
        and substring(api_secret_sealed from 2 for 4) <> decode(${keyId}, 'hex')
      order by id limit ${rowsMax}`)
    return rows.map(({ id, sealed }) => ({ id, sealed, context: secretContext(partnerId, id) }))
  },
  replace: (tx, partnerId, values) => {
    const column = columnOf(values)
    return tx.run(sql`/* access.replace */
      update access.service_accounts set api_secret_sealed = input.resealed
      from unnest(${column('id')}::uuid[], ${column('sealed')}::bytea[], ${column('resealed')}::bytea[])
        as input (id, sealed, resealed)
      where service_accounts.partner_id = ${partnerId} and service_accounts.id = input.id and service_accounts.api_secret_sealed = input.sealed`)
  },
}
