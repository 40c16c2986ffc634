/** Maps API operations to module operations and response shapes. */
import { ownJson, reports as wire } from '@partner-payments/wire'
import { type Handlers, writePage, createRecordWriter } from '../kernel/api/index.ts'
import type { Idempotency } from '../idempotency/index.ts'
import type { Report, Reports, Schedule } from './service.ts'

const writeReport = createRecordWriter(wire.Report)
function toWire(report: Report) {
  const { periodFrom: from, periodTo: to, status, sha256 } = report
  const isReady = status === 'Ready' && sha256 !== null
  const file = isReady
    ? { rows: Number(report.rows), bytes: Number(report.bytes), sha256 }
    : { rows: null, bytes: null, sha256: null }
  return writeReport({ ...report, from, to, ...file })
}

const writeSchedule = createRecordWriter(wire.ReportSchedule)
const toWireSchedule = ({ emails, nextAt: nextRunAt, ...schedule }: Schedule) =>
  writeSchedule({ ...schedule, emails: ownJson<string[]>(emails), nextRunAt })

export function reportsRoutes(reports: Reports, idempotency: Idempotency): Handlers<'reports'> {
  return {
    createReport: idempotency.handler('createReport', async ({ caller, body }, tx) => {
      const report = await reports.create(caller.partnerId, body, tx)
      return { body: toWire(report), created: `the report ${report.id}` }
    }),
    listReports: async ({ caller, query }) => writePage(await reports.list(caller.partnerId, query), toWire),
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
    listReportSchedules: async ({ caller, query }) =>
      writePage(await reports.listSchedules(caller.partnerId, query), toWireSchedule),
    getReportSchedule: async ({ caller, params }) => ({
      body: toWireSchedule(await reports.getSchedule(caller.partnerId, params.id)),
    }),
    deleteReportSchedule: async ({ caller, params }) => {
      await reports.removeSchedule(caller.partnerId, params.id)
      return { body: undefined }
    },
  }
}
