/** The SQL that checks whether the names of a payment let it continue. */
import { noSql, ofPartners, type Sql, sql, type Tx } from '../postgres/index.ts'
import type { HoldKey } from './rules.ts'

export type SubjectState = HoldKey & {
  /** The generation of lists that the names were compared with since one was written; 0: none. */
  readonly generation: number
  readonly isOpen: boolean
  readonly isConfirmed: boolean
  /** The generation of the newest list; null: none was loaded. */
  readonly newest: number | null
}

/** Limits hits to those that hold payments. */
export const thatHold = (pepsHold: boolean): Sql => (pepsHold ? noSql : sql`and hit.source not like 'pep:%'`)

/**
 * The states of the subjects that exist, and of accounts with a hit. An open hit about a payer holds no account,
 * because payment institutions pay for many from one.
 */
export function statesOf(tx: Tx, keys: readonly HoldKey[], pepsHold: boolean): Promise<readonly SubjectState[]> {
  const partnerIds = keys.map(({ partnerId }) => partnerId)
  const accounts = keys.filter(({ kind }) => kind === 'account').map(({ id }) => id)
  const subjects = keys.filter(({ kind }) => kind !== 'account')
  const newest = sql`left join (select generation from screening.lists order by generation desc limit 1) as newest on true`
  return tx.rows<SubjectState>(sql`/* screening.statesOf */
    select subject.partner_id, subject.kind, subject.id::text, subject.generation,
      max(newest.generation) as newest,
      coalesce(bool_or(hit.status = 'open'), false) as is_open,
      coalesce(bool_or(hit.status = 'confirmed'), false) as is_confirmed
    from screening.subjects subject left join screening.hits hit
      on hit.partner_id = subject.partner_id and hit.subject_kind = subject.kind and hit.subject_id = subject.id
      and hit.ended_at is null ${thatHold(pepsHold)}
      ${newest}
    where ${ofPartners(partnerIds, sql`subject.partner_id`)}
      and subject.kind = any(${[...new Set(subjects.map(({ kind }) => kind))]}::text[])
      and subject.id = any(${subjects.map(({ id }) => id)}::uuid[])
    group by subject.partner_id, subject.kind, subject.id
    union all
    select hit.partner_id, 'account', hit.account, max(hit.generation), max(newest.generation),
      bool_or(hit.status = 'open' and hit.subject_kind = 'beneficiary'), bool_or(hit.status = 'confirmed')
    from screening.hits hit ${newest}
    where ${ofPartners(partnerIds, sql`hit.partner_id`)} and hit.account = any(${accounts}::text[]) and hit.ended_at is null
    group by hit.partner_id, hit.account`)
}
