/** The endpoint queues that a worker holds, by subscription. */
import type { EndpointQueue } from './endpoint-queue.ts'

export function createHeldQueues() {
  const bySubscription = new Map<string, EndpointQueue>()
  /**
   * Endpoint queues that may be able to start an attempt. They take turns: after a start an endpoint queue goes to the
   * end.
   */
  const startable = new Set<EndpointQueue>()
  /** Endpoint queues that the next step of the worker reads. */
  const toRead = new Set<EndpointQueue>()
  return {
    startable,
    toRead,
    get: (subscriptionId: string): EndpointQueue | undefined => bySubscription.get(subscriptionId),
    has: (subscriptionId: string): boolean => bySubscription.has(subscriptionId),
    size: (): number => bySubscription.size,
    all: (): MapIterator<EndpointQueue> => bySubscription.values(),
    /** False after the loss of the lease, even if the worker has claimed the same subscription again. */
    isHeld: (queue: EndpointQueue): boolean => bySubscription.get(queue.key.subscriptionId) === queue,
    add: (queue: EndpointQueue): void => {
      bySubscription.set(queue.key.subscriptionId, queue)
      toRead.add(queue)
    },
    remove: (queue: EndpointQueue): void => {
      bySubscription.delete(queue.key.subscriptionId)
      startable.delete(queue)
      toRead.delete(queue)
    },
  }
}

export type HeldQueues = ReturnType<typeof createHeldQueues>
