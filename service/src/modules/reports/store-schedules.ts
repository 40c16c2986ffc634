/** The SQL of schedules and of the links in their mails. */
import type { ReportFrequency } from '@partner-payments/wire'
import type { PageRequest } from '../../api/index.ts'
import { acrossPartners, dueWork, noSql, type Sql, sql, type Tx } from '../../postgres/index.ts'
import type { ReportSpec } from './rules.ts'

export type ScheduleRow = ReportSpec & {
  readonly partnerId: string
  readonly id: string
  readonly customerId: string | null
  readonly frequency: ReportFrequency
  /** A JSON array of addresses. */
  readonly emails: string
  readonly timeZone: string
  readonly nextAt: Date
  readonly createdAt: Date
}

const columns = sql`partner_id, id, kind, format, currency, customer_id, frequency, emails, time_zone, next_at, created_at`

export async function countSchedules(tx: Tx, partnerId: string): Promise<bigint> {
  const row = await tx.row<{ readonly count: bigint }>(sql`/* reports.countSchedules */
    select count(*) as count from reports.schedules where partner_id = ${partnerId}`)
  return row?.count ?? 0n
}

export async function insertSchedule(tx: Tx, row: ScheduleRow): Promise<void> {
  await tx.run(sql`/* reports.insertSchedule */
    insert into reports.schedules (${columns})
    values (${row.partnerId}, ${row.id}, ${row.kind}, ${row.format}, ${row.currency}, ${row.customerId}, ${row.frequency},
      ${row.emails}::jsonb, ${row.timeZone}, ${row.nextAt}, ${row.createdAt})`)
}

export function scheduleById(tx: Tx, partnerId: string, id: string): Promise<ScheduleRow | undefined> {
  return tx.row<ScheduleRow>(sql`/* reports.scheduleById */
    select ${columns} from reports.schedules where partner_id = ${partnerId} and id = ${id}`)
}

export function listSchedules(
  tx: Tx,
  partnerId: string,
  { limit, afterId }: PageRequest,
): Promise<readonly ScheduleRow[]> {
  return tx.rows<ScheduleRow>(sql`/* reports.listSchedules */
    select ${columns} from reports.schedules where partner_id = ${partnerId}
      ${afterId === null ? noSql : sql`and id < ${afterId}`} order by id desc limit ${limit + 1}`)
}

export function deleteSchedule(tx: Tx, partnerId: string, id: string): Promise<number> {
  return tx.run(sql`/* reports.deleteSchedule */
    delete from reports.schedules where partner_id = ${partnerId} and id = ${id}`)
}

/** Deletes the schedules of a customer. */
export async function deleteSchedulesOf(tx: Tx, partnerId: string, customerId: string): Promise<void> {
  await tx.run(sql`/* reports.deleteSchedulesOf */
    delete from reports.schedules where partner_id = ${partnerId} and customer_id = ${customerId}`)
}

export function dueSchedules(
  tx: Tx,
  now: Date,
  schedulesMax: number,
): Promise<readonly { readonly partnerId: string; readonly id: string }[]> {
  return tx.rows(
    acrossPartners(
      'finds schedules whose period has ended, by an index',
      sql`/* reports.dueSchedules */
      select partner_id, id from reports.schedules where next_at <= ${now} order by next_at limit ${schedulesMax}`,
    ),
  )
}

/** When the next period of a schedule ends. */
export const schedulesDue = (after: Date): Sql =>
  dueWork(
    'reads when the next period of a schedule ends',
    (whose) => sql`/* reports.schedulesDue */
      select next_at as due_at from reports.schedules where next_at > ${after} and ${whose()} order by next_at limit 1`,
  )

/** Undefined: it is no longer due, or another worker has it. */
export function lockDueSchedule(tx: Tx, partnerId: string, id: string, now: Date): Promise<ScheduleRow | undefined> {
  return tx.row<ScheduleRow>(sql`/* reports.lockDueSchedule */
    select ${columns} from reports.schedules where partner_id = ${partnerId} and id = ${id} and next_at <= ${now}
    for update skip locked`)
}

export async function setNext(tx: Tx, partnerId: string, id: string, nextAt: Date): Promise<void> {
  await tx.run(sql`/* reports.setNext */
    update reports.schedules set next_at = ${nextAt} where partner_id = ${partnerId} and id = ${id}`)
}

export type Link = {
  readonly partnerId: string
  readonly tokenHash: Uint8Array
  readonly reportId: string
  readonly expiresAt: Date
}

export async function insertLink(tx: Tx, { partnerId, tokenHash, reportId, expiresAt }: Link): Promise<void> {
  await tx.run(sql`/* reports.insertLink */
    insert into reports.links (partner_id, token_hash, report_id, expires_at)
    values (${partnerId}, ${tokenHash}, ${reportId}, ${expiresAt})`)
}

export async function reportOfLink(
  tx: Tx,
  partnerId: string,
  tokenHash: Uint8Array,
  now: Date,
): Promise<string | undefined> {
  const row = await tx.row<{ readonly reportId: string }>(sql`/* reports.reportOfLink */
    select report_id from reports.links
    where partner_id = ${partnerId} and token_hash = ${tokenHash} and expires_at > ${now}`)
  return row?.reportId
}

export async function deleteLinks(tx: Tx, partnerId: string, reportId: string): Promise<void> {
  await tx.run(sql`/* reports.deleteLinks */
    delete from reports.links where partner_id = ${partnerId} and report_id = ${reportId}`)
}
