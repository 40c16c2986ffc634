/**
 * The verbs of what subscriptions are owed, as the delivery worker uses them: fan out, hold endpoint queues, record, sweep.
 * Every delivery is attempted at least once, and until the endpoint says 2xx or the schedule ends; then it is held.
 */
import { after, assert, type Clock, type Log } from '../../kernel/index.ts'
import type { EventOutbox } from '../../events/index.ts'
import type { Database, Tx } from '../../postgres/index.ts'
import { createFanOut } from './fan-out.ts'
import { createQueueWorker, type QueueWorkerOptions } from './worker.ts'
import { createEndpointQueues } from './endpoint-queues.ts'
import { clocksDifferMsMax, type Limits, readLimits, retryDelaysMsDefault } from '../limits.ts'
import { createRecord } from './result-batches.ts'
import { createRetention } from '../retention.ts'
import { withJitter } from './schedule.ts'
import type { Secrets } from '../management/secrets.ts'
import { reconcile } from './store-reconciliation.ts'
import * as store from '../management/store-subscriptions.ts'
import * as endpointQueueStore from './store-endpoint-queues.ts'

export type SubscriptionKey = store.SubscriptionKey

export type DeliveryQueueDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly eventOutbox: EventOutbox
  /** Where the database is sharded by partner, a batch is of one. */
  readonly sharded?: boolean
  /** The pauses between attempts; the sandbox shortens them. One attempt more than there are pauses. */
  readonly retryDelaysMs?: readonly number[]
  readonly limits?: Partial<Limits>
}

const purgeRowsMax = 1000
const sweepEndpointQueuesMax = 100

export function createDeliveryQueue(deps: DeliveryQueueDeps & { readonly secrets: Pick<Secrets, 'signingKeys'> }) {
  const { db, clock, eventOutbox, secrets, sharded = false, retryDelaysMs = retryDelaysMsDefault } = deps
  assert(
    retryDelaysMs.every((ms) => Number.isSafeInteger(ms) && ms >= 0),
    'a retry delay is a whole number of milliseconds',
  )
  const limits = readLimits(deps.limits ?? {})
  const endpointQueues = createEndpointQueues({ db, clock, eventOutbox, secrets, sharded, limits })
  const record = createRecord({ db, clock, sharded })

  const endWhatLastsTooLong = async (): Promise<number> => {
    const now = clock.now()
    const restMsMax = Math.max(limits.retryAfterMsMax, withJitter(limits.probeMsMax, 1))
    const foundPast = {
      leaseUntil: after(now, limits.leaseMs + clocksDifferMsMax),
      pausedUntil: after(now, restMsMax + clocksDifferMsMax),
    }
    const keys = await endpointQueueStore.endpointQueuesEndingLater(db, foundPast, sweepEndpointQueuesMax)
    const latest = { leaseUntil: after(now, limits.leaseMs), pausedUntil: foundPast.pausedUntil }
    for (const key of keys) await endpointQueueStore.shortenLeaseAndRest(db, key, latest, now)
    return keys.length
  }

  return {
    /** Due-work scan: partners with events to fan out, behind `after` by id. */
    partnersToFanOut: (after: string, partnersMax: number) => eventOutbox.partnersWithPending(db, after, partnersMax),

    fanOut: createFanOut({ clock, eventOutbox }),

    /** A worker's hands. Each worker has its own. */
    hold: (log: Log, options: QueueWorkerOptions) =>
      createQueueWorker({ endpointQueues, record, clock, log, limits, retryDelaysMs }, options),

    /** Frees what dead workers hold. Only where no other worker can be alive: the embedded database has one process. */
    releaseLeases: (partnerId: string): Promise<void> => endpointQueueStore.releaseAll(db, partnerId, clock.now()),

    /**
     * Housekeeping: drops the remains of deleted subscriptions in batches, wakes a endpoint queue that sleeps on work, and ends what
     * was promised to last before the clock was put back.
     */
    sweep: async (): Promise<number> => {
      let did = 0
      for (const key of await store.deletedSubscriptions(db, sweepEndpointQueuesMax))
        did += await db.transaction((tx) => store.purge(tx, key, purgeRowsMax))
      for (const { partnerId, subscriptionId } of await endpointQueueStore.sleepingEndpointQueues(
        db,
        sweepEndpointQueuesMax,
      ))
        if (await endpointQueueStore.wakeEndpointQueue(db, partnerId, subscriptionId, clock.now())) did += 1
      return did + (await endWhatLastsTooLong())
    },

    /** Per subscription: what was ever owed, and what became of it; delivered + pending + held = owed. */
    reconcile: (tx: Tx, partnerId: string) => reconcile(tx, partnerId),

    ...createRetention({ db, clock, eventOutbox, limits }),

    limits,
    sharded,
  }
}

export type DeliveryQueue = ReturnType<typeof createDeliveryQueue>
