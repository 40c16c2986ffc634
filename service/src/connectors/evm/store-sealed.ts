/** The sealed keys and parties of chain connectors, for the command that seals all values under a new master key. */
import { nilId } from '../../kernel/index.ts'
import { acrossPartners, columnOf, type SealedColumn, sql } from '../../postgres/index.ts'

/** Binds a sealed key to its name. */
export const keyContext = (name: string) => ['rails.chain_keys', name]

/**
 * Bytes 2 to 5 of a sealed value are the id of its key (`kernel/seal.ts`). The keys belong to no partner: the command seals
 * them with the first partner that it comes to.
 */
export const sealedChainKeys: SealedColumn = {
  name: 'rails.chain_keys.secret_sealed',
  contextOf: (_partnerId, cell) => keyContext(cell('name')),
  countByKey: (tx) =>
    tx.rows(sql`/* rails.countByKey */
      select encode(substring(secret_sealed from 2 for 4), 'hex') as key_id, count(*) as count
      from rails.chain_keys group by 1 order by 1`),
  notUnder: async (tx, _partnerId, { keyId, afterId = '', rowsMax }) => {
    const rows = await tx.rows<{ readonly id: string; readonly sealed: Buffer }>(sql`/* rails.notUnder */
      select name as id, secret_sealed as sealed from rails.chain_keys
      where name > ${afterId} and substring(secret_sealed from 2 for 4) <> decode(${keyId}, 'hex')
      order by name limit ${rowsMax}`)
    return rows.map(({ id, sealed }) => ({ id, sealed, context: keyContext(id) }))
  },
  replace: (tx, _partnerId, values) => {
    const column = columnOf(values)
    return tx.run(sql`/* rails.replace */
      update rails.chain_keys set secret_sealed = input.resealed
      from unnest(${column('id')}::text[], ${column('sealed')}::bytea[], ${column('resealed')}::bytea[])
        as input (name, sealed, resealed)
      where chain_keys.name = input.name and chain_keys.secret_sealed = input.sealed`)
  },
}

/** Binds the sealed parties of a transfer to their row. */
export const travelRuleContext = (partnerId: string, id: string) => ['rails.travel_rule', partnerId, id]

export const sealedTravelRules: SealedColumn = {
  name: 'rails.chain_transfers.travel_rule_sealed',
  contextOf: (partnerId, cell) => travelRuleContext(partnerId, cell('id')),
  countByKey: (tx) =>
    tx.rows(
      acrossPartners(
        'an operator counts the values under each master key',
        sql`/* rails.countByKey */
          select encode(substring(travel_rule_sealed from 2 for 4), 'hex') as key_id, count(*) as count
          from rails.chain_transfers group by 1 order by 1`,
      ),
    ),
  notUnder: async (tx, partnerId, { keyId, afterId = nilId, rowsMax }) => {
    const rows = await tx.rows<{ readonly id: string; readonly sealed: Buffer }>(sql`/* rails.notUnder */
      select id, travel_rule_sealed as sealed from rails.chain_transfers
      where partner_id = ${partnerId} and id > ${afterId}
        and substring(travel_rule_sealed from 2 for 4) <> decode(${keyId}, 'hex')
      order by id limit ${rowsMax}`)
    return rows.map(({ id, sealed }) => ({ id, sealed, context: travelRuleContext(partnerId, id) }))
  },
  replace: (tx, partnerId, values) => {
    const column = columnOf(values)
    return tx.run(sql`/* rails.replace */
      update rails.chain_transfers set travel_rule_sealed = input.resealed
      from unnest(${column('id')}::uuid[], ${column('sealed')}::bytea[], ${column('resealed')}::bytea[])
        as input (id, sealed, resealed)
      where chain_transfers.partner_id = ${partnerId} and chain_transfers.id = input.id
        and chain_transfers.travel_rule_sealed = input.sealed`)
  },
}
