/** Operation id -> verb -> shape. */
import type { ResponseOf } from '@partner-payments/wire'
import type { Handlers } from '../../api/index.ts'
import type { Idempotency } from '../../idempotency/index.ts'
import type { Report, Reports, Schedule } from './service.ts'

/** A field without a value is absent. */
function toWire(report: Report): ResponseOf<'getReport'> {
  const { id, kind, format, currency, customerId, scheduleId, status, progress, rows, bytes, sha256, failure } = report
  const isReady = status === 'Ready' && sha256 !== null
  return {
    id,
    kind,
    format,
    from: report.periodFrom.toISOString(),
    to: report.periodTo.toISOString(),
    ...(currency === null ? {} : { currency }),
    ...(customerId === null ? {} : { customerId }),
    ...(scheduleId === null ? {} : { scheduleId }),
    status,
    progress,
    ...(isReady ? { rows: Number(rows), bytes: Number(bytes), sha256 } : {}),
    ...(failure === null ? {} : { failure }),
    createdAt: report.createdAt.toISOString(),
    expiresAt: report.expiresAt.toISOString(),
  }
}

function toWireSchedule(schedule: Schedule): ResponseOf<'getReportSchedule'> {
  const { id, kind, format, currency, customerId, frequency, emails, timeZone, nextAt, createdAt } = schedule
  return {
    id,
    kind,
    format,
    ...(currency === null ? {} : { currency }),
    ...(customerId === null ? {} : { customerId }),
    frequency,
    emails: JSON.parse(emails) as string[],
    timeZone,
    nextRunAt: nextAt.toISOString(),
    createdAt: createdAt.toISOString(),
  }
}

export function reportsRoutes(reports: Reports, idempotency: Idempotency): Handlers<'reports'> {
  return {
    createReport: idempotency.handler('createReport', async ({ caller, body }, tx) => {
      const report = await reports.create(caller.partnerId, body, tx)
      return { body: toWire(report), created: `the report ${report.id}` }
    }),
    listReports: async ({ caller, query }) => {
      const page = await reports.list(caller.partnerId, query)
      return { body: { ...page, data: page.data.map(toWire) } }
    },
    getReport: async ({ caller, params }) => ({ body: toWire(await reports.get(caller.partnerId, params.id)) }),
    deleteReport: async ({ caller, params }) => {
      await reports.remove(caller.partnerId, params.id)
      return { body: undefined }
    },
    getReportContent: async ({ caller, params }) => ({
      body: undefined,
      content: await reports.content(caller.partnerId, params.id),
    }),
    createReportSchedule: idempotency.handler('createReportSchedule', async ({ caller, body }, tx) => {
      const schedule = await reports.createSchedule(caller.partnerId, body, tx)
      return { body: toWireSchedule(schedule), created: `the schedule ${schedule.id}` }
    }),
    listReportSchedules: async ({ caller, query }) => {
      const page = await reports.listSchedules(caller.partnerId, query)
      return { body: { ...page, data: page.data.map(toWireSchedule) } }
    },
    getReportSchedule: async ({ caller, params }) => ({
      body: toWireSchedule(await reports.getSchedule(caller.partnerId, params.id)),
    }),
    deleteReportSchedule: async ({ caller, params }) => {
      await reports.removeSchedule(caller.partnerId, params.id)
      return { body: undefined }
    },
  }
}
