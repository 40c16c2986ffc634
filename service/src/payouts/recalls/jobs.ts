/** The job that expires recalls whose bank has not answered in time. Settlement sends recalls. */
import { defineJob, type Job } from '../../postgres/jobs/index.ts'
import type { Recalls } from './service.ts'
import { answersDue } from './store.ts'

export const recallsJob = ({ expireStep }: Pick<Recalls, 'expireStep'>): Job =>
  defineJob({ name: 'payouts.recalls', due: answersDue, run: expireStep, age: { queue: 'expiring_recalls' } })
