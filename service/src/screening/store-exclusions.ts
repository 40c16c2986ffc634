/** All SQL of the matches of common names that a second datum has excluded. */
import { nilId } from '../kernel/index.ts'
import { acrossPartners, insertBy, type RowOf, sql, type Tx } from '../postgres/index.ts'
import type { SubjectKey } from './rules.ts'

const types = {
  partnerId: 'uuid',
  subjectKind: 'text',
  subjectId: 'uuid',
  role: 'text',
  source: 'text',
  entryId: 'text',
  score: 'integer',
  reason: 'text',
  generation: 'integer',
  excludedAt: 'timestamptz',
} as const
export type ExclusionRow = RowOf<typeof types>

const newExclusions = insertBy<ExclusionRow>(types, [])
const columns = sql`partner_id, subject_kind, subject_id, role, source, entry_id, score, reason, generation, excluded_at`

/** Replaces the exclusions of a subject. The caller has locked the subject. One row for each role and entry. */
export async function replaceExclusions(
  tx: Tx,
  { partnerId, kind, id }: SubjectKey,
  rows: readonly ExclusionRow[],
): Promise<void> {
  await tx.run(sql`/* screening.replaceExclusions */
    delete from screening.exclusions where partner_id = ${partnerId} and subject_kind = ${kind} and subject_id = ${id}`)
  if (rows.length > 0)
    await tx.run(sql`/* screening.replaceExclusions */
      insert into screening.exclusions (${columns}) ${newExclusions(tx, rows)}`)
}

/** A page of the exclusions of a partner, by subject, after one of them. */
export function exclusionsOf(
  tx: Tx,
  partnerId: string,
  after: Pick<ExclusionRow, 'subjectKind' | 'subjectId' | 'role' | 'source' | 'entryId'> | undefined,
  rowsMax: number,
): Promise<readonly ExclusionRow[]> {
  const { subjectKind = '', subjectId = nilId, role = '', source = '', entryId = '' } = after ?? {}
  return tx.rows<ExclusionRow>(sql`/* screening.exclusionsOf */
    select ${columns} from screening.exclusions
    where partner_id = ${partnerId}
      and (subject_kind, subject_id, role, source, entry_id) > (${subjectKind}, ${subjectId}::uuid, ${role}, ${source}, ${entryId})
    order by subject_kind, subject_id, role, source, entry_id limit ${rowsMax}`)
}

export type ExclusionCount = { readonly source: string; readonly reason: string; readonly count: number }

/** Counts the exclusions of all partners. Only common names have some: a small part of all customers. */
export function countExclusions(tx: Tx): Promise<readonly ExclusionCount[]> {
  return tx.rows<ExclusionCount>(
    acrossPartners(
      'counts exclusions for the report of screening',
      sql`/* screening.countExclusions */
        select source, reason, count(*)::integer as count from screening.exclusions group by source, reason order by source, reason`,
    ),
  )
}

export type HitCount = {
  /** `YYYY-MM`, UTC. */
  readonly month: string
  readonly status: string
  readonly count: number
}

/** Counts the hits of all partners by the month in which they were opened. */
export function countHits(tx: Tx): Promise<readonly HitCount[]> {
  return tx.rows<HitCount>(
    acrossPartners(
      'counts hits for the report of screening',
      sql`/* screening.countHits */
        select to_char(opened_at at time zone 'UTC', 'YYYY-MM') as month, status, count(*)::integer as count
        from screening.hits group by 1, 2 order by 1, 2`,
    ),
  )
}
