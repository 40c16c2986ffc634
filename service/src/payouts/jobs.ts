/** The job of payouts that needs no bank. Settlement declares those that call one. */
import { defineJob, type Job } from '../postgres/jobs/index.ts'
import type { PayoutLife } from './life.ts'
import { approvalsDue } from './store.ts'

export const approvalsJob = ({ lapseStep }: Pick<PayoutLife, 'lapseStep'>): Job =>
  defineJob({ name: 'payouts.approvals', due: approvalsDue, run: lapseStep })
