/**
 * The delivery queue, as the worker process uses it: fan-out, queue workers, the sweep, retention. A delivery is attempted
 * until the endpoint answers 2xx or the retry schedule ends. Then it is held.
 */
import { after, assert, type Clock, dayMs, type Log, momentOfId, newId } from '../../kernel/index.ts'
import type { EventOutbox } from '../../events/index.ts'
import type { Database, Tx } from '../../postgres/index.ts'
import { createFanOut } from './fan-out.ts'
import { clocksDifferMsMax, type Limits, readLimits, retryDelaysMsDefault } from '../limits.ts'
import { createLeftoverSweep } from './leftovers.ts'
import { createResultBatches } from './result-batches.ts'
import { createRetention } from '../retention.ts'
import { withJitter } from './schedule.ts'
import type { EndpointAlerts } from '../management/alerts.ts'
import type { Secrets } from '../management/secrets.ts'
import * as store from './store-endpoint-queues.ts'
import * as subscriptions from '../management/store-subscriptions.ts'
import { createQueueWorker, type QueueWorkerOptions } from './worker.ts'

export type DeliveryQueueDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly eventOutbox: EventOutbox
  /** The pauses between attempts. The sandbox shortens them. There is one attempt more than pauses. */
  readonly retryDelaysMs?: readonly number[]
  readonly limits?: Partial<Limits>
  readonly alerts: EndpointAlerts
}

const purgeRowsMax = 1000
const endpointQueuesPerSweepMax = 100

export function createDeliveryQueue(deps: DeliveryQueueDeps & { readonly secrets: Pick<Secrets, 'signingKeys'> }) {
  const { db, clock, eventOutbox, secrets, alerts, retryDelaysMs = retryDelaysMsDefault } = deps
  assert(
    retryDelaysMs.every((ms) => Number.isSafeInteger(ms) && ms >= 0),
    'a retry delay is a whole number of milliseconds',
  )
  const limits = readLimits(deps.limits ?? {})
  const workerDeps = {
    db,
    clock,
    eventOutbox,
    secrets,
    limits,
    retryDelaysMs,
    record: createResultBatches({ db, clock, alerts }),
  }

  return {
    /** When the oldest event was appended that is not fanned out; null: there is none. */
    oldestEvent: async (): Promise<Date | null> => {
      const id = await eventOutbox.oldestPending(db)
      return id === undefined ? null : momentOfId(id)
    },

    /** Due-work scan: partners with events to fan out, with ids after `after` and in their order. */
    partnersToFanOut: (after: string, partnersMax: number) => eventOutbox.partnersWithPending(db, after, partnersMax),

    fanOut: createFanOut({ clock, eventOutbox }),

    createQueueWorker: (log: Log, options: QueueWorkerOptions) => createQueueWorker({ ...workerDeps, log }, options),

    /**
     * Ends the leases of dead workers. Only where no other worker can be alive: the embedded database has one process.
     */
    releaseLeases: (partnerId: string, tx: Tx = db): Promise<void> => store.releaseAll(tx, partnerId, clock.now()),
    /** Holds the endpoint queues while the partner is moved to another database. */
    holdEndpointQueues: (tx: Tx, partnerId: string): Promise<void> =>
      store.holdAll(tx, partnerId, newId(), after(clock.now(), dayMs)),

    sweep: createSweep({ db, clock, limits }),

    ...createRetention({ db, clock, eventOutbox, limits }),

    limits,
  }
}

type SweepDeps = { readonly db: Database; readonly clock: Clock; readonly limits: Limits }

function createSweep({ db, clock, limits }: SweepDeps) {
  const removeLeftovers = createLeftoverSweep({ db, clock })
  const purgeDeleted = async (): Promise<number> => {
    let dropped = 0
    for (const key of await subscriptions.deletedSubscriptions(db, endpointQueuesPerSweepMax))
      dropped += await db.transaction((tx) => subscriptions.purge(tx, key, purgeRowsMax))
    return dropped
  }

  const wakeSleeping = async (): Promise<number> => {
    let woken = 0
    for (const { partnerId, subscriptionId } of await store.sleepingEndpointQueues(db, endpointQueuesPerSweepMax))
      if (await store.wakeEndpointQueue(db, partnerId, subscriptionId, clock.now())) woken += 1
    return woken
  }

  /** A lease or a rest that ends too late was written before the clock was put back. */
  const shortenLongLeasesAndRests = async (): Promise<number> => {
    const now = clock.now()
    const restMsMax = Math.max(limits.retryAfterMsMax, withJitter(limits.probeMsMax, 1))
    const latest = { leaseUntil: after(now, limits.leaseMs), pausedUntil: after(now, restMsMax + clocksDifferMsMax) }
    const tooLate = { ...latest, leaseUntil: after(latest.leaseUntil, clocksDifferMsMax) }
    const keys = await store.endpointQueuesEndingLater(db, tooLate, endpointQueuesPerSweepMax)
    for (const key of keys) await store.shortenLeaseAndRest(db, key, latest, now)
    return keys.length
  }

  /** Drops the rows of deleted subscriptions in batches, and repairs endpoint queues. Returns how much there was to do. */
  return async (log: Log): Promise<number> =>
    (await purgeDeleted()) + (await wakeSleeping()) + (await shortenLongLeasesAndRests()) + (await removeLeftovers(log))
}

export type DeliveryQueue = ReturnType<typeof createDeliveryQueue>
