/** A worker of reports in a process of its own, for the test that kills it. Arguments: the URL of the database. */
import { createReportService, reportWork } from '../support/reports.ts'

const service = await createReportService({ url: process.argv[2] ?? '' })
const work = reportWork(service)
while ((await work.writeStep()) === 0);
