/** The sealed keys of chain connectors, for the command that seals all values under a new master key. */
import { columnOf, type SealedColumn, sql } from '../../postgres/index.ts'

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
