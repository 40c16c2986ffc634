/** All SQL of the figures of cases: ages of open cases, and decisions of a period. */
import { nilId } from '../kernel/index.ts'
import { acrossPartners, sql, type Tx } from '../postgres/index.ts'
import type { CaseKind, Disposition, Resolution } from './rules.ts'
import type { CaseRow } from './store.ts'

/** The times that bound the age groups of open cases, latest first. */
type AgeTimes = readonly [Date, Date, Date, Date]

/** The number of cases opened after each of the times. */
type OpenCount<Kind = CaseKind> = {
  readonly kind: Kind
  readonly first: number
  readonly second: number
  readonly third: number
  readonly fourth: number
  readonly total: number
}

export function countOpenCases(tx: Tx, [first, second, third, fourth]: AgeTimes): Promise<readonly OpenCount[]> {
  return tx.rows<OpenCount>(
    acrossPartners(
      'counts the open cases of all partners by their age, by an index of the open ones',
      sql`/* cases.countOpenCases */
        select kind, count(*) filter (where opened_at > ${first})::integer as first,
          count(*) filter (where opened_at > ${second})::integer as second,
          count(*) filter (where opened_at > ${third})::integer as third,
          count(*) filter (where opened_at > ${fourth})::integer as fourth, count(*)::integer as total
        from cases.cases where resolved_at is null group by kind order by kind`,
    ),
  )
}

/** A period that includes `from` and excludes `before`. */
type CountedPeriod = { readonly from: Date; readonly before: Date }

export type DecidedCount = { readonly kind: CaseKind; readonly outcome: Resolution; readonly count: number }

export function countDecisions(tx: Tx, { from, before }: CountedPeriod): Promise<readonly DecidedCount[]> {
  return tx.rows<DecidedCount>(
    acrossPartners(
      'counts what was decided about cases of all partners in a month, from an index alone',
      sql`/* cases.countDecisions */
        select kind, resolution as outcome, count(*)::integer as count from cases.cases
        where resolved_at >= ${from} and resolved_at < ${before} group by kind, resolution order by kind, resolution`,
    ),
  )
}

/** Seconds from opening to decision: the median and the 90th percentile. */
type DecisionTime<Kind = CaseKind> = {
  readonly kind: Kind
  readonly count: number
  readonly median: number
  readonly ninety: number
}

/** Reads the times of decisions by people. Omits cases that were resolved automatically or by a decision elsewhere. */
export function decisionTimes(tx: Tx, { from, before }: CountedPeriod): Promise<readonly DecisionTime[]> {
  return tx.rows<DecisionTime>(
    acrossPartners(
      'reads how long decisions about cases of all partners took, from an index alone',
      sql`/* cases.decisionTimes */
        select kind, count(*)::integer as count,
          percentile_disc(0.5) within group (order by extract(epoch from resolved_at - opened_at)::float8) as median,
          percentile_disc(0.9) within group (order by extract(epoch from resolved_at - opened_at)::float8) as ninety
        from cases.cases
        where resolved_at >= ${from} and resolved_at < ${before} and resolution <> 'gone' and (resolution <> 'released' or kind = 'monitoring_alert')
        group by kind order by kind`,
    ),
  )
}

export type DecidedAlert = Pick<CaseRow, 'partnerId' | 'id'> & {
  readonly resolvedAt: Date
  readonly outcome: Resolution
  /**
   * The finding of the staff who decided. Null if the case was resolved automatically, or decided under an earlier
   * version of the service.
   */
  readonly disposition: Disposition | null
}

/** Lists alerts decided in a period, after the cursor. */
export function decidedAlerts(
  tx: Tx,
  { from, before }: CountedPeriod,
  after: Pick<DecidedAlert, 'resolvedAt' | 'id'> | undefined,
  rowsMax: number,
): Promise<readonly DecidedAlert[]> {
  const { resolvedAt, id } = after ?? { resolvedAt: from, id: nilId }
  return tx.rows<DecidedAlert>(
    acrossPartners(
      'lists decided alerts of all partners, whose rules are counted, from an index alone',
      sql`/* cases.decidedAlerts */
        select partner_id, id, resolved_at, resolution as outcome, disposition from cases.cases
        where kind = 'monitoring_alert' and resolved_at is not null and resolved_at < ${before}
          and (resolved_at, id) > (${resolvedAt}, ${id}::uuid)
        order by resolved_at, id limit ${rowsMax}`,
    ),
  )
}
