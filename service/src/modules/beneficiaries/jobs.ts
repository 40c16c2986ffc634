/** The job that renews verifications of payees. */
import { defineJob, type Job } from '../../jobs/index.ts'
import { minuteMs } from '../../kernel/index.ts'
import type { Renewals } from './renewals.ts'
import { renewalsDue } from './store-renewals.ts'

export const renewalJob = ({ renewStep, releaseRenewals, oldestRenewal }: Renewals): Job =>
  defineJob({
    name: 'beneficiaries.renewals',
    due: renewalsDue,
    // Verifications that are due because of their age.
    everyMs: minuteMs,
    run: renewStep,
    releaseLeases: (partnerId) => releaseRenewals(partnerId),
    age: { queue: 'renewals', since: oldestRenewal },
  })
