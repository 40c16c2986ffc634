/** Runs one transaction: `begin`, the statements, and `commit` or `rollback`, pipelined on one connection. */
import { Unreachable } from '../kernel/api/index.ts'
import { assert } from '../kernel/index.ts'
import { classify, isReadOnly, sqlState, sqlStateOf } from './errors.ts'
import {
  type Connect,
  type Connection,
  createPipeline,
  createTx,
  type Hint,
  inOneWrite,
  outsideTransaction,
  type SentWrite,
  type Tx,
} from './tx.ts'
import { sql, type Sql } from './sql.ts'

export type TransactionOptions<P = undefined> = {
  /** Overrides the lock timeout of the pool. */
  readonly lockTimeoutMs?: number
  /** Forbids sequential scans where an index can be used, also of tables that the planner estimates as small. */
  readonly byIndex?: boolean
  /**
   * Plans each statement once per connection, without its values: for lookups by whole keys, which have a single good plan. Ignored on a
   * sharded database, where the values decide which shard runs the statement.
   */
  readonly planOnce?: boolean
  /**
   * Sends statements together with `begin`; `work` gets the result. They must be reads, or one write that may be
   * committed alone: if `begin` fails but the write succeeds, the outcome is unknown (`Unreachable`).
   */
  readonly before?: (tx: Tx) => Promise<P>
}

export type TransactionWork<T, P> = (tx: Tx, read: P) => Promise<T>
type CommitResult<T> = {
  readonly result: T
  readonly hints: ReadonlySet<Hint>
  /** Texts of the statements that changed rows. */
  readonly changes: ReadonlySet<string>
}

/** Lock timeout that every transaction sends to the shards of a sharded database. */
type ShardSettings = { readonly lockTimeoutMs: number }
type Limits = Omit<TransactionOptions, 'before'> & { readonly shardSettings: ShardSettings | undefined }

/**
 * Returns `begin` with the settings of the transaction. Citus forwards a `set local` to the shards as the text of its whole query, so on
 * Citus each setting is a separate query. Citus does not support generic plans, because the plan names the shard.
 */
function beginOf({ lockTimeoutMs, byIndex = false, planOnce = false, shardSettings }: Limits): readonly string[] {
  const lockTimeout = lockTimeoutMs ?? shardSettings?.lockTimeoutMs
  const settings = [
    ...(lockTimeout === undefined ? [] : [`set local lock_timeout = ${lockTimeout}`]),
    ...(byIndex ? ['set local enable_seqscan = off'] : []),
  ]
  if (shardSettings) return ['begin', "set local citus.propagate_set_commands = 'local'", ...settings]
  return [['begin', ...settings, ...(planOnce ? ['set local plan_cache_mode = force_generic_plan'] : [])].join('; ')]
}

async function begin({ run }: Connection, limits: Limits): Promise<void> {
  await Promise.all(beginOf(limits).map((text) => run(text)))
}

/**
 * Runs the transaction once, without retries. Sends statements without waiting for earlier answers (the driver's
 * pipeline). `work` starts only after `begin` has succeeded, because otherwise each statement would be a separate
 * transaction.
 */
export async function attempt<T, P>(
  connect: Connect,
  work: TransactionWork<T, P>,
  { before, ...limits }: TransactionOptions<P> & Pick<Limits, 'shardSettings'>,
  durability: Durability,
): Promise<CommitResult<T>> {
  const connection = await connect()
  const { client } = connection
  let broken = true
  const sharded = limits.shardSettings !== undefined
  const { tx, sent, hints, changes, checkRows, commit } = createPipeline(connection, sharded)
  try {
    const [, read] = await inOneWrite(client, () => {
      const begun = begin(connection, limits).catch((error: unknown) => {
        const failure = classify(error)
        if (before === undefined || failure instanceof Unreachable) throw failure
        throw new Unreachable(
          'downstream_unreachable',
          '`begin` failed, and the outcome of the write sent with it is unknown',
          error,
        )
      })
      return Promise.all([begun, before?.(createTx(connection.send, outsideTransaction(sharded))) as Promise<P>])
    })
    const result = await work(tx, read)
    await checkRows()
    const written = durability.mark()
    const committing = commit()
    committing.catch(() => undefined)
    let touched = 0
    for (const { result: sending } of sent) touched += (await sending).count
    // The server answers the commit of a failed transaction with ROLLBACK and without an error.
    assert(
      (await committing).command === 'COMMIT',
      'PostgreSQL rolled back a transaction although all its statements succeeded',
    )
    // A commit without changed rows does not flush, so unflushed writes stay unflushed.
    if (touched > 0) durability.flushedUpTo(written)
    broken = false
    return { result, hints, changes }
  } catch (error) {
    const failure = classify(await causeOf(error, sent))
    // If the rollback fails, the connection is closed, and the server rolls back.
    if (!(failure instanceof Unreachable) || (failure.code === 'storage_unavailable' && !isReadOnly(failure)))
      broken = await connection.run('rollback').then(
        () => false,
        () => true,
      )
    throw failure
  } finally {
    connection.release(broken)
  }
}

/**
 * Finds the cause of a failed transaction: the first queued write that failed. Later statements only report that the
 * transaction has failed.
 */
async function causeOf(error: unknown, sent: readonly SentWrite[]): Promise<unknown> {
  if (sqlStateOf(error) !== sqlState.inFailedTransaction) return error
  const outcomes = await Promise.allSettled(sent.map(({ result }) => result))
  return outcomes.find((outcome) => outcome.status === 'rejected')?.reason ?? error
}

// Writes that do not wait for the disk. PostgreSQL flushes its log in order, so a later durable commit makes such a write
// durable as well: the request needs one flush instead of two. A request without a durable commit waits for `flushed` before
// it answers.

/** The number of unflushed writes so far. */
type FlushMark = number

export type UnflushedTx = Tx & {
  /** Returns a mark after all unflushed writes of this process so far. */
  readonly mark: () => FlushMark
  /** Resolves when the writes before the mark are durable: at once if a durable commit has followed them. */
  readonly flushed: (mark: FlushMark) => Promise<void>
}

type Durability = {
  readonly unflushed: UnflushedTx
  readonly mark: () => FlushMark
  /** Records that a durable commit has ended that began after `mark`. */
  readonly flushedUpTo: (mark: FlushMark) => void
}

/** Writes a log record without a table, because a commit without writes does not flush. */
export const flushStatement = sql`/* postgres.flushStatement */ select pg_logical_emit_message(true, 'partner-payments', 'flush')`

export function createDurability(deps: { readonly unflushed: Tx; readonly flush: () => Promise<unknown> }): Durability {
  let written: FlushMark = 0
  let durable: FlushMark = 0
  let flushing: Promise<void> | undefined
  const mark = () => written
  const flushedUpTo = (upTo: FlushMark) => {
    durable = Math.max(durable, upTo)
  }
  const flushOnce = async () => {
    const upTo = written
    await deps.flush()
    flushedUpTo(upTo)
  }
  const flushed = async (upTo: FlushMark) => {
    while (durable < upTo) {
      // One flush serves all waiting callers. Callers that arrive during a flush share the next flush.
      flushing ??= flushOnce().finally(() => {
        flushing = undefined
      })
      await flushing
    }
  }
  const counted = async <T>(sending: Promise<T>): Promise<T> => {
    const answer = await sending
    written += 1
    return answer
  }
  const tx = deps.unflushed
  const unflushed: UnflushedTx = {
    ...tx,
    rows: <T extends object>(statement: Sql) => counted(tx.rows<T>(statement)),
    row: <T extends object>(statement: Sql) => counted(tx.row<T>(statement)),
    run: (statement) => counted(tx.run(statement)),

    mark,
    flushed,
  }
  return { unflushed, mark, flushedUpTo }
}
