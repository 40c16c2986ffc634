/** The sealed keys that sign heads, for the command that seals all values under a new master key. */
import { nilId } from '../kernel/index.ts'
import { acrossPartners, columnOf, type SealedColumn, sql } from '../postgres/index.ts'

/** Binds a sealed key to its row. */
export const keyContext = (partnerId: string, id: string): readonly string[] => ['audit.keys', partnerId, id]

/** Bytes 2 to 5 of a sealed value are the id of its key (`kernel/seal.ts`). */
export const sealedAuditKeys: SealedColumn = {
  name: 'audit.keys.private_key_sealed',
  contextOf: (partnerId, cell) => keyContext(partnerId, cell('id')),
  countByKey: (tx) =>
    tx.rows(
      acrossPartners(
        'an operator counts the values under each master key',
        sql`/* audit.countByKey */
          select encode(substring(private_key_sealed from 2 for 4), 'hex') as key_id, count(*) as count
          from audit.keys group by 1 order by 1`,
      ),
    ),
  notUnder: async (tx, partnerId, { keyId, afterId = nilId, rowsMax }) => {
    const rows = await tx.rows<{ readonly id: string; readonly sealed: Buffer }>(sql`/* audit.notUnder */
      select id, private_key_sealed as sealed from audit.keys
      where partner_id = ${partnerId} and id > ${afterId}
        and substring(private_key_sealed from 2 for 4) <> decode(${keyId}, 'hex')
      order by id limit ${rowsMax}`)
    return rows.map(({ id, sealed }) => ({ id, sealed, context: keyContext(partnerId, id) }))
  },
  replace: (tx, partnerId, values) => {
    const column = columnOf(values)
    return tx.run(sql`/* audit.replace */
      update audit.keys set private_key_sealed = input.resealed
      from unnest(${column('id')}::uuid[], ${column('sealed')}::bytea[], ${column('resealed')}::bytea[])
        as input (id, sealed, resealed)
      where keys.partner_id = ${partnerId} and keys.id = input.id and keys.private_key_sealed = input.sealed`)
  },
}
