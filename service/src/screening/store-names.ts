/** All SQL of the earlier names of subjects. */
import { insertBy, type RowOf, sql, type Tx } from '../postgres/index.ts'
import type { SubjectKey } from './rules.ts'

const types = {
  partnerId: 'uuid',
  id: 'uuid',
  subjectKind: 'text',
  subjectId: 'uuid',
  role: 'text',
  nameSealed: 'bytea',
  replacedAt: 'timestamptz',
} as const
export type EarlierName = RowOf<typeof types>

const newNames = insertBy<EarlierName>(types, [])

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
