/** Reads rows of the queue into the memory of the endpoint queues: one read at a time, for all that need one. */
import { after, assert, type Clock, type Log } from '../../kernel/index.ts'
import * as memory from './endpoint-queue.ts'
import { type DeliveryLimits, errorRestMs } from '../limits.ts'
import type { Releases } from './leases.ts'
import * as store from './store-queue.ts'
import { createPerReachableShard, type PerShard } from './shards.ts'
import type { Database } from '../../postgres/index.ts'
import { completeOrder, type SubscriptionKey, listTargets } from '../management/store-subscriptions.ts'
import type { Secrets } from '../management/secrets.ts'
import type { EventOutbox } from '../../events/index.ts'

type PrefetchDeps = TargetDeps &
  RowReaderDeps & { readonly limits: DeliveryLimits; readonly held: memory.HeldQueues; readonly releases: Releases }

/** Limit of one read, for one endpoint queue and one kind (new, scheduled). */
const rowsPerReadMax = 64

export function createPrefetch(deps: PrefetchDeps) {
  const { clock, limits, held, releases } = deps
  const readInto = createReadInto(deps)
  const perShard = createPerReachableShard(deps)

  /** Reads rows for all endpoint queues that need them. Returns their number. */
  return async (): Promise<number> => {
    const queues = [...held.toRead].filter(held.isHeld)
    held.toRead.clear()
    if (queues.length === 0) return 0
    const now = clock.now()
    const readOrPutBack = async (some: readonly memory.EndpointQueue[]) => {
      try {
        return [await readInto(some)]
      } catch (error) {
        for (const queue of some) {
          memory.discardRows(queue, now)
          held.toRead.add(queue)
        }
        throw error
      }
    }
    const reads = await perShard(
      queues.map((queue) => ({ ...queue.key, queue })),
      (keys) => readOrPutBack(keys.map(({ queue }) => queue)),
    )
    const rows = reads.reduce((sum, count) => sum + count, 0)
    await releases.release(queues.filter((queue) => queue.closing !== undefined && queue.inFlight.size === 0))
    for (const queue of queues.filter(held.isHeld)) {
      held.startable.add(queue)
      if (memory.needsRead(queue, now, limits)) held.toRead.add(queue)
    }
    return rows
  }
}

export type Prefetch = ReturnType<typeof createPrefetch>

type TargetEffect =
  /** The rows of the read can be used. */
  | 'deliverable'
  /** The subscription became ordered after these rows were read: read them again. */
  | 'becameOrdered'
  /** The rows of the subscription have to be marked before they can be read. */
  | 'needsMarking'
  | 'closed'

/** Reads targets and rows at the same time, because a change of an endpoint must take effect at once. */
function createReadInto(deps: PrefetchDeps) {
  const { clock } = deps
  const readTargets = createTargetReader(deps)
  const rowReader = createRowReader(deps)
  const markOrder = createOrderMarking(deps)
  const addWithPayloads = createAddWithPayloads(deps, rowReader)
  const rest = (): memory.QueueClosing => ({ closed: false, dueAt: after(clock.now(), errorRestMs) })

  const applyTarget = (queue: memory.EndpointQueue, { targets, failed }: TargetsRead): TargetEffect => {
    const { subscriptionId } = queue.key
    const target = targets.get(subscriptionId)
    if (target === undefined) {
      memory.close(queue, failed.has(subscriptionId) ? rest() : { closed: true, dueAt: null }, clock.now())
      return 'closed'
    }
    if (target.orderPending !== null) {
      memory.beginOrderMarking(queue, target.orderPending, clock.now())
      return 'needsMarking'
    }
    if (memory.setTarget(queue, target)) return 'deliverable'
    memory.discardRows(queue, clock.now())
    return 'becameOrdered'
  }

  return async (queues: readonly memory.EndpointQueue[]): Promise<number> => {
    const now = clock.now()
    const requests = queues.map((queue) => ({ queue, request: memory.beginRead(queue, now) }))
    const [targets, foundOf] = await Promise.all([
      readTargets(queues.map((queue) => queue.key)),
      rowReader.read(
        requests.map(({ request }) => request),
        rowsPerReadMax,
      ),
    ])
    const reads: CompletedRead[] = []
    let count = 0
    for (const { queue, request } of requests) {
      const found = foundOf(queue.key.subscriptionId)
      const state = applyTarget(queue, targets)
      if (state === 'needsMarking') {
        if (!(await markOrder(queue))) memory.close(queue, rest(), clock.now())
        count += 1
      } else if (state !== 'closed') count += found.newRows.length
      if (state !== 'deliverable') continue
      reads.push({ queue, request, found, rows: [...attemptableRows(found, now)] })
    }
    await addWithPayloads(reads, now)
    return reads.reduce((sum, { rows }) => sum + rows.length, count)
  }
}

/** Returns the due rows of a read, each once. */
function attemptableRows({ firstRows, scheduledRows, newRows }: FoundRows, now: Date): Iterable<store.QueueRow> {
  const rows = [...firstRows, ...scheduledRows, ...newRows.filter((row) => !row.blocked)]
  const isDue = ({ dueAt }: store.QueueRow) => dueAt === null || dueAt <= now
  return new Map(rows.filter(isDue).map((row) => [row.eventId, row])).values()
}

type CompletedRead = {
  readonly queue: memory.EndpointQueue
  readonly request: memory.ReadRequest
  readonly found: FoundRows
  /** Rows that may be attempted now. */
  readonly rows: readonly store.QueueRow[]
}

function createAddWithPayloads({ log }: PrefetchDeps, { readPayloads }: RowReader) {
  return async (reads: readonly CompletedRead[], now: Date): Promise<void> => {
    const all = reads.flatMap(({ queue, rows }) => rows.map((row): FoundRow => ({ endpointQueue: queue, row })))
    const unknown = all.filter(({ endpointQueue, row }) => !memory.isKnown(endpointQueue, row))
    const payloads = unknown.length === 0 ? undefined : await readPayloads(unknown)
    const ended = new Set<memory.EndpointQueue>()
    // Ends the reads before fan-out can add later rows, which would start first.
    for (const { queue, request, found } of reads)
      if (!memory.wasDiscarded(queue, request)) {
        memory.endRead(queue, request, found, rowsPerReadMax, now)
        ended.add(queue)
      }
    for (const { endpointQueue, row } of unknown.filter((each) => ended.has(each.endpointQueue))) {
      const data = payloads?.get(row.eventId)
      if (data === undefined) log.error({ eventId: row.eventId }, 'the event of a queued delivery is missing')
      // Checked again, because attempts have ended while the payloads were read.
      else if (!memory.isKnown(endpointQueue, row)) memory.addRead(endpointQueue, { ...row, data })
    }
  }
}

// The switch of a subscription to `ordered`: its rows enter the index by reference, in steps. README.md, "Ordered
// subscriptions", explains why no row is read before the last step.

/** Limit of one transaction: other endpoint queues wait for it, and leases are renewed between two. */
const rowsPerStepMax = 2000

type OrderMarkingDeps = { readonly db: Database; readonly log: Log }

function createOrderMarking({ db, log }: OrderMarkingDeps) {
  const markNext = (
    key: SubscriptionKey,
    { orderPending, last }: memory.OrderMarking,
  ): Promise<memory.OrderMarking | undefined> =>
    db.transaction(async (tx) => {
      const next = await store.markOrdered(tx, key, last, rowsPerStepMax)
      if (next !== undefined) return { orderPending, last: next }
      await completeOrder(tx, key, orderPending)
      return undefined
    })

  /** Marks the next rows of an endpoint queue. Returns false if it failed. */
  return async (queue: memory.EndpointQueue): Promise<boolean> => {
    const { key, orderMarking } = queue
    assert(orderMarking !== undefined, `no order marking of endpoint queue ${queue.key.subscriptionId}`)
    try {
      memory.setOrderMarking(queue, await markNext(key, orderMarking))
      return true
    } catch (error) {
      const { subscriptionId } = key
      log.error({ err: error, subscriptionId }, 'rows of an ordered subscription cannot be marked; its deliveries wait')
      return false
    }
  }
}

// Reads the URLs and signing keys of subscriptions.

type TargetDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  readonly secrets: Pick<Secrets, 'signingKeys'>
  readonly perShard: PerShard
}

type TargetsRead = {
  /** Targets by subscription, without disabled and deleted subscriptions. */
  readonly targets: ReadonlyMap<string, memory.SubscriptionTarget>
  /** Subscriptions that could not be read, for example because a secret cannot be decrypted. */
  readonly failed: ReadonlySet<string>
}

function createTargetReader({ db, clock, log, secrets, perShard }: TargetDeps) {
  const readTogether = async (
    keys: readonly SubscriptionKey[],
  ): Promise<ReadonlyMap<string, memory.SubscriptionTarget>> => {
    const now = clock.now()
    const [rows, signing] = await Promise.all([
      perShard(keys, (some) => listTargets(db, some)),
      perShard(keys, async (some) => [...(await secrets.signingKeys(db, some, now))]),
    ])
    const signingOf = new Map(signing)
    return new Map(
      rows.map(({ subscriptionId, url, ordered, orderPending, updatedAt }) => {
        const { keys: signingKeys, until } = signingOf.get(subscriptionId) ?? { keys: [], until: null }
        return [subscriptionId, { url, ordered, orderPending, updatedAt, keys: signingKeys, until }]
      }),
    )
  }

  /** Reads the targets together, or one by one if that fails, so that one failure does not delay the other subscriptions. */
  return async (keys: readonly SubscriptionKey[]): Promise<TargetsRead> => {
    const failed = new Set<string>()
    try {
      return { targets: await readTogether(keys), failed }
    } catch (error) {
      if (keys.length > 1) log.debug({ err: error }, 'reading several subscriptions failed; reading them one by one')
    }
    const targets = new Map<string, memory.SubscriptionTarget>()
    for (const key of keys) {
      const { subscriptionId } = key
      try {
        for (const [id, target] of await readTogether([key])) targets.set(id, target)
      } catch (error) {
        log.error({ err: error, subscriptionId }, 'subscription cannot be read; its deliveries wait')
        failed.add(subscriptionId)
      }
    }
    return { targets, failed }
  }
}

// Reads rows of the queue for many endpoint queues at once, and the payloads of their events.

type RowReaderDeps = {
  readonly db: Database
  readonly eventOutbox: EventOutbox
  readonly perShard: PerShard
}

type NewRow = store.QueueRow & { readonly blocked: boolean }

/** Rows that a read found for one endpoint queue. */
type FoundRows = {
  readonly newRows: readonly NewRow[]
  readonly scheduledRows: readonly store.QueueRow[]
  /** The first rows of references that were unblocked. */
  readonly firstRows: readonly store.QueueRow[]
}

type FoundRow = { readonly endpointQueue: memory.EndpointQueue; readonly row: store.QueueRow }

function createRowReader({ db, eventOutbox, perShard }: RowReaderDeps) {
  return {
    /** Reads up to `rowsMax` new and scheduled rows for each request. Returns a lookup by subscription. */
    read: async (requests: readonly memory.ReadRequest[], rowsMax: number) => {
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

    readPayloads: async (rows: readonly FoundRow[]): Promise<ReadonlyMap<string, string>> => {
      const keys = new Map(rows.map(({ endpointQueue: { key }, row: { eventId } }) => [eventId, { ...key, eventId }]))
      const events = await perShard([...keys.values()], (some) => eventOutbox.byIds(db, some))
      return new Map(events.map((event) => [event.id, event.data]))
    },
  }
}

const bySubscription = <T extends store.QueueRow>(rows: readonly T[]): ReadonlyMap<string, T[]> =>
  Map.groupBy(rows, (row) => row.subscriptionId)

type RowReader = ReturnType<typeof createRowReader>
