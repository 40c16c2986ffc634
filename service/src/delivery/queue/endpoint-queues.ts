/** The verbs of endpoint queues, as the worker that holds them uses them: find, claim, hear, renew, read, release. */
import { after, type Clock } from '../../kernel/index.ts'
import type { EventOutbox } from '../../events/index.ts'
import type { Database } from '../../postgres/index.ts'
import type { Health } from './health.ts'
import type { Owed, Target } from './endpoint-queue.ts'
import type { Limits } from '../limits.ts'
import type { Secrets } from '../management/secrets.ts'
import * as store from './store-endpoint-queues.ts'
import * as queue from './store-queue.ts'
import { completeOrder, type SubscriptionKey, targetsOf } from '../management/store-subscriptions.ts'

/** Of one transaction: other endpoint queues wait for it, and leases are renewed between two. */
const rowsMarkedMax = 2000

export type EndpointQueuesDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly eventOutbox: EventOutbox
  readonly secrets: Pick<Secrets, 'signingKeys'>
  readonly sharded: boolean
  readonly limits: Limits
}

export type ReadRows = {
  readonly fresh: readonly (queue.QueueRow & { readonly blocked: boolean })[]
  readonly due: readonly queue.QueueRow[]
}

export type Wanting = queue.RowsRequest & { readonly fresh: boolean; readonly due: boolean }

export type EndpointQueues = ReturnType<typeof createEndpointQueues>

export function createEndpointQueues({ db, clock, eventOutbox, secrets, sharded, limits }: EndpointQueuesDeps) {
  /** A statement of many endpoint queues is of one partner where the database is sharded by them. */
  const apart = async <K extends SubscriptionKey, T>(
    keys: readonly K[],
    work: (keys: readonly K[]) => Promise<readonly T[]>,
  ): Promise<readonly T[]> => {
    if (keys.length === 0) return []
    if (!sharded) return work(keys)
    const all: T[] = []
    for (const group of Map.groupBy(keys, (key) => key.partnerId).values()) all.push(...(await work(group)))
    return all
  }
  const until = () => after(clock.now(), limits.leaseMs)

  return {
    /** Due-work scan: endpoint queues to claim, and endpoint queues of this worker that somebody else has woken (`mine`). */
    due: (workerId: string, endpointQueuesMax: number) =>
      store.dueEndpointQueues(db, workerId, clock.now(), endpointQueuesMax),

    /** Those of the endpoint queues that nobody held, from now on held by this worker. */
    claim: async (workerId: string, keys: readonly SubscriptionKey[]) => {
      const leaseUntil = until()
      const claimed = await apart(keys, (some) =>
        store.claimEndpointQueues(db, some, workerId, clock.now(), leaseUntil),
      )
      return { claimed, leaseUntil }
    },

    /** Those that are still held, and until when. */
    renew: async (workerId: string, keys: readonly SubscriptionKey[]) => {
      const leaseUntil = until()
      return {
        held: new Set(
          await apart(keys, (some) => store.renewEndpointQueues(db, some, workerId, clock.now(), leaseUntil)),
        ),
        leaseUntil,
      }
    },

    hear: (workerId: string, keys: readonly SubscriptionKey[]): Promise<readonly (SubscriptionKey & Health)[]> =>
      apart(keys, (some) => store.acknowledgeWakeUps(db, some, workerId)),

    /** Free again, and due when there is something to do: at once, where a row is there that the worker knew nothing of. */
    release: (workerId: string, rows: readonly store.Release[]): Promise<readonly string[]> =>
      apart(rows, (some) =>
        db.transaction(async (tx) => {
          const held = await store.lockHeld(tx, some, workerId)
          const releases = some.filter((row) => held.includes(row.subscriptionId))
          if (releases.length > 0) await store.releaseEndpointQueues(tx, releases, clock.now())
          return held
        }),
      ),

    /** Where each of the endpoint queues delivers, and what signs; none where it is disabled or deleted. */
    targets: async (keys: readonly SubscriptionKey[]): Promise<ReadonlyMap<string, Target>> => {
      const now = clock.now()
      const [rows, signing] = await Promise.all([
        apart(keys, (some) => targetsOf(db, some)),
        apart(keys, async (some) => [...(await secrets.signingKeys(db, some, now))]),
      ])
      const byId = new Map(signing)
      return new Map(
        rows.map(({ subscriptionId, url, ordered, orderPending, updatedAt }) => [
          subscriptionId,
          { url, ordered, orderPending, updatedAt, ...(byId.get(subscriptionId) ?? { keys: [], until: null }) },
        ]),
      )
    },

    /**
     * Of a endpoint queue that has become ordered: marks the next of what it is owed, behind `after`. Answers how far it came;
     * undefined: all is marked, and it may be read.
     */
    mark: (key: SubscriptionKey, orderPending: string, after: string): Promise<string | undefined> =>
      db.transaction(async (tx) => {
        const last = await queue.markOrdered(tx, key, after, rowsMarkedMax)
        if (last === undefined) await completeOrder(tx, key, orderPending)
        return last
      }),

    /** What the endpoint queues are owed: new, by number, and due again, by time, up to `rowsMax` of each. */
    read: async (wanted: readonly Wanting[], rowsMax: number): Promise<ReadRows> => {
      const [fresh, due] = await Promise.all([
        apart(
          wanted.filter((endpointQueue) => endpointQueue.fresh),
          (some) => queue.newRows(db, some, rowsMax),
        ),
        apart(
          wanted.filter((endpointQueue) => endpointQueue.due),
          (some) => queue.scheduledRows(db, some, rowsMax),
        ),
      ])
      return { fresh, due }
    },

    /** The first of each reference that is still there. */
    firsts: (wanted: readonly (SubscriptionKey & { readonly reference: string })[]) =>
      apart(wanted, (some) => queue.firstRowsOfReferences(db, some)),

    /** The rows with their payloads. One without is never to be: what is owed keeps its event. */
    withData: async (
      rows: readonly (SubscriptionKey & { readonly row: queue.QueueRow })[],
    ): Promise<readonly Owed[]> => {
      const keys = new Map(
        rows.map(({ partnerId, row }) => [row.eventId, { partnerId, eventId: row.eventId, subscriptionId: '' }]),
      )
      const events = await apart([...keys.values()], (some) => eventOutbox.byIds(db, some))
      const data = new Map(events.map((event) => [event.id, event.data]))
      return rows.flatMap(({ row }) => {
        const text = data.get(row.eventId)
        return text === undefined ? [] : [{ ...row, data: text }]
      })
    },
  }
}
