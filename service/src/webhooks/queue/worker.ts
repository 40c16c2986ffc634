/**
 * A queue worker: it holds endpoint queues, keeps their next rows in memory, and starts attempts. Only the holder of an
 * endpoint queue works on its rows, so no attempt needs a claim of its own. README.md explains the design.
 */
import { type Clock, type Log, newId } from '../../kernel/index.ts'
import type { EventOutbox } from '../../events/index.ts'
import type { Database } from '../../postgres/index.ts'
import { type Attempts, createAttempts } from './attempts.ts'
import type { Attempt, NewDeliveries } from './attempt.ts'
import type { EndpointQueue } from './endpoint-queue.ts'
import * as memory from './endpoint-queue.ts'
import { createHeldQueues, type HeldQueues } from './held-queues.ts'
import { createLeases, type Leases } from './leases.ts'
import type { Limits } from '../limits.ts'
import { createPrefetch, type Prefetch } from './prefetch.ts'
import { createReleases, type Releases } from './releases.ts'
import type { AttemptToRecord } from './result-batches.ts'
import { createResultRecording } from './result-recording.ts'
import type { Verdict } from './schedule.ts'
import type { Secrets } from '../management/secrets.ts'
import { createPerReachableShard, createPerShard } from './shards.ts'
import { createSlots } from './slots.ts'

export type QueueWorkerDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  readonly eventOutbox: EventOutbox
  readonly secrets: Pick<Secrets, 'signingKeys'>
  readonly record: (attempt: AttemptToRecord) => Promise<Verdict | 'stale'>
  readonly limits: Limits
  readonly retryDelaysMs: readonly number[]
}

export type QueueWorkerOptions = {
  /** Makes the attempt, and calls `recordResult` or `returnToQueue` at its end. */
  readonly begin: (attempt: Attempt) => void
  /** Called when `step` has work to do. */
  readonly wake: () => void
  readonly pause: (ms: number) => Promise<void>
  readonly inFlightMax?: number | undefined
  /** The interval at which due endpoint queues are looked for, and held ones are renewed and released. */
  readonly idleMs: number
}

/** Rows from fan-out that a worker keeps in memory. Further ones are read when their endpoint queue needs them. */
const rowsFromFanOutMax = 20_000

export function createQueueWorker(deps: QueueWorkerDeps, options: QueueWorkerOptions) {
  const { clock, limits } = deps
  const { begin, wake, pause, idleMs } = options
  const workerId = newId()
  const held = createHeldQueues()
  const slots = createSlots(options.inFlightMax ?? limits.inFlightMax)
  const shared = { ...deps, workerId, held, slots, perShard: createPerShard(deps) }
  const reachable = { ...shared, perShard: createPerReachableShard(deps) }
  const leases = createLeases(reachable)
  const releases = createReleases(reachable)
  const attempts = createAttempts({ ...shared, begin, wake })
  const prefetch = createPrefetch({ ...shared, releases })
  /** Subscriptions with new deliveries whose endpoint queues this worker does not hold. */
  const toClaim = new Map<string, NewDeliveries>()
  const { step, maintainSoon } = createStep({ idleMs, toClaim, leases, releases, prefetch, attempts })

  const onSlotFree = (queue: EndpointQueue | undefined) => {
    if (queue !== undefined) {
      held.startable.add(queue)
      if (queue.unblockedReferences.size > 0) held.toRead.add(queue)
      if (memory.isLeaseUncertain(queue)) {
        maintainSoon()
        wake()
      }
    }
    attempts.startSoon()
  }

  return {
    workerId,
    /** Attempts in flight. */
    inFlight: slots.taken,

    /** Takes deliveries that fan-out has just committed. They start at once where no read is needed first. */
    addNewDeliveries: (added: readonly NewDeliveries[]): void => {
      for (const unheld of addToHeld(added, { clock, limits, held })) toClaim.set(unheld.subscriptionId, unheld)
      attempts.start()
      wake()
    },

    step,

    /** Reports whether it holds endpoint queues, or will soon: then it must run every `idleMs`. */
    isHolding: (): boolean => held.size() > 0 || toClaim.size > 0,

    ...createResultRecording({ ...shared, attempts, pause, onSlotFree }),

    /** Starts no further attempts. */
    stop: attempts.stop,
    /** Releases every endpoint queue. */
    close: async (): Promise<void> => {
      attempts.stop()
      await releases.release([...held.all()])
    },
  }
}

type StepParts = {
  readonly idleMs: number
  readonly toClaim: Map<string, NewDeliveries>
  readonly leases: Leases
  readonly releases: Releases
  readonly prefetch: Prefetch
  readonly attempts: Attempts
}

function createStep({ idleMs, toClaim, leases, releases, prefetch, attempts }: StepParts) {
  let maintainedAtMs = -Infinity

  const read = async (): Promise<number> => {
    const rows = await prefetch()
    attempts.start()
    return rows
  }

  /** Renews leases, claims what is due, releases what is idle. Returns how many endpoint queues it claimed. */
  const maintain = async (): Promise<number> => {
    await leases.renew()
    const claimed = await leases.claimDue()
    await releases.releaseIdle()
    maintainedAtMs = performance.now()
    return claimed
  }

  return {
    /** Claims and reads, and maintains the leases when it is time. Returns how much there was to do. */
    step: async (): Promise<number> => {
      const announced = [...toClaim.values()]
      toClaim.clear()
      // Before the maintenance, because these deliveries are new and due.
      let done = (await leases.claim(announced)) + (await read())
      if (performance.now() - maintainedAtMs >= idleMs) done += (await maintain()) + (await read())
      return done
    },
    /** The next step maintains the leases. */
    maintainSoon: (): void => void (maintainedAtMs = -Infinity),
  }
}

/** Returns what belongs to endpoint queues that are not held, without the rows: their claim reads them. */
function addToHeld(
  added: readonly NewDeliveries[],
  { clock, limits, held }: { readonly clock: Clock; readonly limits: Limits; readonly held: HeldQueues },
): readonly NewDeliveries[] {
  const now = clock.now()
  let space = rowsFromFanOutMax
  for (const queue of held.all()) space -= memory.waitingCount(queue)
  const unheld: NewDeliveries[] = []
  for (const deliveries of added) {
    const queue = held.get(deliveries.subscriptionId)
    if (queue === undefined) unheld.push({ ...deliveries, rows: [] })
    else if (memory.addNewDeliveries(queue, deliveries, now, space)) {
      space -= deliveries.rows.length
      held.startable.add(queue)
    } else if (memory.needsRead(queue, now, limits)) held.toRead.add(queue)
  }
  return unheld
}

export type QueueWorker = ReturnType<typeof createQueueWorker>
