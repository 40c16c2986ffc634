/** Starts jobs of parts of the service, as a worker process does. They poll quickly, because a manual clock makes no timer fire. */
import { type DeliveryJobsOptions, deliveryJobs } from '../../service/src/webhooks/index.ts'
import { type Job, type RunningJobs, startJobs } from '../../service/src/postgres/jobs/index.ts'
import { type MailWorkerDeps, mailJob } from '../../service/src/mail/index.ts'
import { type SettlementDeps, settlementJobs } from '../../service/src/banks/settlement/index.ts'
import type { Service } from './composition.ts'

const pollMs = 5

/** Delivers, but recovers nothing: tests advance recoveries step by step. */
export function startDelivery(options: DeliveryJobsOptions): RunningJobs {
  const { db, clock, log, idleMs = pollMs } = options
  const jobs = deliveryJobs(options).filter(({ name }) => name !== 'webhooks.recover')
  return startJobs({ db, clock, log, jobs, pollMs: idleMs })
}

type Parts = Pick<Service, 'db' | 'clock' | 'log' | 'settlement'>

/** `more`: further jobs, and what differs from the settlement of the service. */
export function startSettlement(
  { db, clock, log, settlement }: Parts,
  { jobs: more = [], ...differences }: Partial<SettlementDeps> & { readonly jobs?: readonly Job[] } = {},
): RunningJobs {
  const jobs = [...settlementJobs({ ...settlement, ...differences }), ...more]
  return startJobs({ db, clock, log, jobs, pollMs })
}

export const startMail = (deps: MailWorkerDeps): RunningJobs =>
  startJobs({ db: deps.db, clock: deps.clock, log: deps.log, jobs: [mailJob(deps)], pollMs })
