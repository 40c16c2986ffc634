/** The jobs of identity verifications: one starts and follows them by the provider, the other lets documents expire without it. */
import { defineJob, type Job } from '../../jobs/index.ts'
import type { IdentityChecks } from './service.ts'
import { expiriesDue, verificationsDue } from './store.ts'

export const identityJobs = ({
  step,
  expireStep,
  releaseLeases,
  oldestDue,
}: Pick<IdentityChecks, 'step' | 'expireStep' | 'releaseLeases' | 'oldestDue'>): readonly Job[] => [
  defineJob({
    name: 'customers.identity_verifications',
    due: verificationsDue,
    run: step,
    releaseLeases: (partnerId) => releaseLeases(partnerId),
    age: { queue: 'identity_verifications', since: oldestDue },
  }),
  defineJob({ name: 'customers.identity_expiries', due: expiriesDue, run: expireStep }),
]
