/** All SQL of the names that subjects had before. */
import { nilId } from '../kernel/index.ts'
import { acrossPartners, columnOf, insertBy, type SealedColumn, sql, type Tx } from '../postgres/index.ts'
import type { SubjectKey } from './rules.ts'

export type EarlierName = {
  readonly partnerId: string
  readonly id: string
  readonly subjectKind: string
  readonly subjectId: string
  readonly role: string
  readonly nameSealed: Uint8Array
  readonly replacedAt: Date
}

const newNames = insertBy<EarlierName>(
  {
    partnerId: 'uuid',
    id: 'uuid',
    subjectKind: 'text',
    subjectId: 'uuid',
    role: 'text',
    nameSealed: 'bytea',
    replacedAt: 'timestamptz',
  },
  [],
)

export async function insertEarlierNames(tx: Tx, rows: readonly EarlierName[]): Promise<void> {
  await tx.run(sql`/* screening.insertEarlierNames */
    insert into screening.earlier_names (partner_id, id, subject_kind, subject_id, role, name_sealed, replaced_at)
    ${newNames(tx, rows)}`)
}

/** Oldest first. */
export function earlierNamesOf(tx: Tx, { partnerId, kind, id }: SubjectKey): Promise<readonly EarlierName[]> {
  return tx.rows<EarlierName>(sql`/* screening.earlierNamesOf */
    select partner_id, id, subject_kind, subject_id, role, name_sealed, replaced_at from screening.earlier_names
    where partner_id = ${partnerId} and subject_kind = ${kind} and subject_id = ${id} order by id`)
}

/** Binds an earlier name to its row. */
export const earlierNameContext = (partnerId: string, id: string) => ['screening.earlier_names', partnerId, id]

/**
 * Sealed column, for the command that seals all values under a new master key. Bytes 2 to 5 of a sealed value are the
 * id of its key.
 */
export const sealedEarlierNames: SealedColumn = {
  name: 'screening.earlier_names.name_sealed',
  contextOf: (partnerId, cell) => earlierNameContext(partnerId, cell('id')),
  countByKey: (tx) =>
    tx.rows(
      acrossPartners(
        'an operator counts the values under each master key',
        sql`/* screening.countByKey */
          select encode(substring(name_sealed from 2 for 4), 'hex') as key_id, count(*) as count
          from screening.earlier_names group by 1 order by 1`,
      ),
    ),
  notUnder: async (tx, partnerId, { keyId, afterId = nilId, rowsMax }) => {
    const rows = await tx.rows<{ readonly id: string; readonly sealed: Buffer }>(sql`/* screening.notUnder */
      select id, name_sealed as sealed from screening.earlier_names
      where partner_id = ${partnerId} and id > ${afterId}
        and substring(name_sealed from 2 for 4) <> decode(${keyId}, 'hex')
      order by id limit ${rowsMax}`)
    return rows.map(({ id, sealed }) => ({ id, sealed, context: earlierNameContext(partnerId, id) }))
  },
  replace: (tx, partnerId, values) => {
    const column = columnOf(values)
    return tx.run(sql`/* screening.replace */
      update screening.earlier_names set name_sealed = input.resealed
      from unnest(${column('id')}::uuid[], ${column('sealed')}::bytea[], ${column('resealed')}::bytea[])
        as input (id, sealed, resealed)
      where earlier_names.partner_id = ${partnerId} and earlier_names.id = input.id
        and earlier_names.name_sealed = input.sealed`)
  },
}
