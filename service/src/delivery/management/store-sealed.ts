/** The sealed secrets of subscriptions, for the command that seals all values under a new master key. */
import { nilId } from '../../kernel/index.ts'
import { acrossPartners, columnOf, type SealedColumn, sql } from '../../postgres/index.ts'
import { sealContext } from './signing-keys.ts'

/** Bytes 2 to 5 of a sealed value are the id of its key (`kernel/seal.ts`). */
export const sealedWebhookSecrets: SealedColumn = {
  name: 'delivery.secrets.secret_sealed',
  contextOf: (partnerId, cell) => sealContext({ partnerId, subscriptionId: cell('subscription_id') }),
  countByKey: (tx) =>
    tx.rows(
      acrossPartners(
        'an operator counts the values under each master key',
        sql`/* delivery.countByKey */
          select encode(substring(secret_sealed from 2 for 4), 'hex') as key_id, count(*) as count
          from delivery.secrets where secret_sealed is not null group by 1 order by 1`,
      ),
    ),
  notUnder: async (tx, partnerId, { keyId, afterId = nilId, rowsMax }) => {
    const rows = await tx.rows<{
      readonly id: string
      readonly subscriptionId: string
      readonly sealed: Buffer
    }>(sql`/* delivery.notUnder */
      select id, subscription_id, secret_sealed as sealed from delivery.secrets
      where partner_id = ${partnerId} and id > ${afterId} and secret_sealed is not null
        and substring(secret_sealed from 2 for 4) <> decode(${keyId}, 'hex')
      order by id limit ${rowsMax}`)
    return rows.map(({ id, subscriptionId, sealed }) => ({
      id,
      sealed,
      context: sealContext({ partnerId, subscriptionId }),
    }))
  },
  replace: (tx, partnerId, values) => {
    const column = columnOf(values)
    return tx.run(sql`/* delivery.replace */
      update delivery.secrets set secret_sealed = input.resealed
      from unnest(${column('id')}::uuid[], ${column('sealed')}::bytea[], ${column('resealed')}::bytea[])
        as input (id, sealed, resealed)
      where secrets.partner_id = ${partnerId} and secrets.id = input.id and secrets.secret_sealed = input.sealed`)
  },
}
