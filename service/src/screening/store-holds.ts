/** The statement that asks whether the names of a payment let it go on. */
import { ofPartners, sql, type Tx } from '../postgres/index.ts'
import type { SubjectKey, SubjectKind } from './rules.ts'

export type SubjectState = {
  readonly partnerId: string
  readonly kind: SubjectKind
  readonly id: string
  /** The present names were compared with a list. */
  readonly isScreened: boolean
  readonly isOpen: boolean
  readonly isConfirmed: boolean
  /** The generation of the newest list; null: none was loaded. */
  readonly newest: number | null
}

/** Of the subjects that there are. */
export function statesOf(tx: Tx, keys: readonly SubjectKey[]): Promise<readonly SubjectState[]> {
  return tx.rows<SubjectState>(sql`/* screening.statesOf */
    select subject.partner_id, subject.kind, subject.id, subject.generation > 0 as is_screened,
      max(newest.generation) as newest,
      coalesce(bool_or(hit.status = 'open'), false) as is_open,
      coalesce(bool_or(hit.status = 'confirmed'), false) as is_confirmed
    from screening.subjects subject left join screening.hits hit
      on hit.partner_id = subject.partner_id and hit.subject_kind = subject.kind and hit.subject_id = subject.id
      and hit.ended_at is null
      left join (select generation from screening.lists order by generation desc limit 1) as newest on true
    where ${ofPartners(
      keys.map(({ partnerId }) => partnerId),
      sql`subject.partner_id`,
    )} and subject.kind = any(${[...new Set(keys.map(({ kind }) => kind))]}::text[])
      and subject.id = any(${keys.map(({ id }) => id)}::uuid[])
    group by subject.partner_id, subject.kind, subject.id`)
}
