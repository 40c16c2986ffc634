/**
 * Batches: calls that arrive while a batch runs form the next batch and share one transaction. Each call gets its own
 * answer after the commit. batches.md describes how batches form and queue, and what happens after a failure.
 */
import { Refusal, Unreachable } from '../kernel/api/index.ts'
import type { Database } from './database.ts'
import { sqlState, sqlStateOf } from './errors.ts'
import type { Tx } from './tx.ts'

/** The position of a batch in the queue. A batch that is rerun after a failure has none: it runs outside the queue. */
export type BatchPosition = {
  /** Resolves when every earlier batch of the queue has ended. */
  readonly earlierEnded: Promise<void>
  /** Resolves when this batch has ended, committed or failed. */
  readonly ended: Promise<void>
}

/**
 * Runs a batch and returns one result per call, in the order of the calls. A Refusal is the result of a call for which
 * the work has written nothing. `read` is the result of the batcher's `read`. Work that depends on earlier batches
 * awaits `earlierEnded`.
 */
type BatchWork<In, Out, Read = undefined> = (
  tx: Tx,
  calls: readonly In[],
  read: Read,
  position: BatchPosition | undefined,
) => Promise<readonly (Out | Refusal)[]>

type WaitingCall<In, Out> = {
  readonly call: In
  /** Position in the order of arrival. */
  readonly place: number
  readonly resolve: (value: Out) => void
  readonly reject: (reason: unknown) => void
}
type Batch<In, Out> = readonly WaitingCall<In, Out>[]

/**
 * Lock timeout of a batch in the queue. Locks are normally held for far less. A batch that waits longer is rerun
 * outside the queue, partner by partner.
 */
const sharedLockTimeoutMs = 250

/**
 * Default number of waiting calls at which a second batch starts. A small batch costs nearly as much as a large one,
 * and concurrent batches often wait for the same disk flush.
 */
const secondBatchMinDefault = 64

/**
 * States of a write that the database refused because another transaction used the key or the amount after this batch
 * read it.
 */
const violationStates: ReadonlySet<string | undefined> = new Set([sqlState.uniqueViolation, sqlState.checkViolation])

export type Batcher<In, Out> = (call: In) => Promise<Out>

export type BatcherOptions<In, Out, Read = undefined> = {
  /** The database, or `withoutTransaction`. */
  readonly db: Pick<Database, 'transaction' | 'sharded'>
  /**
   * Reads what the work needs without a lock, while the previous batch still runs (`before` of the transaction). If
   * that batch changes these rows, a constraint must fail the write; the batch then runs again after it.
   */
  readonly read?: (tx: Tx, calls: readonly In[]) => Promise<Read>
  readonly work: BatchWork<In, Out, Read>
  readonly callsMax: number
  /** Maximum number of concurrent batches of the queue. */
  readonly batchesMax: number
  /** Number of waiting calls at which a batch starts while another batch runs. */
  readonly secondBatchMin?: number
  readonly partnerOf: (call: In) => string
  /** Same options as in `TransactionOptions`. */
  readonly byIndex?: boolean
  readonly planOnce?: boolean
}

export function createBatcher<In, Out, Read = undefined>(options: BatcherOptions<In, Out, Read>): Batcher<In, Out> {
  if (options.db.sharded) return createPartnerBatchers(options)
  return createQueue(options, { slots: unlimited, onIdle: () => undefined })
}

/** Maximum number of concurrent batches of all partners on a sharded database. More would only wait for connections. */
const shardedBatchesMax = 32

/** Slots that a queue needs to start a batch. If no slot is free, `take` returns false and `start` is called later. */
type Slots = { readonly take: (start: () => void) => boolean; readonly free: () => void }
const unlimited: Slots = { take: () => true, free: () => undefined }

function createSlots(slotsMax: number): Slots {
  const starting = new Set<() => void>()
  let taken = 0
  return {
    take: (start) => {
      if (taken >= slotsMax) {
        starting.add(start)
        return false
      }
      taken += 1
      return true
    },
    free: () => {
      taken -= 1
      for (const start of starting) {
        if (taken >= slotsMax) return
        starting.delete(start)
        start()
      }
    },
  }
}

/**
 * Creates batchers for a database that is sharded by partner: a queue for each partner with calls, so that a
 * transaction stays on one shard and batches of several partners run at once.
 */
function createPartnerBatchers<In, Out, Read>(options: BatcherOptions<In, Out, Read>): Batcher<In, Out> {
  const queues = new Map<string, Batcher<In, Out>>()
  const slots = createSlots(shardedBatchesMax)
  return (call) => {
    const partnerId = options.partnerOf(call)
    const queue = queues.get(partnerId) ?? createQueue(options, { slots, onIdle: () => void queues.delete(partnerId) })
    queues.set(partnerId, queue)
    return queue(call)
  }
}

type QueueHooks = { readonly slots: Slots; readonly onIdle: () => void }

function createQueue<In, Out, Read>(
  options: BatcherOptions<In, Out, Read>,
  { slots, onIdle }: QueueHooks,
): Batcher<In, Out> {
  const { callsMax, batchesMax, partnerOf, secondBatchMin = secondBatchMinDefault } = options
  const attempt = createAttempt(options)
  const rerun = createRerun(attempt)
  const waiting = createWaitingCalls(options)
  let batchesRunning = 0
  let earlierEnded: Promise<void> = Promise.resolve()
  let startSoon: NodeJS.Immediate | undefined

  const runInQueue = async (batch: Batch<In, Out>, position: BatchPosition): Promise<void> => {
    try {
      await attempt(batch, position)
    } catch (error) {
      await position.earlierEnded
      // The outcome of a lost commit is unknown, so the batch must not run again.
      if (error instanceof Unreachable) return rejectAll(batch, error)
      const lockTimedOut = sqlStateOf(error) === sqlState.lockNotAvailable
      const partners = Map.groupBy(batch, ({ call }) => partnerOf(call))
      if (partners.size === 1 && !lockTimedOut) return rerun.afterFailure(batch, error)
      const reruns = [...partners].map(([partnerId, calls]) => rerunPartner(partnerId, calls))
      // After a lock time-out the queue continues, while each partner waits for its own lock.
      if (!lockTimedOut) await Promise.all(reruns)
    }
  }

  /** Reruns the calls of a partner and holds back its further calls meanwhile, so that a partner uses one connection for reruns. */
  const rerunPartner = async (partnerId: string, calls: Batch<In, Out>): Promise<void> => {
    if (waiting.heldPartners.has(partnerId)) return waiting.putBack(partnerId, calls)
    waiting.heldPartners.add(partnerId)
    await rerun.run(calls)
    waiting.heldPartners.delete(partnerId)
    startBatches()
  }

  const mayStart = () =>
    batchesRunning < batchesMax &&
    waiting.count() > 0 &&
    (batchesRunning === 0 || waiting.count() >= Math.min(secondBatchMin, callsMax))

  const startBatches = () => {
    while (mayStart() && slots.take(startBatches)) {
      const batch = waiting.takeBatch()
      if (batch.length === 0) return slots.free()
      batchesRunning += 1
      const { promise: ended, resolve: end } = Promise.withResolvers<void>()
      const position = { earlierEnded, ended }
      earlierEnded = Promise.all([earlierEnded, ended]).then(() => undefined)
      void runInQueue(batch, position).finally(() => {
        batchesRunning -= 1
        end()
        slots.free()
        startBatches()
      })
    }
    if (batchesRunning === 0 && waiting.count() === 0 && waiting.heldPartners.size === 0) onIdle()
  }

  return (call) =>
    new Promise<Out>((resolve, reject) => {
      waiting.add({ call, resolve, reject })
      // Calls of one turn of the event loop share a batch.
      startSoon ??= setImmediate(() => {
        startSoon = undefined
        startBatches()
      })
    })
}

/**
 * Holds the calls that wait for a batch. Partners have equal shares of a batch, so that many calls of one partner do
 * not delay another. The oldest calls of a partner come first. Calls of a held partner wait until its rerun has ended.
 */
function createWaitingCalls<In, Out, Read>({ callsMax, partnerOf }: BatcherOptions<In, Out, Read>) {
  /**
   * Waiting calls by partner, in the order of their turns: a partner with calls left after its turn moves to the end.
   */
  const byPartner = new Map<string, WaitingCall<In, Out>[]>()
  const heldPartners = new Set<string>()
  let count = 0
  let places = 0
  const takeBatch = (): Batch<In, Out> => {
    const ready = [...byPartner].filter(([partnerId]) => !heldPartners.has(partnerId)).slice(0, callsMax)
    // Partners with few calls come first: the unused parts of their shares go to the others.
    const fewestFirst = ready.toSorted(([, calls], [, others]) => calls.length - others.length)
    const batch: WaitingCall<In, Out>[] = []
    fewestFirst.forEach(([partnerId, calls], index) => {
      const share = Math.floor((callsMax - batch.length) / (fewestFirst.length - index))
      batch.push(...calls.slice(0, share))
      byPartner.delete(partnerId)
      if (calls.length > share) byPartner.set(partnerId, calls.slice(share))
    })
    count -= batch.length
    return batch.sort((one, other) => one.place - other.place)
  }
  return {
    heldPartners,
    takeBatch,
    count: () => count,
    add: (added: Omit<WaitingCall<In, Out>, 'place'>) => {
      const partnerId = partnerOf(added.call)
      const waiting = { ...added, place: (places += 1) }
      const calls = byPartner.get(partnerId)
      if (calls === undefined) byPartner.set(partnerId, [waiting])
      else calls.push(waiting)
      count += 1
    },
    putBack: (partnerId: string, earlier: Batch<In, Out>) => {
      byPartner.set(partnerId, [...earlier, ...(byPartner.get(partnerId) ?? [])])
      count += earlier.length
    },
  }
}

type Attempt<In, Out> = (batch: Batch<In, Out>, position?: BatchPosition) => Promise<void>

/** Runs a batch in one transaction and gives each call its answer. Rejects when the transaction fails. */
function createAttempt<In, Out, Read>(options: BatcherOptions<In, Out, Read>): Attempt<In, Out> {
  const { db, read, work, byIndex = false, planOnce = false } = options
  return async (batch, position) => {
    const calls = batch.map(({ call }) => call)
    const outcomes = await db.transaction<readonly (Out | Refusal)[], Read>(
      (tx, found) => work(tx, calls, found, position),
      {
        byIndex,
        planOnce,
        ...(read ? { before: (tx: Tx) => read(tx, calls) } : {}),
        ...(position ? { lockTimeoutMs: sharedLockTimeoutMs } : {}),
      },
    )
    batch.forEach(({ resolve, reject }, index) => {
      const outcome = outcomes[index] as Out | Refusal
      if (outcome instanceof Refusal) reject(outcome)
      else resolve(outcome)
    })
  }
}

/** Runs calls of one partner again after their batch failed, outside the queue. Never rejects. */
function createRerun<In, Out>(attempt: Attempt<In, Out>) {
  const run = (batch: Batch<In, Out>): Promise<void> =>
    attempt(batch).catch((error: unknown) => afterFailure(batch, error))
  const afterFailure = async (batch: Batch<In, Out>, error: unknown): Promise<void> => {
    // Each call alone would wait for the same lock.
    if (error instanceof Unreachable || sqlStateOf(error) === sqlState.lockNotAvailable) rejectAll(batch, error)
    else if (batch.length > 1) for (const each of batch) await run([each])
    // The second attempt reads the row that has the key, and answers with it.
    else if (violationStates.has(sqlStateOf(error)))
      await attempt(batch).catch((again: unknown) => rejectAll(batch, again))
    else rejectAll(batch, error)
  }
  return { run, afterFailure }
}

const rejectAll = (batch: Batch<unknown, never>, error: unknown) => batch.forEach(({ reject }) => reject(error))
