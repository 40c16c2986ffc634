/** The sealed columns of customers, for the command that seals all values under a new master key. */
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

/** Binds the sealed key of a partner's name tokens to the partner. */
export const nameKeyContext = (partnerId: string) => ['customers.name_keys', partnerId]

/** A partner has one key, which its own id names. */
export const sealedNameKeys: SealedColumn = {
  name: 'customers.name_keys.key_sealed',
  contextOf: (partnerId) => nameKeyContext(partnerId),
  countByKey: (tx) =>
    tx.rows(
      acrossPartners(
        'an operator counts the values under each master key',
        sql`/* customers.countByKey */
          select encode(substring(key_sealed from 2 for 4), 'hex') as key_id, count(*) as count
          from customers.name_keys where key_sealed is not null group by 1 order by 1`,
      ),
    ),
  notUnder: async (tx, partnerId, { keyId, afterId = nilId, rowsMax }) => {
    const rows = await tx.rows<{ readonly id: string; readonly sealed: Buffer }>(sql`/* customers.notUnder */
      select partner_id as id, key_sealed as sealed from customers.name_keys
      where partner_id = ${partnerId} and partner_id > ${afterId}
        and substring(key_sealed from 2 for 4) <> decode(${keyId}, 'hex')
      order by partner_id limit ${rowsMax}`)
    return rows.map(({ id, sealed }) => ({ id, sealed, context: nameKeyContext(partnerId) }))
  },
  replace: (tx, partnerId, values) => {
    const column = columnOf(values)
    return tx.run(sql`/* customers.replace */
      update customers.name_keys set key_sealed = input.resealed
      from unnest(${column('sealed')}::bytea[], ${column('resealed')}::bytea[]) as input (sealed, resealed)
      where name_keys.partner_id = ${partnerId} and name_keys.key_sealed = input.sealed`)
  },
}

/** Binds the sealed values of a change to the partner and the change. */
export const changeContext = (partnerId: string, id: string) => ['customers.changes', partnerId, id]

export const sealedChanges: SealedColumn = {
  name: 'customers.changes.values_sealed',
  contextOf: (partnerId, cell) => changeContext(partnerId, cell('id')),
  countByKey: (tx) =>
    tx.rows(
      acrossPartners(
        'an operator counts the values under each master key',
        sql`/* customers.countByKey */
          select encode(substring(values_sealed from 2 for 4), 'hex') as key_id, count(*) as count
          from customers.changes where values_sealed is not null group by 1 order by 1`,
      ),
    ),
  notUnder: async (tx, partnerId, { keyId, afterId = nilId, rowsMax }) => {
    const rows = await tx.rows<{ readonly id: string; readonly sealed: Buffer }>(sql`/* customers.notUnder */
      select id, values_sealed as sealed from customers.changes
      where partner_id = ${partnerId} and id > ${afterId}
        and substring(values_sealed from 2 for 4) <> decode(${keyId}, 'hex')
      order by id limit ${rowsMax}`)
    return rows.map(({ id, sealed }) => ({ id, sealed, context: changeContext(partnerId, id) }))
  },
  replace: (tx, partnerId, values) => {
    const column = columnOf(values)
    return tx.run(sql`/* customers.replace */
      update customers.changes set values_sealed = input.resealed
      from unnest(${column('id')}::uuid[], ${column('sealed')}::bytea[], ${column('resealed')}::bytea[])
        as input (id, sealed, resealed)
      where changes.partner_id = ${partnerId} and changes.id = input.id and changes.values_sealed = input.sealed`)
  },
}
