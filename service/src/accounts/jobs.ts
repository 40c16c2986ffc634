/** The jobs of accounts: payouts of blocked accounts, monitors of balances, pools of IBANs. */
import { defineJob, type Job } from '../postgres/jobs/index.ts'
import { minuteMs, secondMs } from '../kernel/index.ts'
import type { Cancellations } from './cancellations.ts'
import type { PoolLevel } from './imported.ts'
import type { Monitors } from './monitors/index.ts'
import type { Accounts } from './service.ts'
import { cancellationsDue } from './store.ts'

/** A round over balances that did not move is one statement for 500 of them. */
const monitorEveryMs = 2 * secondMs

export const accountJobs = ({
  accounts,
  cancellations,
  monitors,
  clockDifferenceMsMax,
  observePools,
}: {
  readonly accounts: Pick<Accounts, 'pools'>
  readonly cancellations: Cancellations
  readonly monitors: Monitors
  /** Transfers that are younger may not be judged yet. */
  readonly clockDifferenceMsMax: number
  readonly observePools: ((levels: readonly PoolLevel[]) => void) | undefined
}): readonly Job[] => [
  defineJob({
    name: 'accounts.cancellations',
    due: cancellationsDue,
    run: cancellations.step,
    age: { queue: 'cancellations', since: cancellations.oldestBlock },
  }),
  defineJob({
    name: 'accounts.monitors',
    wokenBy: ['ledger.transfers', 'accounts.monitors'],
    restMs: monitorEveryMs,
    everyMs: monitorEveryMs,
    quietAfterMs: clockDifferenceMsMax + 2 * monitorEveryMs,
    run: monitors.monitorStep,
    age: { queue: 'monitors', since: async () => monitors.judgedSince() },
  }),
  defineJob({ name: 'accounts.pools', everyMs: minuteMs, run: () => accounts.pools.lookStep(observePools) }),
]
