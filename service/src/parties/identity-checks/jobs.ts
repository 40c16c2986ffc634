/** The jobs of identity verifications: one starts and follows them by the provider, one lets documents expire without it, one has providers erase. */
import { defineJob, type Job } from '../../postgres/jobs/index.ts'
import type { IdentityChecks } from './service.ts'
import { erasuresDue, expiriesDue, verificationsDue } from './store.ts'

export const identityJobs = ({
  step,
  eraseStep,
  expireStep,
  releaseLeases,
  oldestDue,
}: Pick<IdentityChecks, 'step' | 'eraseStep' | 'expireStep' | 'releaseLeases' | 'oldestDue'>): readonly Job[] => [
  defineJob({
    name: 'customers.identity_verifications',
    due: verificationsDue,
    run: step,
    releaseLeases: (partnerId) => releaseLeases(partnerId),
    age: { queue: 'identity_verifications', since: oldestDue },
  }),
  defineJob({ name: 'customers.identity_expiries', due: expiriesDue, run: expireStep }),
  defineJob({
    name: 'customers.identity_erasures',
    due: erasuresDue,
    run: eraseStep,
    age: { queue: 'identity_erasures' },
  }),
]
