/**
 * Acquires endpoint queues for a worker: finds those that are due, claims them, renews the leases and acknowledges
 * wake-ups.
 */
import { after, type Clock, type Log } from '../../kernel/index.ts'
import type { Database } from '../../postgres/index.ts'
import * as memory from './endpoint-queue.ts'
import type { DeliveryLimits } from '../limits.ts'
import type { PerShard } from './shards.ts'
import * as store from './store-endpoint-queues.ts'
import type { SubscriptionKey } from '../management/store-subscriptions.ts'

export type LeaseDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  readonly limits: DeliveryLimits
  readonly perShard: PerShard
  readonly workerId: string
  readonly held: memory.HeldQueues
}

/** `upTo`: the number of the feed up to which fan-out announced rows of the subscription. */
type ClaimKey = SubscriptionKey & { readonly upTo?: bigint }

const endpointQueuesPerClaimMax = 200

export function createLeases({ db, clock, log, limits, perShard, workerId, held }: LeaseDeps) {
  const leaseEnd = () => after(clock.now(), limits.leaseMs)

  /** Claims the free endpoint queues of these keys. Returns their number. */
  const claim = async (keys: readonly ClaimKey[]): Promise<number> => {
    const wanted = keys
      .filter((key) => !held.has(key.subscriptionId))
      .slice(0, Math.max(0, limits.endpointQueuesMax - held.size()))
    if (wanted.length === 0) return 0
    const leaseUntil = leaseEnd()
    const claimed = await perShard(wanted, (some) =>
      store.claimEndpointQueues(db, some, workerId, clock.now(), leaseUntil),
    )
    const upTo = new Map(wanted.map((key) => [key.subscriptionId, key.upTo]))
    const now = clock.now()
    for (const { partnerId, subscriptionId, ...health } of claimed) {
      const key = { partnerId, subscriptionId }
      held.add(memory.createEndpointQueue(key, health, leaseUntil, now, upTo.get(subscriptionId)))
    }
    return claimed.length
  }

  const acknowledgeWakeUps = async (keys: readonly SubscriptionKey[]): Promise<void> => {
    const now = clock.now()
    const woken = await perShard(keys, (some) => store.acknowledgeWakeUps(db, some, workerId))
    for (const { partnerId: _partnerId, subscriptionId, ...health } of woken) {
      const queue = held.get(subscriptionId)
      if (queue === undefined) continue
      memory.wakeUp(queue, health, now)
      held.toRead.add(queue)
    }
  }

  return {
    claim,

    /** Claims free endpoint queues that are due, and acknowledges wake-ups of held ones. Returns the number claimed. */
    claimDue: async (): Promise<number> => {
      const due = await store.dueEndpointQueues(db, workerId, clock.now(), endpointQueuesPerClaimMax)
      await acknowledgeWakeUps(due.filter((key) => key.isHeld && held.has(key.subscriptionId)))
      return claim(due)
    },

    /** Renews the leases that need it. Removes endpoint queues that another worker has claimed. */
    renew: async (): Promise<void> => {
      const now = clock.now()
      const ending = [...held.all()].filter((queue) => needsRenewal(queue, now, limits))
      const leaseUntil = leaseEnd()
      const keys = ending.map((queue) => queue.key)
      const renewed = new Set(
        await perShard(keys, (some) => store.renewEndpointQueues(db, some, workerId, clock.now(), leaseUntil)),
      )
      for (const queue of ending) {
        const { subscriptionId } = queue.key
        if (renewed.has(subscriptionId)) {
          memory.renewLease(queue, leaseUntil)
          held.startable.add(queue)
        } else {
          log.warn({ subscriptionId }, 'endpoint queue lost: its lease expired and another worker claimed it')
          held.remove(queue)
        }
      }
    },
  }
}

export type Leases = ReturnType<typeof createLeases>

/**
 * Reports whether a third of the lease has passed, or the clock was set back: no other worker could then claim the queue for hours.
 */
function needsRenewal({ leaseUntil }: memory.EndpointQueue, now: Date, limits: DeliveryLimits): boolean {
  const restMs = leaseUntil.getTime() - now.getTime()
  return restMs < (limits.leaseMs * 2) / 3 || restMs > limits.leaseMs
}

// Releases endpoint queues that are idle or resting, and all of them when the worker stops.

/** Higher than every number of a feed. */
const sequenceMax = 2n ** 63n - 1n

/** Returns the state to store at the release. The next holder reads the rows in memory again. */
function leaseRelease(queue: memory.EndpointQueue, now: Date): store.LeaseRelease {
  if (queue.closing) return { ...queue.key, readUpTo: sequenceMax, ...queue.closing }
  const hasRows = memory.waitingCount(queue) + queue.inFlight.size > 0
  return {
    ...queue.key,
    readUpTo: hasRows ? 0n : queue.readUpTo,
    dueAt: hasRows ? now : queue.nextDueAt,
    closed: false,
  }
}

/** Releases held endpoint queues. Locks the rows first, so that a concurrent wake-up has committed and is not lost. */
async function releaseHeld(
  db: Database,
  workerId: string,
  releases: readonly store.LeaseRelease[],
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
  const release = async (queues: readonly memory.EndpointQueue[]): Promise<void> => {
    for (const queue of queues) held.remove(queue)
    const now = clock.now()
    const releases = queues.map((queue) => leaseRelease(queue, now))
    await perShard(releases, (some) => releaseHeld(db, workerId, some, clock))
  }

  /** Reports whether the endpoint queue is idle and may be released. Resets its idle time if it has work. */
  const isIdle = (queue: memory.EndpointQueue, now: Date, monotonicMs: number): boolean => {
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
    /** Releases resting endpoint queues at once, and idle ones after `lingerMs`. */
    releaseIdle: async (): Promise<void> => {
      const now = clock.now()
      const monotonicMs = performance.now()
      await release([...held.all()].filter((queue) => isIdle(queue, now, monotonicMs)))
    },
  }
}

export type Releases = ReturnType<typeof createReleases>
