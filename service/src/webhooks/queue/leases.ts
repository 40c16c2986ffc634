/**
 * Acquires endpoint queues for a worker: finds those that are due, claims them, renews the leases and acknowledges
 * wake-ups.
 */
import { after, type Clock, type Log } from '../../kernel/index.ts'
import type { Database } from '../../postgres/index.ts'
import * as memory from './endpoint-queue.ts'
import type { HeldQueues } from './held-queues.ts'
import type { Limits } from '../limits.ts'
import type { PerShard } from './shards.ts'
import * as store from './store-endpoint-queues.ts'
import type { SubscriptionKey } from '../management/store-subscriptions.ts'

export type LeaseDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  readonly limits: Limits
  readonly perShard: PerShard
  readonly workerId: string
  readonly held: HeldQueues
}

/** `upTo`: the number of the feed up to which fan-out announced rows of the subscription. */
export type ClaimKey = SubscriptionKey & { readonly upTo?: bigint }

const endpointQueuesPerClaimMax = 200

export function createLeases({ db, clock, log, limits, perShard, workerId, held }: LeaseDeps) {
  const leaseEnd = () => after(clock.now(), limits.leaseMs)

  /** Claims those that are free. Returns how many. */
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

    /** Finds endpoint queues that are due: claims the free ones, and acknowledges wake-ups of held ones. Returns how many it claimed. */
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
          log.warn({ subscriptionId }, 'endpoint queue lost: its lease ended and another worker claimed it')
          held.remove(queue)
        }
      }
    },
  }
}

export type Leases = ReturnType<typeof createLeases>

/**
 * Renews after a third of the lease; at once if the clock was put back, because no other worker could claim it for
 * hours.
 */
function needsRenewal({ leaseUntil }: memory.EndpointQueue, now: Date, limits: Limits): boolean {
  const restMs = leaseUntil.getTime() - now.getTime()
  return restMs < (limits.leaseMs * 2) / 3 || restMs > limits.leaseMs
}
