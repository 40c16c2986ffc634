/** All SQL of cases. */
import type { Currency, Minor } from '../kernel/index.ts'
import { acrossPartners, sql, type Tx } from '../postgres/index.ts'
import type { CaseKind, Resolution } from './rules.ts'

export type CaseRow = {
  readonly partnerId: string
  readonly id: string
  readonly kind: CaseKind
  readonly connector: string
  readonly notificationId: string
  readonly subject: string
  readonly report: string
  readonly currency: Currency | null
  readonly booked: Minor | null
  readonly openedAt: Date
  readonly resolvedAt: Date | null
  readonly resolution: Resolution | null
  readonly resolvedBy: string | null
  readonly note: string | null
}

const columns = sql`partner_id, id, kind, connector, notification_id, subject, report, currency, booked, opened_at,
  resolved_at, resolution, resolved_by, note`

/** Returns 1, or 0 if the notification has a case. Waits for a concurrent transaction that opens it. */
export function insertCase(tx: Tx, row: CaseRow): Promise<number> {
  return tx.run(sql`/* cases.insertCase */
    insert into cases.cases (${columns})
    values (${row.partnerId}, ${row.id}, ${row.kind}, ${row.connector}, ${row.notificationId}, ${row.subject},
      ${row.report}, ${row.currency}, ${row.booked}, ${row.openedAt}, ${row.resolvedAt}, ${row.resolution},
      ${row.resolvedBy}, ${row.note})
    on conflict (partner_id, connector, notification_id) do nothing`)
}

export function lockCase(tx: Tx, partnerId: string, id: string): Promise<CaseRow | undefined> {
  return tx.row<CaseRow>(sql`/* cases.lockCase */
    select ${columns} from cases.cases where partner_id = ${partnerId} and id = ${id} for update`)
}

export type CaseEnd = {
  readonly resolution: Resolution
  readonly resolvedBy: string
  readonly note: string
  readonly resolvedAt: Date
}

export async function endCase(tx: Tx, { partnerId, id }: CaseRow, end: CaseEnd): Promise<void> {
  await tx.run(sql`/* cases.endCase */
    update cases.cases set resolution = ${end.resolution}, resolved_by = ${end.resolvedBy}, note = ${end.note},
      resolved_at = ${end.resolvedAt}
    where partner_id = ${partnerId} and id = ${id}`)
}

export type CaseSums = {
  readonly currency: Currency | null
  readonly kind: CaseKind
  readonly count: bigint
  readonly booked: Minor
}

/** The cases that were open at a moment, by currency and kind. */
export function casesOpenAt(tx: Tx, partnerId: string, moment: Date): Promise<readonly CaseSums[]> {
  return tx.rows<CaseSums>(sql`/* cases.casesOpenAt */
    select currency, kind, count(*) as count, coalesce(sum(booked), 0)::bigint as booked from cases.cases
    where partner_id = ${partnerId} and opened_at < ${moment} and (resolved_at is null or resolved_at >= ${moment})
    group by currency, kind order by currency nulls last, kind`)
}

/** Open cases of all partners, oldest first, behind one of them. */
export function openCases(tx: Tx, after: CaseRow | undefined, rowsMax: number): Promise<readonly CaseRow[]> {
  const { openedAt, id } = after ?? { openedAt: new Date(0), id: null }
  return tx.rows<CaseRow>(
    acrossPartners(
      'lists open cases for the operator, oldest first, by an index',
      sql`/* cases.openCases */ select ${columns} from cases.cases
        where resolved_at is null and (opened_at, id) > (${openedAt}, coalesce(${id}::uuid, '00000000-0000-0000-0000-000000000000'))
        order by opened_at, id limit ${rowsMax}`,
    ),
  )
}

export async function oldestOpen(tx: Tx): Promise<Date | null> {
  const row = await tx.row<{ openedAt: Date }>(
    acrossPartners(
      'reads the age of the oldest open case, for a metric',
      sql`/* cases.oldestOpen */
        select opened_at from cases.cases where resolved_at is null order by opened_at limit 1`,
    ),
  )
  return row?.openedAt ?? null
}
