/** The loops of reports. Several write, so that a long report does not stop the others. */
import { type Loop, secondMs, startLoop } from '../../kernel/index.ts'
import { createReportWork, type ReportWorkDeps } from './work.ts'

type StartDeps = Omit<ReportWorkDeps, 'keptDays' | 'clockDifferenceMsMax'> & {
  readonly config: Readonly<Record<'REPORT_KEPT_DAYS' | 'REPORT_CLOCK_DIFFERENCE_MS' | 'REPORT_WRITERS', number>>
}

/** A report waits for its period anyway. */
const writeIdleMs = 250
const otherIdleMs = 2 * secondMs

export function startReports({ config, ...deps }: StartDeps): readonly Loop[] {
  const { log } = deps
  const { writeStep, scheduleStep, sweepStep } = createReportWork({
    ...deps,
    keptDays: config.REPORT_KEPT_DAYS,
    clockDifferenceMsMax: config.REPORT_CLOCK_DIFFERENCE_MS,
  })
  const writers = Array.from({ length: config.REPORT_WRITERS }, (_, index) =>
    startLoop({ name: `reports.write.${index + 1}`, idleMs: writeIdleMs, log, step: writeStep }),
  )
  return [
    ...writers,
    startLoop({ name: 'reports.schedules', idleMs: otherIdleMs, log, step: scheduleStep }),
    startLoop({ name: 'reports.expiry', idleMs: otherIdleMs, log, step: sweepStep }),
  ]
}
