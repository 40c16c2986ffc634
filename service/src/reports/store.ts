/** The SQL of reports and of the parts of their files. */
import type { RowKey } from '../kernel/index.ts'
import type { ReportFrequency, ReportStatus } from '@partner-payments/wire'
import type { PageRequest } from '../kernel/api/index.ts'
import { acrossPartners, dueWork, noSql, type Sql, sql, type Tx, unprepared } from '../postgres/index.ts'
import type { Period, ReportSpec } from './rules.ts'

export type ReportRow = ReportSpec & {
  readonly partnerId: string
  readonly id: string
  readonly periodFrom: Date
  readonly periodTo: Date
  readonly customerId: string | null
  readonly scheduleId: string | null
  readonly status: ReportStatus
  readonly progress: number
  readonly attempts: number
  readonly leaseId: string | null
  readonly rows: bigint | null
  readonly bytes: bigint | null
  readonly sha256: string | null
  readonly contentAttempt: number | null
  readonly failure: string | null
  readonly createdAt: Date
  readonly expiresAt: Date
}

const columns = sql`partner_id, id, kind, format, period_from, period_to, currency, customer_id, schedule_id, status, progress,
  attempts, lease_id, rows, bytes, sha256, content_attempt, failure, created_at, expires_at`

/** Locks the turn of a partner, which serialises its requests and claims. */
export async function lockTurn(tx: Tx, partnerId: string): Promise<void> {
  await tx.run(sql`/* reports.lockTurn */
    insert into reports.turns (partner_id, served_at) values (${partnerId}, ${new Date(0)})
    on conflict (partner_id) do update set served_at = reports.turns.served_at`)
}

export async function countOpenReports(tx: Tx, partnerId: string): Promise<bigint> {
  const row = await tx.row<{ readonly count: bigint }>(sql`/* reports.countOpenReports */
    select count(*) as count from reports.reports where partner_id = ${partnerId} and status in ('Queued', 'Running')`)
  return row?.count ?? 0n
}

export type NewReport = ReportSpec &
  Pick<ReportRow, 'partnerId' | 'id' | 'customerId' | 'scheduleId' | 'createdAt' | 'expiresAt'> & {
    readonly period: Period
  }

/** Adds a report. Returns 0 if the schedule has already created the report of this period. */
export function insertReport(tx: Tx, row: NewReport): Promise<number> {
  return tx.run(sql`/* reports.insertReport */
    insert into reports.reports (partner_id, id, kind, format, period_from, period_to, currency, customer_id, schedule_id,
      status, progress, attempts, due_at, created_at, expires_at)
    values (${row.partnerId}, ${row.id}, ${row.kind}, ${row.format}, ${row.period.from}, ${row.period.to}, ${row.currency},
      ${row.customerId}, ${row.scheduleId}, 'Queued', 0, 0, ${row.createdAt}, ${row.createdAt}, ${row.expiresAt})
    on conflict do nothing`)
}

export function reportById(tx: Tx, partnerId: string, id: string): Promise<ReportRow | undefined> {
  return tx.row<ReportRow>(sql`/* reports.reportById */
    select ${columns} from reports.reports where partner_id = ${partnerId} and id = ${id} and status <> 'Deleted'`)
}

export function listReports(
  tx: Tx,
  partnerId: string,
  status: string | undefined,
  { limit, afterId }: PageRequest,
): Promise<readonly ReportRow[]> {
  return tx.rows<ReportRow>(sql`/* reports.listReports */
    select ${columns} from reports.reports where partner_id = ${partnerId} and status <> 'Deleted'
      ${afterId === null ? noSql : sql`and id < ${afterId}`}
      ${status === undefined ? noSql : sql`and status = ${status}`}
    order by id desc limit ${limit + 1}`)
}

/** Hides a report from requests, and ends the lease of a worker that writes it. Returns 1 or 0. */
export function markDeleted(tx: Tx, partnerId: string, id: string, now: Date): Promise<number> {
  return tx.run(sql`/* reports.markDeleted */
    update reports.reports set status = 'Deleted', lease_id = null, expires_at = ${now}
    where partner_id = ${partnerId} and id = ${id} and status <> 'Deleted'`)
}

/** Hides the reports of a customer like `markDeleted`. A job deletes their files. */
export async function markDeletedOf(tx: Tx, partnerId: string, customerId: string, now: Date): Promise<void> {
  await tx.run(sql`/* reports.markDeletedOf */
    update reports.reports set status = 'Deleted', lease_id = null, expires_at = ${now}
    where partner_id = ${partnerId} and customer_id = ${customerId} and status <> 'Deleted'`)
}

/** Lists partners with due reports, longest waiting first. */
export function partnersWithDueReports(
  tx: Tx,
  now: Date,
  certainUntil: Date,
  partnersMax: number,
): Promise<readonly { readonly partnerId: string }[]> {
  return tx.rows(
    dueWork('finds partners with reports to write, without a lock', (whose) =>
      unprepared(sql`/* reports.partnersWithDueReports */
      select report.partner_id from reports.reports as report join reports.turns as turn on turn.partner_id = report.partner_id
      where report.status in ('Queued', 'Running') and report.due_at <= ${now} and report.period_to <= ${certainUntil}
        and ${whose(sql`report.partner_id`)}
      group by report.partner_id, turn.served_at order by turn.served_at, report.partner_id limit ${partnersMax}`),
    ),
  )
}

export async function recordTurn(tx: Tx, partnerId: string, now: Date): Promise<void> {
  await tx.run(sql`/* reports.recordTurn */
    update reports.turns set served_at = greatest(served_at, ${now}::timestamptz) where partner_id = ${partnerId}`)
}

/** Claims a report. The claim counts the attempt, so that an attempt that ends its process also counts. */
export function claimReport(
  tx: Tx,
  partnerId: string,
  lease: { readonly id: string; readonly until: Date },
  now: Date,
  certainUntil: Date,
): Promise<ReportRow | undefined> {
  return tx.row<ReportRow>(sql`/* reports.claimReport */
    update reports.reports set status = 'Running', lease_id = ${lease.id}, due_at = ${lease.until}, attempts = attempts + 1,
      progress = 0
    where partner_id = ${partnerId} and id = (
      select id from reports.reports where partner_id = ${partnerId} and status in ('Queued', 'Running')
        and due_at <= ${now} and period_to <= ${certainUntil}
      order by due_at, id limit 1 for update skip locked)
    returning ${columns}`)
}

type LeaseKey = Pick<ReportRow, 'partnerId' | 'id' | 'leaseId'>

/** Renews a lease. Like other statements of a worker it returns 0 if the lease was lost. */
export function renewLease(
  tx: Tx,
  { partnerId, id, leaseId }: LeaseKey,
  until: Date,
  progress: number,
): Promise<number> {
  return tx.run(sql`/* reports.renewLease */
    update reports.reports set due_at = ${until}, progress = ${progress}
    where partner_id = ${partnerId} and id = ${id} and lease_id = ${leaseId}`)
}

export function insertChunk(
  tx: Tx,
  { partnerId, id, leaseId, attempts }: LeaseKey & Pick<ReportRow, 'attempts'>,
  number: number,
  bytes: Uint8Array,
): Promise<number> {
  return tx.run(sql`/* reports.insertChunk */
    insert into reports.chunks (partner_id, report_id, attempt, number, bytes)
    select partner_id, id, ${attempts}::integer, ${number}::integer, ${bytes}::bytea from reports.reports
    where partner_id = ${partnerId} and id = ${id} and lease_id = ${leaseId}`)
}

export type WrittenFile = { readonly rows: bigint; readonly bytes: number; readonly sha256: string }

export function markReady(
  tx: Tx,
  { partnerId, id, leaseId }: LeaseKey,
  { rows, bytes, sha256 }: WrittenFile,
  expiresAt: Date,
): Promise<number> {
  return tx.run(sql`/* reports.markReady */
    update reports.reports set status = 'Ready', lease_id = null, progress = 100, rows = ${rows}, bytes = ${bytes},
      sha256 = ${sha256}, content_attempt = attempts, expires_at = ${expiresAt}
    where partner_id = ${partnerId} and id = ${id} and lease_id = ${leaseId}`)
}

/** Makes a report due again at a later time. */
export function requeueReport(tx: Tx, { partnerId, id, leaseId }: LeaseKey, dueAt: Date): Promise<number> {
  return tx.run(sql`/* reports.requeueReport */
    update reports.reports set status = 'Queued', lease_id = null, due_at = ${dueAt}, progress = 0
    where partner_id = ${partnerId} and id = ${id} and lease_id = ${leaseId}`)
}

export function markFailed(tx: Tx, { partnerId, id, leaseId }: LeaseKey, failure: string): Promise<number> {
  return tx.run(sql`/* reports.markFailed */
    update reports.reports set status = 'Failed', lease_id = null, failure = ${failure}
    where partner_id = ${partnerId} and id = ${id} and lease_id = ${leaseId}`)
}

/** Reads a part of the content. Undefined if the report was deleted. */
export async function readChunk(
  tx: Tx,
  { partnerId, id, contentAttempt }: Pick<ReportRow, 'partnerId' | 'id' | 'contentAttempt'>,
  number: number,
): Promise<Uint8Array | undefined> {
  const row = await tx.row<{ readonly bytes: Uint8Array }>(sql`/* reports.readChunk */
    select bytes from reports.chunks where partner_id = ${partnerId} and report_id = ${id} and attempt = ${contentAttempt}
      and number = ${number} and exists (
        select from reports.reports where partner_id = ${partnerId} and id = ${id} and status = 'Ready')`)
  return row?.bytes
}

/** Deletes the parts of failed attempts, or of all attempts. Returns their number. */
export function deleteChunks(
  tx: Tx,
  partnerId: string,
  id: string,
  keptAttempt: number | null,
  chunksMax: number,
): Promise<number> {
  return tx.run(sql`/* reports.deleteChunks */
    delete from reports.chunks where partner_id = ${partnerId} and report_id = ${id} and (attempt, number) in (
      select attempt, number from reports.chunks where partner_id = ${partnerId} and report_id = ${id}
        and attempt is distinct from ${keptAttempt}::integer limit ${chunksMax})`)
}

export function expiredReports(tx: Tx, now: Date, reportsMax: number): Promise<readonly RowKey[]> {
  return tx.rows(
    acrossPartners(
      'finds reports whose time is over, by an index',
      sql`/* reports.expiredReports */
      select partner_id, id from reports.reports where expires_at <= ${now} order by expires_at limit ${reportsMax}`,
    ),
  )
}

export async function deleteReport(tx: Tx, partnerId: string, id: string): Promise<void> {
  await tx.run(sql`/* reports.deleteReport */
    delete from reports.reports where partner_id = ${partnerId} and id = ${id}`)
}

/** Selects when the next report may be written. */
export const reportsDue = (after: Date): Sql =>
  dueWork(
    'reads when the next report is due',
    (whose) => sql`/* reports.reportsDue */
      select min(due_at) as due_at from reports.reports where status in ('Queued', 'Running') and due_at > ${after} and ${whose()}`,
  )

/** Selects when the next report expires. */
export const reportsToExpire = (after: Date): Sql =>
  dueWork(
    'reads when the time of the next report is over',
    (whose) => sql`/* reports.reportsToExpire */
      select expires_at as due_at from reports.reports where expires_at > ${after} and ${whose()}
      order by expires_at limit 1`,
  )

export async function endLeases(tx: Tx, partnerId: string, now: Date): Promise<void> {
  await tx.run(sql`/* reports.endLeases */
    update reports.reports set due_at = ${now} where partner_id = ${partnerId} and status = 'Running'`)
}

// The SQL of schedules and of the links in their mails.

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

const scheduleColumns = sql`partner_id, id, kind, format, currency, customer_id, frequency, emails, time_zone, next_at, created_at`

export async function countSchedules(tx: Tx, partnerId: string): Promise<bigint> {
  const row = await tx.row<{ readonly count: bigint }>(sql`/* reports.countSchedules */
    select count(*) as count from reports.schedules where partner_id = ${partnerId}`)
  return row?.count ?? 0n
}

export async function insertSchedule(tx: Tx, row: ScheduleRow): Promise<void> {
  await tx.run(sql`/* reports.insertSchedule */
    insert into reports.schedules (${scheduleColumns})
    values (${row.partnerId}, ${row.id}, ${row.kind}, ${row.format}, ${row.currency}, ${row.customerId}, ${row.frequency},
      ${row.emails}::jsonb, ${row.timeZone}, ${row.nextAt}, ${row.createdAt})`)
}

export function scheduleById(tx: Tx, partnerId: string, id: string): Promise<ScheduleRow | undefined> {
  return tx.row<ScheduleRow>(sql`/* reports.scheduleById */
    select ${scheduleColumns} from reports.schedules where partner_id = ${partnerId} and id = ${id}`)
}

export function listSchedules(
  tx: Tx,
  partnerId: string,
  { limit, afterId }: PageRequest,
): Promise<readonly ScheduleRow[]> {
  return tx.rows<ScheduleRow>(sql`/* reports.listSchedules */
    select ${scheduleColumns} from reports.schedules where partner_id = ${partnerId}
      ${afterId === null ? noSql : sql`and id < ${afterId}`} order by id desc limit ${limit + 1}`)
}

export function deleteSchedule(tx: Tx, partnerId: string, id: string): Promise<number> {
  return tx.run(sql`/* reports.deleteSchedule */
    delete from reports.schedules where partner_id = ${partnerId} and id = ${id}`)
}

export async function deleteSchedulesOfCustomer(tx: Tx, partnerId: string, customerId: string): Promise<void> {
  await tx.run(sql`/* reports.deleteSchedulesOfCustomer */
    delete from reports.schedules where partner_id = ${partnerId} and customer_id = ${customerId}`)
}

export function dueSchedules(tx: Tx, now: Date, schedulesMax: number): Promise<readonly RowKey[]> {
  return tx.rows(
    acrossPartners(
      'finds schedules whose period has ended, by an index',
      sql`/* reports.dueSchedules */
      select partner_id, id from reports.schedules where next_at <= ${now} order by next_at limit ${schedulesMax}`,
    ),
  )
}

/** Selects when the next period of a schedule ends. */
export const schedulesDue = (after: Date): Sql =>
  dueWork(
    'reads when the next period of a schedule ends',
    (whose) => sql`/* reports.schedulesDue */
      select next_at as due_at from reports.schedules where next_at > ${after} and ${whose()} order by next_at limit 1`,
  )

/** Locks a due schedule. Undefined if it is no longer due, or another worker has it. */
export function lockDueSchedule(tx: Tx, partnerId: string, id: string, now: Date): Promise<ScheduleRow | undefined> {
  return tx.row<ScheduleRow>(sql`/* reports.lockDueSchedule */
    select ${scheduleColumns} from reports.schedules where partner_id = ${partnerId} and id = ${id} and next_at <= ${now}
    for update skip locked`)
}

export async function setScheduleNextAt(tx: Tx, partnerId: string, id: string, nextAt: Date): Promise<void> {
  await tx.run(sql`/* reports.setScheduleNextAt */
    update reports.schedules set next_at = ${nextAt} where partner_id = ${partnerId} and id = ${id}`)
}

export type MailLink = {
  readonly partnerId: string
  readonly tokenHash: Uint8Array
  readonly reportId: string
  readonly expiresAt: Date
}

export async function insertLink(tx: Tx, { partnerId, tokenHash, reportId, expiresAt }: MailLink): Promise<void> {
  await tx.run(sql`/* reports.insertLink */
    insert into reports.links (partner_id, token_hash, report_id, expires_at)
    values (${partnerId}, ${tokenHash}, ${reportId}, ${expiresAt})`)
}

export async function reportIdByLink(
  tx: Tx,
  partnerId: string,
  tokenHash: Uint8Array,
  now: Date,
): Promise<string | undefined> {
  const row = await tx.row<{ readonly reportId: string }>(sql`/* reports.reportIdByLink */
    select report_id from reports.links
    where partner_id = ${partnerId} and token_hash = ${tokenHash} and expires_at > ${now}`)
  return row?.reportId
}

export async function deleteLinks(tx: Tx, partnerId: string, reportId: string): Promise<void> {
  await tx.run(sql`/* reports.deleteLinks */
    delete from reports.links where partner_id = ${partnerId} and report_id = ${reportId}`)
}
