/** The sealed tokens of links, for the command that seals all values under a new master key. */
import { nilId } from '../../kernel/index.ts'
import { acrossPartners, columnOf, type SealedColumn, sql } from '../../postgres/index.ts'

/** Binds a sealed token to its partner and session. */
export const linkContext = (partnerId: string, sessionId: string) => [
  'checkout.sessions',
  partnerId,
  sessionId,
  'token',
]

/** Bytes 2 to 5 of a sealed value are the id of its key (`kernel/seal.ts`). */
export const sealedLinkTokens: SealedColumn = {
  name: 'checkout.sessions.token_sealed',
  contextOf: (partnerId, cell) => linkContext(partnerId, cell('id')),
  countByKey: (tx) =>
    tx.rows(
      acrossPartners(
        'an operator counts the values under each master key',
        sql`/* checkout.countByKey */
          select encode(substring(token_sealed from 2 for 4), 'hex') as key_id, count(*) as count
          from checkout.sessions where token_sealed is not null group by 1 order by 1`,
      ),
    ),
  notUnder: async (tx, partnerId, { keyId, afterId = nilId, rowsMax }) => {
    const rows = await tx.rows<{ readonly id: string; readonly sealed: Buffer }>(sql`/* checkout.notUnder */
      select id, token_sealed as sealed from checkout.sessions
      where partner_id = ${partnerId} and id > ${afterId} and token_sealed is not null
        and substring(token_sealed from 2 for 4) <> decode(${keyId}, 'hex')
      order by id limit ${rowsMax}`)
    return rows.map(({ id, sealed }) => ({ id, sealed, context: linkContext(partnerId, id) }))
  },
  replace: (tx, partnerId, values) => {
    const column = columnOf(values)
    return tx.run(sql`/* checkout.replace */
      update checkout.sessions set token_sealed = input.resealed
      from unnest(${column('id')}::uuid[], ${column('sealed')}::bytea[], ${column('resealed')}::bytea[])
        as input (id, sealed, resealed)
      where sessions.partner_id = ${partnerId} and sessions.id = input.id and sessions.token_sealed = input.sealed`)
  },
}
