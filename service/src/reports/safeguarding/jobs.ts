/** The job that computes each day once its statements are in. */
import { defineJob, type Job } from '../../postgres/jobs/index.ts'
import { minuteMs } from '../../kernel/index.ts'
import type { Safeguarding } from './service.ts'

export const safeguardingJob = (safeguarding: Pick<Safeguarding, 'step'>): Job =>
  defineJob({ name: 'safeguarding.days', everyMs: minuteMs, run: safeguarding.step })
