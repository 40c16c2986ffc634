/** The verbs of lanes, as the worker that holds them uses them: find, claim, hear, renew, read, release. */
import { after, type Clock } from '../../kernel/index.ts'
import type { Outbox } from '../../events/index.ts'
import type { Database } from '../../postgres/index.ts'
import type { Health } from './health.ts'
import type { Owed, Target } from './endpoint-queue.ts'
import type { Limits } from '../limits.ts'
import type { Secrets } from '../management/secrets.ts'
import * as store from './store-endpoint-queues.ts'
import * as queue from './store-queue.ts'
import { completeOrder, type SubscriptionKey, targetsOf } from '../management/store-subscriptions.ts'

/** Of one transaction: other lanes wait for it, and leases are renewed between two. */
const rowsMarkedMax = 2000

export type LanesDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly outbox: Outbox
  readonly secrets: Pick<Secrets, 'signingKeys'>
  readonly sharded: boolean
  readonly limits: Limits
}

export type ReadRows = {
  readonly fresh: readonly (queue.OwedRow & { readonly blocked: boolean })[]
  readonly due: readonly queue.OwedRow[]
}

export type Wanting = queue.Wanted & { readonly fresh: boolean; readonly due: boolean }

export type Lanes = ReturnType<typeof createLanes>

export function createLanes({ db, clock, outbox, secrets, sharded, limits }: LanesDeps) {
  /** A statement of many lanes is of one partner where the database is sharded by them. */
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
    /** Due-work scan: lanes to claim, and lanes of this worker that somebody else has woken (`mine`). */
    due: (workerId: string, lanesMax: number) => store.dueLanes(db, workerId, clock.now(), lanesMax),

    /** Those of the lanes that nobody held, from now on held by this worker. */
    claim: async (workerId: string, keys: readonly SubscriptionKey[]) => {
      const leaseUntil = until()
      const claimed = await apart(keys, (some) => store.claimLanes(db, some, workerId, clock.now(), leaseUntil))
      return { claimed, leaseUntil }
    },

    /** Those that are still held, and until when. */
    renew: async (workerId: string, keys: readonly SubscriptionKey[]) => {
      const leaseUntil = until()
      return {
        held: new Set(await apart(keys, (some) => store.renewLanes(db, some, workerId, clock.now(), leaseUntil))),
        leaseUntil,
      }
    },

    hear: (workerId: string, keys: readonly SubscriptionKey[]): Promise<readonly (SubscriptionKey & Health)[]> =>
      apart(keys, (some) => store.hearLanes(db, some, workerId)),

    /** Free again, and due when there is something to do: at once, where a row is there that the worker knew nothing of. */
    release: (workerId: string, rows: readonly store.Release[]): Promise<readonly string[]> =>
      apart(rows, (some) =>
        db.transaction(async (tx) => {
          const held = await store.lockHeld(tx, some, workerId)
          const releases = some.filter((row) => held.includes(row.subscriptionId))
          if (releases.length > 0) await store.releaseLanes(tx, releases, clock.now())
          return held
        }),
      ),

    /** Where each of the lanes delivers, and what signs; none where it is disabled or deleted. */
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
     * Of a lane that has become ordered: marks the next of what it is owed, behind `after`. Answers how far it came;
     * undefined: all is marked, and it may be read.
     */
    mark: (key: SubscriptionKey, orderPending: string, after: string): Promise<string | undefined> =>
      db.transaction(async (tx) => {
        const last = await queue.markOrdered(tx, key, after, rowsMarkedMax)
        if (last === undefined) await completeOrder(tx, key, orderPending)
        return last
      }),

    /** What the lanes are owed: new, by number, and due again, by time, up to `rowsMax` of each. */
    read: async (wanted: readonly Wanting[], rowsMax: number): Promise<ReadRows> => {
      const [fresh, due] = await Promise.all([
        apart(
          wanted.filter((lane) => lane.fresh),
          (some) => queue.freshRows(db, some, rowsMax),
        ),
        apart(
          wanted.filter((lane) => lane.due),
          (some) => queue.dueRows(db, some, rowsMax),
        ),
      ])
      return { fresh, due }
    },

    /** The first of each reference that is still there. */
    firsts: (wanted: readonly (SubscriptionKey & { readonly reference: string })[]) =>
      apart(wanted, (some) => queue.firstsOf(db, some)),

    /** The rows with their payloads. One without is never to be: what is owed keeps its event. */
    withData: async (
      rows: readonly (SubscriptionKey & { readonly row: queue.OwedRow })[],
    ): Promise<readonly Owed[]> => {
      const keys = new Map(
        rows.map(({ partnerId, row }) => [row.eventId, { partnerId, eventId: row.eventId, subscriptionId: '' }]),
      )
      const events = await apart([...keys.values()], (some) => outbox.byIds(db, some))
      const data = new Map(events.map((event) => [event.id, event.data]))
      return rows.flatMap(({ row }) => {
        const text = data.get(row.eventId)
        return text === undefined ? [] : [{ ...row, data: text }]
      })
    },
  }
}
