/** The job of identity verifications: starts them, follows them, and lets them expire. */
import { defineJob, type Job } from '../../jobs/index.ts'
import type { IdentityChecks } from './service.ts'
import { verificationsDue } from './store.ts'

export const identityJob = ({
  step,
  releaseLeases,
  oldestDue,
}: Pick<IdentityChecks, 'step' | 'releaseLeases' | 'oldestDue'>): Job =>
  defineJob({
    name: 'customers.identity_verifications',
    due: verificationsDue,
    run: step,
    releaseLeases: (partnerId) => releaseLeases(partnerId),
    age: { queue: 'identity_verifications', since: oldestDue },
  })
