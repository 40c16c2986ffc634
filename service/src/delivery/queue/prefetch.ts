/** Reads rows of the queue into the memory of the endpoint queues: one read at a time, for all that need one. */
import { after } from '../../kernel/index.ts'
import type { Closing, EndpointQueue } from './endpoint-queue.ts'
import * as memory from './endpoint-queue.ts'
import type { HeldQueues } from './held-queues.ts'
import { type Limits, troubleRestMs } from '../limits.ts'
import { createOrderMarking } from './order-marking.ts'
import type { Releases } from './releases.ts'
import { createRowReader, type FoundRow, type FoundRows, type RowReader, type RowReaderDeps } from './row-reader.ts'
import type { QueueRow } from './store-queue.ts'
import { createPerReachableShard } from './shards.ts'
import { createTargetReader, type TargetDeps, type TargetsRead } from './targets.ts'

export type PrefetchDeps = TargetDeps &
  RowReaderDeps & { readonly limits: Limits; readonly held: HeldQueues; readonly releases: Releases }

/** Limit of one read, for one endpoint queue and one kind (new, scheduled). */
const rowsPerReadMax = 64

export function createPrefetch(deps: PrefetchDeps) {
  const { clock, limits, held, releases } = deps
  const readInto = createReadInto(deps)
  const perShard = createPerReachableShard(deps)

  /** Reads for all endpoint queues that need it. Returns how many rows there were. */
  return async (): Promise<number> => {
    const queues = [...held.toRead].filter(held.isHeld)
    held.toRead.clear()
    if (queues.length === 0) return 0
    const now = clock.now()
    const readOrPutBack = async (some: readonly EndpointQueue[]) => {
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

type AfterTarget =
  /** The rows that were read may be used. */
  | 'deliverable'
  /** The subscription became ordered after these rows were read: read them again. */
  | 'becameOrdered'
  /** The rows of the subscription have to be marked before any is read. */
  | 'needsMarking'
  | 'closed'

/** Reads targets and rows at the same time, because a change of an endpoint must take effect at once. */
function createReadInto(deps: PrefetchDeps) {
  const { clock } = deps
  const readTargets = createTargetReader(deps)
  const rowReader = createRowReader(deps)
  const markOrder = createOrderMarking(deps)
  const addWithPayloads = createAddWithPayloads(deps, rowReader)
  const rest = (): Closing => ({ closed: false, dueAt: after(clock.now(), troubleRestMs) })

  const applyTarget = (queue: EndpointQueue, { targets, failed }: TargetsRead): AfterTarget => {
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

  return async (queues: readonly EndpointQueue[]): Promise<number> => {
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

/** Each row once. */
function attemptableRows({ firstRows, scheduledRows, newRows }: FoundRows, now: Date): Iterable<QueueRow> {
  const rows = [...firstRows, ...scheduledRows, ...newRows.filter((row) => !row.blocked)]
  const isDue = ({ dueAt }: QueueRow) => dueAt === null || dueAt <= now
  return new Map(rows.filter(isDue).map((row) => [row.eventId, row])).values()
}

type CompletedRead = {
  readonly queue: EndpointQueue
  readonly request: memory.ReadRequest
  readonly found: FoundRows
  /** Rows that may be attempted now. */
  readonly rows: readonly QueueRow[]
}

function createAddWithPayloads({ log }: PrefetchDeps, { readPayloads }: RowReader) {
  return async (reads: readonly CompletedRead[], now: Date): Promise<void> => {
    const all = reads.flatMap(({ queue, rows }) => rows.map((row): FoundRow => ({ endpointQueue: queue, row })))
    const unknown = all.filter(({ endpointQueue, row }) => !memory.isKnown(endpointQueue, row))
    const payloads = unknown.length === 0 ? undefined : await readPayloads(unknown)
    const ended = new Set<EndpointQueue>()
    // A read ends when its rows are in memory. Before, fan-out would add later rows, and these would start first.
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
