/** Releases endpoint queues: after a time without work, while they rest, and when the worker stops. */
import type { Clock } from '../../kernel/index.ts'
import type { Database } from '../../postgres/index.ts'
import type { EndpointQueue } from './endpoint-queue.ts'
import * as memory from './endpoint-queue.ts'
import type { LeaseDeps } from './leases.ts'
import * as store from './store-endpoint-queues.ts'

/** Higher than every number of a feed. */
const sequenceMax = 2n ** 63n - 1n

/** Rows in memory are read again by the next holder. */
function releaseOf(queue: EndpointQueue, now: Date): store.Release {
  if (queue.closing) return { ...queue.key, readUpTo: sequenceMax, ...queue.closing }
  const hasRows = memory.waitingCount(queue) + queue.inFlight.size > 0
  return {
    ...queue.key,
    readUpTo: hasRows ? 0n : queue.readUpTo,
    dueAt: hasRows ? now : queue.nextDueAt,
    closed: false,
  }
}

/** Locks the rows first: a transaction that was waking an endpoint queue has committed then, so no wake-up is lost. */
async function releaseHeld(
  db: Database,
  workerId: string,
  releases: readonly store.Release[],
  clock: Clock,
): Promise<readonly string[]> {
  return db.transaction(async (tx) => {
    const held = await store.lockHeld(tx, releases, workerId)
    const stillHeld = releases.filter((release) => held.includes(release.subscriptionId))
    if (stillHeld.length > 0) await store.releaseEndpointQueues(tx, stillHeld, clock.now())
    return held
  })
}

export function createReleases({ db, clock, limits, perShard, workerId, held }: LeaseDeps) {
  const release = async (queues: readonly EndpointQueue[]): Promise<void> => {
    for (const queue of queues) held.remove(queue)
    const now = clock.now()
    const releases = queues.map((queue) => releaseOf(queue, now))
    await perShard(releases, (some) => releaseHeld(db, workerId, some, clock))
  }

  /** Reports whether it has nothing to do and may be released. Marks it if it has something to do. */
  const isIdle = (queue: EndpointQueue, now: Date, monotonicMs: number): boolean => {
    if (memory.needsRead(queue, now, limits)) {
      held.toRead.add(queue)
      return false
    }
    if (queue.inFlight.size > 0) return false
    if (queue.closing || memory.isResting(queue, now)) return true
    if (memory.countStartable(queue, 1) > 0) {
      held.startable.add(queue)
      return false
    }
    return memory.idleMs(queue, monotonicMs) >= limits.lingerMs
  }

  return {
    release,
    /** Releases resting endpoint queues at once, and those without work after `lingerMs`. */
    releaseIdle: async (): Promise<void> => {
      const now = clock.now()
      const monotonicMs = performance.now()
      await release([...held.all()].filter((queue) => isIdle(queue, now, monotonicMs)))
    },
  }
}

export type Releases = ReturnType<typeof createReleases>
