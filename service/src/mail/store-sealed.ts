/** The sealed secrets of mails, for the command that seals all values under a new master key. */
import { nilId } from '../kernel/index.ts'
import { acrossPartners, columnOf, type SealedColumn, sql } from '../postgres/index.ts'

/** The name of the table that held tokens before migration 0022: rows that were sealed then must open. */
export const secretContext = (partnerId: string, mailId: string) => ['users.mails', partnerId, mailId, 'token']

/** Bytes 2 to 5 of a sealed value are the id of its key (`kernel/seal.ts`). */
export const sealedMailSecrets: SealedColumn = {
  name: 'mail.messages.secret_sealed',
  contextOf: (partnerId, cell) => secretContext(partnerId, cell('id')),
  countByKey: (tx) =>
    tx.rows(
      acrossPartners(
        'an operator counts the values under each master key',
        sql`/* mail.countByKey */
          select encode(substring(secret_sealed from 2 for 4), 'hex') as key_id, count(*) as count
          from mail.messages where secret_sealed is not null group by 1 order by 1`,
      ),
    ),
  notUnder: async (tx, partnerId, { keyId, afterId = nilId, rowsMax }) => {
    const rows = await tx.rows<{ readonly id: string; readonly sealed: Buffer }>(sql`/* mail.notUnder */
      select id, secret_sealed as sealed from mail.messages
      where partner_id = ${partnerId} and id > ${afterId} and secret_sealed is not null
        and substring(secret_sealed from 2 for 4) <> decode(${keyId}, 'hex')
      order by id limit ${rowsMax}`)
    return rows.map(({ id, sealed }) => ({ id, sealed, context: secretContext(partnerId, id) }))
  },
  replace: (tx, partnerId, values) => {
    const column = columnOf(values)
    return tx.run(sql`/* mail.replace */
      update mail.messages set secret_sealed = input.resealed
      from unnest(${column('id')}::uuid[], ${column('sealed')}::bytea[], ${column('resealed')}::bytea[])
        as input (id, sealed, resealed)
      where messages.partner_id = ${partnerId} and messages.id = input.id and messages.secret_sealed = input.sealed`)
  },
}
