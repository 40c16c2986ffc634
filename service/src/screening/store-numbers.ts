/** All SQL of statistics about hits, such as ages and decisions in a period, and of hits by subject. */
import { acrossPartners, noSql, sql, type Tx } from '../postgres/index.ts'
import type { HitDisposition, HitStatus, SubjectKind } from './rules.ts'
import type { ListSource } from './lists/entry.ts'

/** A hit without its details. */
export type HitSummary = {
  readonly partnerId: string
  readonly id: string
  readonly subjectKind: SubjectKind
  readonly subjectId: string
  readonly source: ListSource
  readonly score: number
  readonly status: HitStatus
  readonly openedAt: Date
  readonly decidedAt: Date | null
  readonly decidedBy: string | null
  readonly approvedBy: string | null
  /** The proposed outcome, which a second person must decide. */
  readonly proposal: string | null
}

const shown = sql`partner_id, id, subject_kind, subject_id, source, score, status, opened_at, decided_at, decided_by, approved_by,
  proposal`

/** Lists hits of subjects, including ended ones, newest first. */
export function listHitsOfSubjects(
  tx: Tx,
  partnerId: string,
  subjectIds: readonly string[],
  rowsMax: number,
): Promise<readonly HitSummary[]> {
  return tx.rows<HitSummary>(sql`/* screening.listHitsOfSubjects */
    select ${shown} from screening.hits where partner_id = ${partnerId} and subject_id = any(${[...subjectIds]}::uuid[])
    order by id desc limit ${rowsMax}`)
}

/** Lists open hits of a partner, its customers and its payees after the cursor, oldest first. */
export function listPartnerOpenHits(
  tx: Tx,
  partnerId: string,
  after: Pick<HitSummary, 'openedAt' | 'id'> | undefined,
  rowsMax: number,
): Promise<readonly HitSummary[]> {
  return tx.rows<HitSummary>(sql`/* screening.listPartnerOpenHits */
    select ${shown} from screening.hits where partner_id = ${partnerId} and status = 'open'
      ${after === undefined ? noSql : sql`and (opened_at, id) > (${after.openedAt}, ${after.id}::uuid)`}
    order by opened_at, id limit ${rowsMax}`)
}

type Times = readonly [Date, Date, Date, Date]

/** Counts the open hits that were opened after each of the times, the latest first, and all open hits. */
export async function countOpenHits(
  tx: Tx,
  [first, second, third, fourth]: Times,
): Promise<Readonly<Record<'first' | 'second' | 'third' | 'fourth' | 'total', number>>> {
  const row = await tx.row<Readonly<Record<'first' | 'second' | 'third' | 'fourth' | 'total', number>>>(
    acrossPartners(
      'counts the open hits of all partners by their age, by an index of the open ones',
      sql`/* screening.countOpenHits */
        select count(*) filter (where opened_at > ${first})::integer as first,
          count(*) filter (where opened_at > ${second})::integer as second,
          count(*) filter (where opened_at > ${third})::integer as third,
          count(*) filter (where opened_at > ${fourth})::integer as fourth, count(*)::integer as total
        from screening.hits where status = 'open'`,
    ),
  )
  return row ?? { first: 0, second: 0, third: 0, fourth: 0, total: 0 }
}

type Period = { readonly from: Date; readonly before: Date }

export type DecidedHits = {
  readonly source: ListSource
  /** `cleared`: the party was another person. */
  readonly outcome: HitStatus
  /** The finding. Null: an earlier version stored the decision. */
  readonly disposition: HitDisposition | null
  readonly count: number
}

/** Counts decided hits, each at the time of its last decision. */
export function decidedCounts(tx: Tx, { from, before }: Period): Promise<readonly DecidedHits[]> {
  return tx.rows<DecidedHits>(
    acrossPartners(
      'counts what was decided about hits of all partners in a month, from an index alone',
      sql`/* screening.decidedCounts */
        select source, status as outcome, disposition, count(*)::integer as count from screening.hits
        where decided_at >= ${from} and decided_at < ${before} group by source, status, disposition
        order by source, status, disposition`,
    ),
  )
}

/** Reads how many seconds decisions took, from the opening to the last decision. Undefined: no hit was decided. */
export async function decisionDurations(
  tx: Tx,
  { from, before }: Period,
): Promise<Readonly<Record<'count' | 'median' | 'ninety', number>> | undefined> {
  const row = await tx.row<Readonly<Record<'count' | 'median' | 'ninety', number>>>(
    acrossPartners(
      'reads how long decisions about hits of all partners took, from an index alone',
      sql`/* screening.decisionDurations */
        select count(*)::integer as count,
          percentile_disc(0.5) within group (order by extract(epoch from decided_at - opened_at)::float8) as median,
          percentile_disc(0.9) within group (order by extract(epoch from decided_at - opened_at)::float8) as ninety
        from screening.hits where decided_at >= ${from} and decided_at < ${before}`,
    ),
  )
  return row === undefined || row.count === 0 ? undefined : row
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
