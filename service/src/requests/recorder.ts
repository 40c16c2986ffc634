/**
 * Collects answered requests in memory and writes them in batches, after the answers. If the process is killed, the
 * requests in memory are lost: at most those of a second.
 */
import type { Access } from '../access/index.ts'
import type { Caller } from '../kernel/api/index.ts'
import { type Clock, type Log, minuteMs, newId, secondMs } from '../kernel/index.ts'
import { groupByShard, type Database, isDataException, sqlState, sqlStateOf } from '../postgres/index.ts'
import * as store from './store.ts'

const flushMs = secondMs
const rowsPerFlushMax = 1000
/** Maximum number of rows in memory, about 10 MB. Further requests are counted as dropped. */
export const rowsInMemoryMax = 20_000
/**
 * Maximum number of refused requests that are recorded for each API key in a minute, because a stranger who knows the
 * key could fill the partner's log.
 */
export const refusedPerKeyMax = 60
/** Maximum number of refused requests in a minute, which limits the lookups of invented API keys. */
const refusedMax = 600

export type RequestRecorder = {
  /**
   * Records a request, without waiting. Without a caller it records a request only if it was refused with 401 and has a
   * known API key.
   */
  readonly record: (
    request: store.AnsweredRequest,
    sent: { readonly caller?: Caller | undefined; readonly apiKey?: string | undefined },
  ) => void
  /** Writes the rows in memory, after the last answer. */
  readonly flush: () => Promise<void>
}

export type RecorderDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  readonly credential: Access['credential']
  readonly dropped?: ((reason: 'full' | 'refused' | 'unwritable', count: number) => void) | undefined
}

export function createRequestRecorder(deps: RecorderDeps): RequestRecorder {
  const { credential, dropped } = deps
  const mayRecordRefused = createRefusedLimit(deps.clock)
  const lookups = new Set<Promise<void>>()
  const waiting = createWaitingRows(deps)
  let timer: NodeJS.Timeout | undefined
  let flushing: Promise<void> | undefined

  const flushSoon = () => {
    if (waiting.count() > 0) timer ??= setTimeout(() => void flush(), flushMs).unref()
  }
  const add = (id: string, request: store.AnsweredRequest, sender: store.Sender) => {
    if (waiting.count() >= rowsInMemoryMax) return dropped?.('full', 1)
    waiting.add(store.toRow(id, request, sender))
    return flushSoon()
  }
  const addRefused = async (id: string, request: store.AnsweredRequest, apiKey: string) => {
    const found = await credential(apiKey).catch(() => undefined)
    if (found) add(id, request, { ...found.caller, verified: false })
  }
  const flush = async (): Promise<void> => {
    clearTimeout(timer)
    timer = undefined
    await Promise.all(lookups)
    flushing ??= waiting.write().finally(() => {
      flushing = undefined
      flushSoon()
    })
    await flushing
  }
  return {
    record: (request, { caller, apiKey }) => {
      if (caller) return add(newId(), request, { ...caller, verified: true })
      if (request.status !== 401 || apiKey === undefined) return
      if (!mayRecordRefused(apiKey)) return dropped?.('refused', 1)
      const lookup = addRefused(newId(), request, apiKey).finally(() => lookups.delete(lookup))
      lookups.add(lookup)
    },
    flush,
  }
}

type RequestRows = readonly store.RequestRow[]

/**
 * Holds the rows in memory until they are stored. A batch is one transaction. A failed batch is written again with the
 * same rows. If only its answer was lost after the commit, the second attempt violates the primary key, which shows
 * that all rows are stored.
 */
function createWaitingRows({ db, clock, log, dropped }: RecorderDeps) {
  const warn = createWarning(clock, log)
  let rows: store.RequestRow[] = []
  let batches: RequestRows[] = []
  let inBatches = 0

  const next = (): RequestRows | undefined => {
    if (batches.length === 0) {
      const taken = rows.splice(0, rowsPerFlushMax)
      batches = [...groupByShard(db, taken)]
      inBatches = taken.length
    }
    return batches[0]
  }
  const drop = (row: store.RequestRow, error: unknown) => {
    log.error({ err: error, operation: row.operation }, 'request log row not stored')
    dropped?.('unwritable', 1)
  }
  return {
    count: () => rows.length + inBatches,
    add: (row: store.RequestRow) => void rows.push(row),
    /** Writes batches until one fails. */
    write: async (): Promise<void> => {
      for (let batch = next(); batch !== undefined; batch = next()) {
        try {
          await writeBatch(db, batch)
        } catch (error) {
          const [first] = batch
          if (isDataException(error) && batch.length > 1) {
            // Splitting the batch finds the row that the database refuses.
            const middle = Math.ceil(batch.length / 2)
            batches.splice(0, 1, batch.slice(0, middle), batch.slice(middle))
            continue
          }
          if (isDataException(error) && first) drop(first, error)
          else if (!isDuplicate(error)) return warn(error)
        }
        batches.shift()
        inBatches -= batch.length
      }
    },
  }
}

const isDuplicate = (error: unknown): boolean => sqlStateOf(error) === sqlState.uniqueViolation

const writeBatch = (db: Database, rows: RequestRows): Promise<void> =>
  db.transaction(async (tx) => {
    await store.insertRows(tx, rows)
    await store.addSums(tx, store.sumRows(rows))
  })

/** Creates a function that logs at most one warning a minute while the database does not answer. */
function createWarning(clock: Clock, log: Log): (error: unknown) => void {
  let quietUntilMs = 0
  return (error) => {
    const nowMs = clock.now().getTime()
    if (nowMs < quietUntilMs && nowMs >= quietUntilMs - minuteMs) return
    quietUntilMs = nowMs + minuteMs
    log.warn({ err: error }, 'request log not written; its rows stay in memory')
  }
}

/** Limits the recorded requests with refused signatures, for each key in windows of a minute. */
function createRefusedLimit(clock: Clock): (apiKey: string) => boolean {
  let counts = new Map<string, number>()
  let total = 0
  let windowEndsMs = 0
  return (apiKey) => {
    const nowMs = clock.now().getTime()
    if (nowMs >= windowEndsMs || nowMs < windowEndsMs - minuteMs) {
      counts = new Map()
      total = 0
      windowEndsMs = nowMs + minuteMs
    }
    const count = counts.get(apiKey) ?? 0
    if (total >= refusedMax || count >= refusedPerKeyMax) return false
    total += 1
    counts.set(apiKey, count + 1)
    return true
  }
}
