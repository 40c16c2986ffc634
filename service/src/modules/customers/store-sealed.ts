/** The sealed KYC data, for the command that seals all values under a new master key. */
import { nilId } from '../../kernel/index.ts'
import { acrossPartners, columnOf, type SealedColumn, sql } from '../../postgres/index.ts'

/** Binds sealed KYC to its partner and customer. */
export const kycContext = (partnerId: string, id: string) => ['customers.kyc', partnerId, id]

/** Bytes 2 to 5 of a sealed value are the id of its key (`kernel/seal.ts`). */
export const sealedKyc: SealedColumn = {
  name: 'customers.customers.kyc_sealed',
  contextOf: (partnerId, cell) => kycContext(partnerId, cell('id')),
  countByKey: (tx) =>
    tx.rows(
      acrossPartners(
        'an operator counts the values under each master key',
        sql`/* customers.countByKey */
          select encode(substring(kyc_sealed from 2 for 4), 'hex') as key_id, count(*) as count
          from customers.customers where kyc_sealed is not null group by 1 order by 1`,
      ),
    ),
  notUnder: async (tx, partnerId, { keyId, afterId = nilId, rowsMax }) => {
    const rows = await tx.rows<{ readonly id: string; readonly sealed: Buffer }>(sql`/* customers.notUnder */
      select id, kyc_sealed as sealed from customers.customers
      where partner_id = ${partnerId} and id > ${afterId} and kyc_sealed is not null
        and substring(kyc_sealed from 2 for 4) <> decode(${keyId}, 'hex')
      order by id limit ${rowsMax}`)
    return rows.map(({ id, sealed }) => ({ id, sealed, context: kycContext(partnerId, id) }))
  },
  replace: (tx, partnerId, values) => {
    const column = columnOf(values)
    return tx.run(sql`/* customers.replace */
      update customers.customers set kyc_sealed = input.resealed
      from unnest(${column('id')}::uuid[], ${column('sealed')}::bytea[], ${column('resealed')}::bytea[])
        as input (id, sealed, resealed)
      where customers.partner_id = ${partnerId} and customers.id = input.id and customers.kyc_sealed = input.sealed`)
  },
}
