/** The jobs of identity verifications: one starts them, follows them, and lets them expire; one has providers erase. */
import { defineJob, type Job } from '../../jobs/index.ts'
import type { IdentityChecks } from './service.ts'
import { erasuresDue } from './store-erasures.ts'
import { verificationsDue } from './store.ts'

export const identityJobs = ({
  step,
  eraseStep,
  releaseLeases,
  oldestDue,
}: Pick<IdentityChecks, 'step' | 'eraseStep' | 'releaseLeases' | 'oldestDue'>): readonly Job[] => [
  defineJob({
    name: 'customers.identity_verifications',
    due: verificationsDue,
    run: step,
    releaseLeases: (partnerId) => releaseLeases(partnerId),
    age: { queue: 'identity_verifications', since: oldestDue },
  }),
  defineJob({
    name: 'customers.identity_erasures',
    due: erasuresDue,
    run: eraseStep,
    age: { queue: 'identity_erasures' },
  }),
]
