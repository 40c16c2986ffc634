/** The jobs of reports. Several workers write, so that a long report does not stop the others. */
import { defineJob, type Job } from '../postgres/jobs/index.ts'
import type { Reports } from './service.ts'
import { reportsDue, reportsToExpire, schedulesDue } from './store.ts'
import { createReportWork, type ReportWorkDeps } from './work.ts'

/** Reports that one process writes at the same time. */
const writersMax = 2

type JobsDeps = Omit<ReportWorkDeps, 'keptDays' | 'clockDifferenceMsMax'> & {
  readonly config: Readonly<Record<'REPORT_KEPT_DAYS' | 'REPORT_CLOCK_DIFFERENCE_MS', number>>
  readonly reports: Pick<Reports, 'releaseLeases'>
}

export function reportJobs({ config, reports, ...deps }: JobsDeps): readonly Job[] {
  const { writeStep, scheduleStep, sweepStep } = createReportWork({
    ...deps,
    keptDays: config.REPORT_KEPT_DAYS,
    clockDifferenceMsMax: config.REPORT_CLOCK_DIFFERENCE_MS,
  })
  return [
    defineJob({
      name: 'reports.write',
      due: reportsDue,
      run: writeStep,
      workers: writersMax,
      releaseLeases: reports.releaseLeases,
      age: { queue: 'reports' },
    }),
    defineJob({ name: 'reports.schedules', due: schedulesDue, run: scheduleStep }),
    defineJob({ name: 'reports.expiry', due: reportsToExpire, run: sweepStep }),
  ]
}
