/** The job that reads transactions. */
import { defineJob, type Job } from '../../jobs/index.ts'
import { minuteMs } from '../../kernel/index.ts'
import type { Monitoring } from './service.ts'

export const monitoringJob = (monitoring: Pick<Monitoring, 'step'>): Job =>
  defineJob({ name: 'monitoring.transactions', everyMs: minuteMs, run: monitoring.step })
