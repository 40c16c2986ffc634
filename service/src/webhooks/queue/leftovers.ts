/**
 * Finds and removes leftovers: queue rows of deliveries that are recorded as delivered. The endpoint would receive the event
 * again, and the result could not be recorded. No transaction leaves such rows; earlier versions did.
 */
import { type Clock, type Log, nilId } from '../../kernel/index.ts'
import type { Database } from '../../postgres/index.ts'
import type { SubscriptionKey } from '../management/store-subscriptions.ts'
import { createPerReachableShard } from './shards.ts'
import { subtractOwed, wakeEndpointQueue } from './store-endpoint-queues.ts'
import * as store from './store-queue.ts'

/** About 50 ms every ten seconds. A queue of 200,000 rows is examined in 17 minutes. */
const rowsPerSweepMax = 2000
const start: store.QueueKey = { partnerId: nilId, subscriptionId: nilId, eventId: nilId }

type Deps = { readonly db: Database; readonly clock: Clock }

export function createLeftoverSweep({ db, clock }: Deps) {
  let after = start

  const remove = (key: SubscriptionKey, eventIds: readonly string[]): Promise<number> =>
    db.transaction(async (tx) => {
      const { partnerId, subscriptionId } = key
      // Locks the endpoint queue. A redelivery, which moves a row back to the queue, holds the same lock.
      if (!(await wakeEndpointQueue(tx, partnerId, subscriptionId, clock.now()))) return 0
      const removed = await store.deleteLeftovers(tx, key, eventIds)
      if (removed > 0) await subtractOwed(tx, [{ ...key, count: BigInt(removed) }])
      return removed
    })

  /** Examines the next part of the queue, and starts again after its end. Returns how many it removed. */
  return async (log: Log): Promise<number> => {
    const perReachableShard = createPerReachableShard({ db, log })
    const queued = await store.queuedBehind(db, after, rowsPerSweepMax)
    const leftovers = await perReachableShard(queued, (rows) => store.leftoversOf(db, rows))
    after = (queued.length === rowsPerSweepMax ? queued.at(-1) : undefined) ?? start
    let removed = 0
    for (const rows of Map.groupBy(leftovers, (row) => row.subscriptionId).values()) {
      const [first] = rows
      if (first)
        removed += await remove(
          first,
          rows.map((row) => row.eventId),
        )
    }
    return removed
  }
}
