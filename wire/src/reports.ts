/** Reports: statements, transactions, fees and reconciliations as files, and their schedules. All are extensions. */
import {
  Currency,
  CustomerRef,
  Email,
  IdempotencyKey,
  Timestamp,
  Type,
  Uuid,
  closed,
  described,
  oneOf,
  optional,
  page,
  pageQuery,
  timeInput,
} from './shapes.ts'

export const reportKinds = ['statement', 'transactions', 'fees', 'reconciliation'] as const
export const reportFormats = ['csv', 'jsonl', 'pdf', 'camt.053', 'camt.053.001.02'] as const
export const reportStatuses = ['Queued', 'Running', 'Ready', 'Failed'] as const
export const reportFrequencies = ['daily', 'weekly', 'monthly'] as const
export type ReportKind = (typeof reportKinds)[number]
export type ReportFormat = (typeof reportFormats)[number]
export type ReportStatus = (typeof reportStatuses)[number]
export type ReportFrequency = (typeof reportFrequencies)[number]

export const reportMediaTypes: Readonly<Record<ReportFormat, string>> = {
  csv: 'text/csv; charset=utf-8',
  jsonl: 'application/x-ndjson',
  pdf: 'application/pdf',
  'camt.053': 'application/xml',
  'camt.053.001.02': 'application/xml',
}

/** The formats of each kind. Other formats are refused, because they cannot express its content. */
export const reportMatrix: Readonly<Record<ReportKind, readonly ReportFormat[]>> = {
  statement: ['csv', 'jsonl', 'pdf', 'camt.053', 'camt.053.001.02'],
  transactions: ['csv', 'jsonl'],
  fees: ['csv', 'jsonl', 'pdf'],
  reconciliation: ['csv', 'jsonl'],
}

const kindText =
  '`statement`: each movement of the balance, with opening and closing balance. `transactions`: the transactions created ' +
  'in the period, as they stood at its end. `fees`: each fee, and totals by day. `reconciliation`: what moved on every ' +
  'account, open cases, counts by status, and each difference.'
const kind = described(oneOf(reportKinds), kindText)
const format = described(
  oneOf(reportFormats),
  'Format of the file. `pdf`: statements and fees. `camt.053` (version 08) and `camt.053.001.02`: statements. `csv` and `jsonl`: all kinds.',
)
const currencyText = 'Only this currency. A statement as `pdf` or `camt.053` in either version requires it.'
const customerText = 'Only movements of this customer: its `guid` or its `serviceId`. Not for `reconciliation`.'
const emailsMax = 10

export const ReportCreate = closed({
  kind,
  format,
  from: timeInput('Start of the period'),
  to: timeInput('End of the period, which does not contain it. At most the current time'),
  currency: described(optional(Currency), currencyText),
  customerId: described(optional(CustomerRef), customerText),
  idempotencyKey: described(optional(IdempotencyKey), 'Creates the report once. Equivalent to `Idempotency-Key`.'),
})

export const Report = closed({
  id: described(Uuid, 'Identifies the report.'),
  kind,
  format,
  from: described(Timestamp, 'Start of the period.'),
  to: described(Timestamp, 'End of the period, which does not contain it.'),
  currency: described(optional(Currency), currencyText),
  customerId: described(optional(Uuid), 'The `guid` of the customer. Absent: the report is of the partner.'),
  scheduleId: described(optional(Uuid), 'The schedule that created the report. Absent: a request created it.'),
  status: described(
    oneOf(reportStatuses),
    '`Queued`: waits for a worker, or until the period is certain to be complete. `Running`: being written. ' +
      '`Ready`: the content can be read. `Failed`: `failure` has the reason.',
  ),
  progress: described(Type.Integer(), 'Percent of the period that is written, 0 to 100.'),
  rows: described(optional(Type.Integer()), 'Records of the content. Absent until the report is `Ready`.'),
  bytes: described(optional(Type.Integer()), 'Length of the content. Absent until the report is `Ready`.'),
  sha256: described(
    optional(Type.String()),
    'SHA-256 of the content, in hexadecimal. The same request has the same. Absent until the report is `Ready`.',
  ),
  failure: described(optional(Type.String()), 'Reason for the failure, for people. Absent unless it is `Failed`.'),
  createdAt: described(Timestamp, 'Time of the request.'),
  expiresAt: described(Timestamp, 'The report and its content are deleted at this time.'),
})
export const ReportPage = page(Report)
export const ReportQuery = closed({
  ...pageQuery,
  status: described(optional(oneOf(reportStatuses)), 'Only reports with this status.'),
})

const scheduleFields = {
  kind,
  format,
  currency: described(optional(Currency), currencyText),
  frequency: described(
    oneOf(reportFrequencies),
    'The period of each report: the day, the week from Monday, or the month that has ended, in `timeZone`.',
  ),
  emails: described(
    Type.Array(Email, { minItems: 1, maxItems: emailsMax }),
    'Recipients of a mail with a link when a report is ready. 1 to 10 addresses. Each is a member of your team: its newest invitation is not revoked.',
  ),
}
export const ReportScheduleCreate = closed({
  ...scheduleFields,
  customerId: described(optional(CustomerRef), customerText),
  timeZone: described(
    optional(Type.String({ minLength: 1, maxLength: 64, examples: ['Europe/Berlin'] })),
    'IANA name of the time zone whose midnight ends a period. Default: `UTC`.',
  ),
})
export const ReportSchedule = closed({
  id: described(Uuid, 'Identifies the schedule.'),
  ...scheduleFields,
  customerId: described(optional(Uuid), 'The `guid` of the customer. Absent: the reports are of the partner.'),
  timeZone: described(Type.String(), 'IANA name of the time zone whose midnight ends a period.'),
  nextRunAt: described(Timestamp, 'When the next report is created: the end of its period.'),
  createdAt: described(Timestamp, 'Time of creation.'),
})
export const ReportSchedulePage = page(ReportSchedule)
export const ReportScheduleQuery = closed(pageQuery)
