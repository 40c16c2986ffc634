/**
 * Reports: statements, transactions, fees and reconciliations as files, and their schedules. Design: README.md.
 *
 * Tables: reports.reports, reports.chunks, reports.turns, reports.schedules, reports.links. Invariants: the same
 * request gives the same bytes, whenever it is written and by how many attempts. A file consists of the parts of one
 * attempt. A statement agrees with the ledger to the minor unit, or it is not written. A deleted report is neither read
 * nor written.
 */
export { reportJobs, createReportWork } from './jobs.ts'
export { renderReportMail } from './report-mail.ts'
export { reportsRoutes } from './routes.ts'
export { createReports, type Reports } from './service.ts'
