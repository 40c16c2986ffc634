/** The sealed answers, for the command that seals all values under a new master key. */
import { acrossPartners, columnOf, type SealedColumn, sql } from '../postgres/index.ts'
import type { Key } from './store.ts'

/** Binds a sealed answer to its partner, operation and key. */
export const answerContext = ({ partnerId, operation, idempotencyKey }: Key) => [
  'idempotency.keys',
  partnerId,
  operation,
  idempotencyKey,
]

/** A row has no id of its own: its key, as text. */
const writeId = (operation: string, idempotencyKey: string) => JSON.stringify([operation, idempotencyKey])
const readId = (id: string) => {
  const [operation, idempotencyKey] = JSON.parse(id) as [string, string]
  return { operation, idempotencyKey }
}
const start = writeId('', '')

/** Bytes 2 to 5 of a sealed value are the id of its key (`kernel/seal.ts`). */
export const sealedAnswers: SealedColumn = {
  name: 'idempotency.keys.answer_sealed',
  contextOf: (partnerId, cell) =>
    answerContext({ partnerId, operation: cell('operation'), idempotencyKey: cell('idempotency_key') }),
  countByKey: (tx) =>
    tx.rows(
      acrossPartners(
        'an operator counts the values under each master key',
        sql`/* idempotency.countByKey */
          select encode(substring(answer_sealed from 2 for 4), 'hex') as key_id, count(*) as count
          from idempotency.keys where answer_sealed is not null group by 1 order by 1`,
      ),
    ),
  notUnder: async (tx, partnerId, { keyId, afterId = start, rowsMax }) => {
    const after = readId(afterId)
    const rows = await tx.rows<{
      readonly operation: string
      readonly idempotencyKey: string
      readonly sealed: Buffer
    }>(sql`/* idempotency.notUnder */
      select operation, idempotency_key, answer_sealed as sealed from idempotency.keys
      where partner_id = ${partnerId} and (operation, idempotency_key) > (${after.operation}, ${after.idempotencyKey})
        and answer_sealed is not null and substring(answer_sealed from 2 for 4) <> decode(${keyId}, 'hex')
      order by operation, idempotency_key limit ${rowsMax}`)
    return rows.map(({ operation, idempotencyKey, sealed }) => ({
      id: writeId(operation, idempotencyKey),
      sealed,
      context: answerContext({ partnerId, operation, idempotencyKey }),
    }))
  },
  replace: (tx, partnerId, values) => {
    const column = columnOf(values.map(({ id, sealed, resealed }) => ({ ...readId(id), sealed, resealed })))
    return tx.run(sql`/* idempotency.replace */
      update idempotency.keys set answer_sealed = input.resealed
      from unnest(${column('operation')}::text[], ${column('idempotencyKey')}::text[], ${column('sealed')}::bytea[],
        ${column('resealed')}::bytea[]) as input (operation, idempotency_key, sealed, resealed)
      where keys.partner_id = ${partnerId} and keys.operation = input.operation
        and keys.idempotency_key = input.idempotency_key and keys.answer_sealed = input.sealed`)
  },
}
