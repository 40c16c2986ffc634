/** The operations of reports and their schedules. Workers write the files (jobs.ts). */
import { type BodyOf, type QueryOf, reportMediaTypes } from '@partner-payments/wire'
import {
  type FileContent,
  type Cursors,
  notFound,
  type Page,
  linkPartnerId,
  Refusal,
  requireMembers,
} from '../kernel/api/index.ts'
import { after, type Clock, dayMs, newId, tokenHash } from '../kernel/index.ts'
import { type Database, inTransaction, type Tx } from '../postgres/index.ts'
import type { Customers } from '../parties/customers/index.ts'
import { readFile } from './file.ts'
import { type MembersByAddress } from './report-mail.ts'
import {
  reportFileName,
  nextPeriodEnd,
  openReportsMax,
  readPeriod,
  readSpec,
  readTimeZone,
  schedulesMax,
} from './rules.ts'
import * as store from './store.ts'

export type Report = store.ReportRow
export type Schedule = store.ScheduleRow

export type Reports = {
  /**
   * Queues a report. Refuses: report_format_not_supported, validation_failed (from, to, currency, customerId),
   * currency_not_supported, not_found (/customerId), report_limit_reached.
   */
  readonly create: (partnerId: string, input: BodyOf<'createReport'>, tx?: Tx) => Promise<Report>
  /** Lists newest first. Refuses: validation_failed (cursor). */
  readonly list: (partnerId: string, query: QueryOf<'listReports'>) => Promise<Page<Report>>
  /** Reads a report. Refuses: not_found. */
  readonly get: (partnerId: string, id: string) => Promise<Report>
  /** Deletes a report, and cancels one that is queued or running. Refuses: not_found. */
  readonly remove: (partnerId: string, id: string) => Promise<void>
  /** Reads the file of a report. Refuses: not_found, report_not_ready. */
  readonly content: (partnerId: string, id: string) => Promise<FileContent>
  /** Reads the content by the token of a mail's link. Refuses: not_found, report_not_ready. */
  readonly contentOfLink: (token: string) => Promise<FileContent>
  /**
   * Creates a schedule. Refuses: report_format_not_supported, validation_failed (currency, customerId, timeZone, emails),
   * currency_not_supported, not_found (/customerId), report_schedule_limit_reached.
   */
  readonly createSchedule: (partnerId: string, input: BodyOf<'createReportSchedule'>, tx?: Tx) => Promise<Schedule>
  /** Lists newest first. Refuses: validation_failed (cursor). */
  readonly listSchedules: (partnerId: string, query: QueryOf<'listReportSchedules'>) => Promise<Page<Schedule>>
  /** Reads a schedule. Refuses: not_found. */
  readonly getSchedule: (partnerId: string, id: string) => Promise<Schedule>
  /** Deletes a schedule. Refuses: not_found. */
  readonly removeSchedule: (partnerId: string, id: string) => Promise<void>
  /** Deletes the schedules and the reports of an erased customer. */
  readonly eraseOf: (tx: Tx, partnerId: string, customerId: string) => Promise<void>
  /** Releases the leases of a partner's reports, which become due at once. */
  readonly releaseLeases: (partnerId: string) => Promise<void>
}

export type ReportsDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly cursors: Cursors
  readonly customers: Pick<Customers, 'hold'>
  readonly membersByAddress: MembersByAddress
  /** How long a report is kept after its request, and again after it is ready. */
  readonly keptDays: number
}

/** Seconds after which a partner should request a report again that is not ready. */
const retrySeconds = 2

export function createReports(deps: ReportsDeps): Reports {
  const { db, clock, cursors } = deps
  const listName = (partnerId: string) => `reports:${partnerId}`
  const get = async (partnerId: string, id: string) => {
    const report = await store.reportById(db, partnerId, id)
    if (report === undefined) throw notFound('report')
    return report
  }
  return {
    ...createSchedules(deps),
    create: (partnerId, input, tx) => create(deps, partnerId, input, tx),
    get,
    list: async (partnerId, { status, ...query }) => {
      const request = cursors.read(listName(partnerId), query)
      return cursors.page(listName(partnerId), request, await store.listReports(db, partnerId, status, request))
    },
    remove: async (partnerId, id) => {
      if ((await store.markDeleted(db, partnerId, id, clock.now())) === 0) throw notFound('report')
    },
    content: async (partnerId, id) => toContent(db, await get(partnerId, id)),
    contentOfLink: async (token) => {
      const partnerId = linkPartnerId(token)
      const id = partnerId && (await store.reportIdByLink(db, partnerId, tokenHash(token), clock.now()))
      if (partnerId === undefined || id === undefined) throw notFound('report')
      return toContent(db, await get(partnerId, id))
    },
    eraseOf: async (tx, partnerId, customerId) => {
      // Schedules first: one that is just making a report is waited for.
      await store.deleteSchedulesOfCustomer(tx, partnerId, customerId)
      await store.markDeletedOf(tx, partnerId, customerId, clock.now())
    },
    releaseLeases: (partnerId) => store.endLeases(db, partnerId, clock.now()),
  }
}

function toContent(db: Database, report: Report): FileContent {
  const { status, bytes, sha256, failure } = report
  if (status === 'Failed')
    throw new Refusal('report_not_ready', `The report failed: ${failure ?? 'the reason was not recorded.'}`)
  if (status !== 'Ready' || bytes === null || sha256 === null)
    throw new Refusal('report_not_ready', undefined, { headers: { 'retry-after': String(retrySeconds) } })
  return {
    mediaType: reportMediaTypes[report.format],
    fileName: reportFileName(report, { from: report.periodFrom, to: report.periodTo }),
    bytes: Number(bytes),
    sha256,
    read: (from, until) => readFile(db, report, from, until),
  }
}

async function create(
  { db, clock, customers, keptDays }: ReportsDeps,
  partnerId: string,
  input: BodyOf<'createReport'>,
  outerTx: Tx | undefined,
): Promise<Report> {
  const now = clock.now()
  const spec = readSpec(input)
  const period = readPeriod(input, now)
  return inTransaction(db, outerTx, async (tx) => {
    const { customerId: ref } = input
    const customer = ref === undefined ? null : await customers.hold(tx, partnerId, ref, '/customerId')
    // Two requests that count at the same time would both pass.
    await store.lockTurn(tx, partnerId)
    if ((await store.countOpenReports(tx, partnerId)) >= BigInt(openReportsMax))
      throw new Refusal(
        'report_limit_reached',
        `The partner has ${openReportsMax} reports that are queued or running.`,
        {
          headers: { 'retry-after': String(retrySeconds) },
        },
      )
    const id = newId()
    const expiresAt = after(now, keptDays * dayMs)
    const row = { ...spec, partnerId, id, period, customerId: customer?.id ?? null, scheduleId: null }
    await store.insertReport(tx, { ...row, createdAt: now, expiresAt })
    const { period: _period, ...rest } = row
    return {
      ...rest,
      periodFrom: period.from,
      periodTo: period.to,
      status: 'Queued',
      progress: 0,
      attempts: 0,
      leaseId: null,
      rows: null,
      bytes: null,
      sha256: null,
      contentAttempt: null,
      failure: null,
      createdAt: now,
      expiresAt,
    }
  })
}

function createSchedules({
  db,
  clock,
  cursors,
  customers,
  membersByAddress,
}: ReportsDeps): Pick<Reports, 'createSchedule' | 'listSchedules' | 'getSchedule' | 'removeSchedule'> {
  const listName = (partnerId: string) => `report-schedules:${partnerId}`
  return {
    createSchedule: async (partnerId, input, outerTx) => {
      const spec = readSpec(input)
      const timeZone = readTimeZone(input.timeZone ?? 'UTC')
      return inTransaction(db, outerTx, async (tx) => {
        const { customerId: ref, frequency, emails } = input
        const customer = ref === undefined ? null : await customers.hold(tx, partnerId, ref, '/customerId')
        const members = requireMembers(emails, await membersByAddress(tx, partnerId, emails), '/emails')
        await store.lockTurn(tx, partnerId)
        if ((await store.countSchedules(tx, partnerId)) >= BigInt(schedulesMax))
          throw new Refusal('report_schedule_limit_reached')
        const now = clock.now()
        const row: Schedule = {
          ...spec,
          partnerId,
          id: newId(),
          customerId: customer?.id ?? null,
          frequency,
          emails: JSON.stringify(members),
          timeZone,
          nextAt: nextPeriodEnd(frequency, timeZone, now),
          createdAt: now,
        }
        await store.insertSchedule(tx, row)
        return row
      })
    },
    listSchedules: async (partnerId, query) => {
      const request = cursors.read(listName(partnerId), query)
      return cursors.page(listName(partnerId), request, await store.listSchedules(db, partnerId, request))
    },
    getSchedule: async (partnerId, id) => {
      const found = await store.scheduleById(db, partnerId, id)
      if (found === undefined) throw notFound('schedule')
      return found
    },
    removeSchedule: async (partnerId, id) => {
      if ((await store.deleteSchedule(db, partnerId, id)) === 0) throw notFound('schedule')
    },
  }
}
