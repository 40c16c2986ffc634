/** The job that makes the payouts of bulks. */
import { defineJob, type Job } from '../../postgres/jobs/index.ts'
import type { BulkPayouts } from './service.ts'
import { bulksDue } from './store.ts'

/** Two, because a bulk that is made in one transaction must not delay the others. */
const bulkWorkers = 2

export const bulksJob = ({ step, releaseLeases }: Pick<BulkPayouts, 'step' | 'releaseLeases'>): Job =>
  defineJob({ name: 'payouts.bulk', due: bulksDue, run: step, workers: bulkWorkers, releaseLeases })
