/** The jobs of beneficiaries: renewals of verifications, and names from before their index. */
import { defineJob, type Job } from '../../postgres/jobs/index.ts'
import { minuteMs } from '../../kernel/index.ts'
import type { Renewals } from './renewals.ts'
import type { Beneficiaries } from './service.ts'
import { renewalsDue } from './store-verifications.ts'

export const beneficiaryJobs = (
  { indexNamesStep }: Pick<Beneficiaries, 'indexNamesStep'>,
  { renewStep, releaseRenewals, oldestRenewal }: Renewals,
): readonly Job[] => [
  defineJob({ name: 'beneficiaries.names', everyMs: minuteMs, run: indexNamesStep }),
  defineJob({
    name: 'beneficiaries.renewals',
    due: renewalsDue,
    // Verifications that are due because of their age.
    everyMs: minuteMs,
    run: renewStep,
    releaseLeases: (partnerId) => releaseRenewals(partnerId),
    age: { queue: 'renewals', since: oldestRenewal },
  }),
]
