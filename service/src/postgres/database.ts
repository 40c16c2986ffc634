/** The connection pools, and transactions with retries. Times, ids and JSON are made in TypeScript, not by the database. */
import pg from 'pg'
import type { Log } from '../kernel/index.ts'
import { createDurability, flushStatement, type Unflushed } from './durability.ts'
import { isRetryable, sqlState, stateOf } from './errors.ts'
import { createScan } from './scan.ts'
import type { Sql } from './sql.ts'
import { attempt, type TransactionOptions, type Work } from './transaction.ts'
import { createTx, type Hint, outsideTransaction, type Tx } from './tx.ts'

export type { TransactionOptions } from './transaction.ts'

export type Database = Tx & {
  /**
   * Runs `work` in one transaction at read committed. Retries it after a deadlock, so `work` must have no effects outside
   * the database. If the answer to the commit is lost, it throws `Unreachable`: the outcome is unknown, and the caller
   * repeats the request under the same idempotency key.
   */
  readonly transaction: <T, P = undefined>(work: Work<T, P>, options?: TransactionOptions<P>) => Promise<T>
  readonly unflushed: Unflushed
  /** The pool of the driver, for migrations and `analyze`. */
  readonly pool: pg.Pool
  readonly close: () => Promise<void>
}

export type DatabaseOptions = {
  readonly url: string
  readonly connectionsMax: number
  readonly log: Log
  readonly connectTimeoutMs?: number
  readonly queryTimeoutMs?: number
  readonly lockTimeoutMs?: number
  /** The server ends a transaction that waits longer than this for its next statement. */
  readonly idleInTransactionMsMax?: number
  /** The database is sharded by partner (Citus). */
  readonly sharded?: boolean
  /** Lists the ids of all partners, from a table that every node has: scans use it when a shard does not answer. */
  readonly partnerIds?: Sql
}

const transactionTriesMax = 5
/** A batch of nonces is one statement; two connections let one batch run while the other waits for its answer. */
const unflushedConnectionsMax = 2
/** The driver's timeout comes first, so that callers always see the same error. */
const statementGraceMs = 1_000
/** Longer than a pause in traffic, because a new connection has to prepare its statements again. */
const idleTimeoutMs = 300_000

type PoolSettings = Readonly<Record<string, string | number>>

function createPool(
  { url, log, connectTimeoutMs = 5_000 }: DatabaseOptions,
  connectionsMax: number,
  queryTimeoutMs: number,
  settings: PoolSettings,
) {
  const pool = new pg.Pool({
    connectionString: url,
    max: connectionsMax,
    connectionTimeoutMillis: connectTimeoutMs,
    // The driver then closes the connection. The outcome of the statement is unknown.
    query_timeout: queryTimeoutMs,
    idleTimeoutMillis: idleTimeoutMs,
    application_name: 'partner-payments',
    pipeline: true,
    options: Object.entries(settings)
      .map(([name, value]) => `-c ${name}=${value}`)
      .join(' '),
  })
  pool.on('error', (error) => {
    // `end` resolves before the last connections are closed, so a server that stops then is no fault.
    if (!pool.ending) log.warn({ err: error }, 'idle database connection lost')
  })
  // A connection that is lost between two statements fails the next one. Without a listener it would end the process.
  pool.on('connect', (client) => void client.on('error', () => undefined))
  return pool
}

export function createDatabase(options: DatabaseOptions): Database {
  const { log, queryTimeoutMs = 15_000, lockTimeoutMs = 5_000, idleInTransactionMsMax = 15_000 } = options
  const { sharded = false, partnerIds } = options
  const settings = {
    timezone: 'UTC',
    lock_timeout: lockTimeoutMs,
    // Without it, a statement that the driver has given up would go on at the server beside its repetition.
    statement_timeout: queryTimeoutMs + statementGraceMs,
    // A process that freezes within a transaction would otherwise keep its locks on a partner's balance.
    idle_in_transaction_session_timeout: idleInTransactionMsMax,
  }
  const pool = createPool(options, options.connectionsMax, queryTimeoutMs, settings)
  const unflushedSettings = { ...settings, synchronous_commit: 'off' }
  const unflushedPool = createPool(options, unflushedConnectionsMax, queryTimeoutMs, unflushedSettings)
  const outside = outsideTransaction(sharded)
  const tx = createTx(pool, outside)
  const durability = createDurability({
    unflushed: createTx(unflushedPool, outside),
    flush: () => tx.run(flushStatement),
  })
  const scan = partnerIds && sharded ? createScan({ tx, partnerIds, log }) : undefined
  // The setting of the connection reaches only the coordinator; that of a transaction reaches the shards as well.
  const shardSettings = sharded ? { lockTimeoutMs } : undefined
  return {
    ...tx,
    ...scan,
    pool,
    unflushed: durability.unflushed,
    transaction: async (work, limits = {}) => {
      for (let tries = 1; ; tries += 1) {
        try {
          const { result, hints } = await attempt(pool, work, { ...limits, shardSettings }, durability)
          for (const hint of hints) give(hint, log)
          return result
        } catch (error) {
          if (stateOf(error) === sqlState.readOnlyTransaction) closeIdle(pool)
          if (!isRetryable(error) || tries >= transactionTriesMax) throw error
          log.debug({ err: error, tries }, 'transaction retried')
        }
      }
    },
    close: async () => {
      await Promise.all([pool.end(), unflushedPool.end()])
    },
  }
}

/** A failing hint must not make a committed transaction look failed. */
function give(hint: Hint, log: Log): void {
  try {
    hint()
  } catch (error) {
    log.error({ err: error }, 'hint after a commit failed')
  }
}

/**
 * After a failover, idle connections can still lead to the demoted server (SQLSTATE 25006). The pool closes a connection
 * that is released as broken; one that is ended from outside would stay in the pool and fail the next caller.
 */
function closeIdle(pool: pg.Pool): void {
  for (let left = pool.idleCount; left > 0; left -= 1)
    pool.connect().then(
      (client) => client.release(true),
      () => undefined,
    )
}
