/** The job that mails the links of recoveries whose cooling-off is over. */
import { defineJob, type Job } from '../../postgres/jobs/index.ts'
import type { Recoveries } from './recoveries.ts'
import { recoveriesDue } from './store.ts'

export const recoveriesJob = ({ step }: Pick<Recoveries, 'step'>): Job =>
  defineJob({ name: 'users.recoveries', due: recoveriesDue, run: step })
