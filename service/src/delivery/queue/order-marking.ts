/**
 * The switch of a subscription to `ordered`: its rows enter the index by reference, in steps. README.md, "Ordered
 * subscriptions", explains why no row is read before the last step.
 */
import { assert, type Log } from '../../kernel/index.ts'
import type { Database } from '../../postgres/index.ts'
import { type EndpointQueue, type OrderMarking, setOrderMarking } from './endpoint-queue.ts'
import { markOrdered } from './store-queue.ts'
import { completeOrder, type SubscriptionKey } from '../management/store-subscriptions.ts'

/** Limit of one transaction: other endpoint queues wait for it, and leases are renewed between two. */
const rowsPerStepMax = 2000

export type OrderMarkingDeps = { readonly db: Database; readonly log: Log }

export function createOrderMarking({ db, log }: OrderMarkingDeps) {
  const markNext = (key: SubscriptionKey, { orderPending, last }: OrderMarking): Promise<OrderMarking | undefined> =>
    db.transaction(async (tx) => {
      const next = await markOrdered(tx, key, last, rowsPerStepMax)
      if (next !== undefined) return { orderPending, last: next }
      await completeOrder(tx, key, orderPending)
      return undefined
    })

  /** Marks the next rows of an endpoint queue that is being marked. False if it failed. */
  return async (queue: EndpointQueue): Promise<boolean> => {
    const { key, orderMarking } = queue
    assert(orderMarking !== undefined, 'only an endpoint queue that is being marked has rows to mark')
    try {
      setOrderMarking(queue, await markNext(key, orderMarking))
      return true
    } catch (error) {
      const { subscriptionId } = key
      log.error({ err: error, subscriptionId }, 'rows of an ordered subscription cannot be marked; its deliveries wait')
      return false
    }
  }
}
