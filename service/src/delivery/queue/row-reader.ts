/** Reads rows of the queue for many endpoint queues at once, and the payloads of their events. */
import type { EventOutbox } from '../../events/index.ts'
import type { Database } from '../../postgres/index.ts'
import type { EndpointQueue, ReadRequest } from './endpoint-queue.ts'
import type { PerShard } from './shards.ts'
import * as store from './store-queue.ts'

export type RowReaderDeps = {
  readonly db: Database
  readonly eventOutbox: EventOutbox
  readonly perShard: PerShard
}

type NewRow = store.QueueRow & { readonly blocked: boolean }

/** Rows that a read found for one endpoint queue. */
export type FoundRows = {
  readonly newRows: readonly NewRow[]
  readonly scheduledRows: readonly store.QueueRow[]
  /** The first rows of references that were unblocked. */
  readonly firstRows: readonly store.QueueRow[]
}

export type FoundRow = { readonly endpointQueue: EndpointQueue; readonly row: store.QueueRow }

export function createRowReader({ db, eventOutbox, perShard }: RowReaderDeps) {
  return {
    /** Reads up to `rowsMax` new and scheduled rows for each request. Returns a lookup by subscription. */
    read: async (requests: readonly ReadRequest[], rowsMax: number) => {
      const references = requests.flatMap(({ partnerId, subscriptionId, unblockedReferences }) =>
        unblockedReferences.map((reference) => ({ partnerId, subscriptionId, reference })),
      )
      const [newRows, scheduledRows, firstRows] = await Promise.all([
        perShard(
          requests.filter((request) => request.readsNew),
          (some) => store.newRows(db, some, rowsMax),
        ),
        perShard(
          requests.filter((request) => request.readsScheduled),
          (some) => store.scheduledRows(db, some, rowsMax),
        ),
        perShard(references, (some) => store.firstRowsOfReferences(db, some)),
      ])
      const [newOf, scheduledOf, firstOf] = [
        bySubscription(newRows),
        bySubscription(scheduledRows),
        bySubscription(firstRows),
      ]
      return (subscriptionId: string): FoundRows => ({
        newRows: newOf.get(subscriptionId) ?? [],
        scheduledRows: scheduledOf.get(subscriptionId) ?? [],
        firstRows: firstOf.get(subscriptionId) ?? [],
      })
    },

    /** The payloads of the rows' events, by event. */
    readPayloads: async (rows: readonly FoundRow[]): Promise<ReadonlyMap<string, string>> => {
      const keys = new Map(rows.map(({ endpointQueue: { key }, row: { eventId } }) => [eventId, { ...key, eventId }]))
      const events = await perShard([...keys.values()], (some) => eventOutbox.byIds(db, some))
      return new Map(events.map((event) => [event.id, event.data]))
    },
  }
}

const bySubscription = <T extends store.QueueRow>(rows: readonly T[]): ReadonlyMap<string, T[]> =>
  Map.groupBy(rows, (row) => row.subscriptionId)

export type RowReader = ReturnType<typeof createRowReader>
