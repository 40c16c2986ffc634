/** The sealed details of hits, for the command that seals all values under a new master key. */
import { nilId } from '../kernel/index.ts'
import { acrossPartners, columnOf, type SealedColumn, sql } from '../postgres/index.ts'

/** Binds the names of a hit to its row. */
export const hitContext = (partnerId: string, id: string) => ['screening.hits', partnerId, id]

/** Bytes 2 to 5 of a sealed value are the id of its key (`kernel/seal.ts`). */
export const sealedHits: SealedColumn = {
  name: 'screening.hits.detail_sealed',
  contextOf: (partnerId, cell) => hitContext(partnerId, cell('id')),
  countByKey: (tx) =>
    tx.rows(
      acrossPartners(
        'an operator counts the values under each master key',
        sql`/* screening.countByKey */
          select encode(substring(detail_sealed from 2 for 4), 'hex') as key_id, count(*) as count
          from screening.hits group by 1 order by 1`,
      ),
    ),
  notUnder: async (tx, partnerId, { keyId, afterId = nilId, rowsMax }) => {
    const rows = await tx.rows<{ readonly id: string; readonly sealed: Buffer }>(sql`/* screening.notUnder */
      select id, detail_sealed as sealed from screening.hits
      where partner_id = ${partnerId} and id > ${afterId}
        and substring(detail_sealed from 2 for 4) <> decode(${keyId}, 'hex')
      order by id limit ${rowsMax}`)
    return rows.map(({ id, sealed }) => ({ id, sealed, context: hitContext(partnerId, id) }))
  },
  replace: (tx, partnerId, values) => {
    const column = columnOf(values)
    return tx.run(sql`/* screening.replace */
      update screening.hits set detail_sealed = input.resealed
      from unnest(${column('id')}::uuid[], ${column('sealed')}::bytea[], ${column('resealed')}::bytea[])
        as input (id, sealed, resealed)
      where hits.partner_id = ${partnerId} and hits.id = input.id and hits.detail_sealed = input.sealed`)
  },
}
