/** The jobs that read transactions, and that run the backtests of the desk. */
import { defineJob, type Job } from '../postgres/jobs/index.ts'
import { minuteMs } from '../kernel/index.ts'
import type { Monitoring } from './service.ts'
import { runsDue } from './store.ts'

export const monitoringJobs = (monitoring: Pick<Monitoring, 'step' | 'runStep'>): readonly Job[] => [
  defineJob({ name: 'monitoring.transactions', everyMs: minuteMs, run: monitoring.step }),
  defineJob({
    ...{ name: 'monitoring.backtests', due: runsDue, run: monitoring.runStep },
    age: { queue: 'backtests' },
  }),
]
