/**
 * The jobs of screening. A name waits for a list, which no single read of the names shows: therefore tables wake the
 * job.
 */
import { defineJob, type Job } from '../postgres/jobs/index.ts'
import { minuteMs, secondMs } from '../kernel/index.ts'
import type { Screener } from './screener.ts'
import type { Screening } from './service.ts'

const namesEveryMs = 5 * secondMs

export const screeningJobs = (screener: Screener, screening: Screening): readonly Job[] => [
  defineJob({
    name: 'screening.names',
    wokenBy: ['screening.subjects', 'screening.lists'],
    everyMs: namesEveryMs,
    quietAfterMs: minuteMs,
    run: screener.screenStep,
    releaseLeases: screening.releaseLeases,
    age: { queue: 'screening_names', since: screening.oldestDueSubject },
  }),
  defineJob({ name: 'screening.sweep', everyMs: minuteMs, run: screener.sweepStep }),
]
