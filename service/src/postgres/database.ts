/** The pool and the transaction. Times, ids and JSON are made in TypeScript. */
import pg from 'pg'
import { Unreachable } from '../api/index.ts'
import { assert, type Log } from '../kernel/index.ts'
import { createDurability, type Durability, type Unflushed, writeAnything } from './durability.ts'
import { classify, isRetryable, sqlState, stateOf } from './errors.ts'
import { createLater, createTx, outsideTransaction, together, type Tx } from './tx.ts'

export type TransactionOptions<P = undefined> = {
  /** Where it differs from the limit of the pool. */
  readonly lockTimeoutMs?: number
  /** No table is read as a whole while an index leads to its rows, however small it is believed to be. */
  readonly byIndex?: boolean
  /** Statements are planned without their values, once a connection: for lookups by whole keys, which have one good plan. */
  readonly planOnce?: boolean
  /**
   * What travels right behind `begin`: `work` is given what it answers. Reads, and a write that may stand alone: where
   * `begin` fails and this does not, the outcome is unknown as that of a lost commit.
   */
  readonly before?: (tx: Tx) => Promise<P>
}
export type Database = Tx & {
  /**
   * One transaction, read committed, retried when PostgreSQL chose it as the victim of a deadlock. `work` may run more
   * than once, so it touches nothing but the database. A commit whose answer is lost is `Unreachable`: the outcome is
   * unknown, and the caller finds out under the same idempotency key.
   */
  readonly transaction: <T, P = undefined>(
    work: (tx: Tx, read: P) => Promise<T>,
    options?: TransactionOptions<P>,
  ) => Promise<T>
  readonly unflushed: Unflushed
  /** The pool itself, for migrations and `listen`. */
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
  /** How long a transaction may rest between two statements before the server ends it. */
  readonly idleInTransactionMsMax?: number
}

const transactionTriesMax = 5
/** A batch of nonces is one statement, and two of them keep each other company. */
const unflushedConnectionsMax = 2
/** The driver gives up first, so that the caller is always told by the same error. */
const statementGraceMs = 1_000

/** Settings travel with `begin`, and end with the transaction. */
const beginOf = ({ lockTimeoutMs, byIndex = false, planOnce = false }: Omit<TransactionOptions, 'before'>): string =>
  [
    'begin',
    ...(lockTimeoutMs === undefined ? [] : [`set local lock_timeout = ${lockTimeoutMs}`]),
    ...(byIndex ? ['set local enable_seqscan = off'] : []),
    ...(planOnce ? ['set local plan_cache_mode = force_generic_plan'] : []),
  ].join('; ')

/**
 * Statements follow one another on the wire without waiting for answers (the driver's pipeline); those of `work` not
 * before `begin` is known to have succeeded, since without it each would be a transaction of its own.
 */
async function attempt<T, P>(
  pool: pg.Pool,
  work: (tx: Tx, read: P) => Promise<T>,
  { before, ...limits }: TransactionOptions<P>,
  durability: Durability,
): Promise<T> {
  const client = await pool.connect().catch((error: unknown) => {
    throw classify(error)
  })
  let broken = true
  const { tx, sent, commit } = createLater(client)
  try {
    const [, read] = await together(client, () => {
      const begun = client.query(beginOf(limits)).catch((error: unknown) => {
        const failure = classify(error)
        if (before === undefined || failure instanceof Unreachable) throw failure
        throw new Unreachable('downstream_unreachable', 'a transaction has not begun', error)
      })
      return Promise.all([begun, before?.(createTx(client, outsideTransaction)) as Promise<P>])
    })
    const result = await work(tx, read)
    const written = durability.mark()
    const committing = commit()
    committing.catch(() => undefined)
    let touched = 0
    for (const sending of sent) touched += (await sending).count
    // Of a transaction that has failed the server says ROLLBACK, as if all were well.
    assert((await committing).command === 'COMMIT', 'a transaction whose statements succeed commits')
    // A commit after writes that found no row has nothing to flush, and takes nobody's nonce along.
    if (touched > 0) durability.flushedUpTo(written)
    broken = false
    return result
  } catch (error) {
    const failure = classify(await causeOf(error, sent))
    // A connection that cannot roll back is thrown away with whatever it holds: the server rolls back for it.
    if (!(failure instanceof Unreachable))
      broken = await client.query('rollback').then(
        () => false,
        () => true,
      )
    throw failure
  } finally {
    client.release(broken)
  }
}

/** A statement after one that failed is told only that the transaction has failed. */
async function causeOf(error: unknown, sent: readonly Promise<unknown>[]): Promise<unknown> {
  if (stateOf(error) !== sqlState.inFailedTransaction) return error
  const outcomes = await Promise.allSettled(sent)
  return outcomes.find((outcome) => outcome.status === 'rejected')?.reason ?? error
}

export function createDatabase(options: DatabaseOptions): Database {
  const { queryTimeoutMs = 15_000, lockTimeoutMs = 5_000, idleInTransactionMsMax = 15_000 } = options
  const settings = {
    timezone: 'UTC',
    lock_timeout: lockTimeoutMs,
    // Given up by the driver, a statement would go on at the server, beside the one that is tried next.
    statement_timeout: queryTimeoutMs + statementGraceMs,
    // A process that is frozen in the middle of a transaction holds its locks, and with them a partner's balance.
    idle_in_transaction_session_timeout: idleInTransactionMsMax,
  }
  let closing = false
  const createPool = (connectionsMax: number, ownSettings: Readonly<Record<string, unknown>>) => {
    const made = new pg.Pool({
      connectionString: options.url,
      max: connectionsMax,
      connectionTimeoutMillis: options.connectTimeoutMs ?? 5_000,
      // The driver gives up waiting and the connection is destroyed: what was under way is unknown until it is asked for.
      query_timeout: queryTimeoutMs,
      // Longer than a quiet moment: what comes after it should not pay for connections and for the plans that went with them.
      idleTimeoutMillis: 300_000,
      application_name: 'partner-payments',
      pipeline: true,
      options: Object.entries({ ...settings, ...ownSettings })
        .map(([name, value]) => `-c ${name}=${value}`)
        .join(' '),
    } as pg.PoolConfig)
    made.on('error', (error) => {
      // The pool answers before its last connections are gone; a server that stops right after it cuts them off.
      if (!closing) options.log.warn({ err: error }, 'idle database connection lost')
    })
    // A connection lost within a transaction, between two statements, fails the next one; unheard, it ends the process.
    made.on('connect', (client) => void client.on('error', () => undefined))
    return made
  }
  const pool = createPool(options.connectionsMax, {})
  const unflushedPool = createPool(unflushedConnectionsMax, { synchronous_commit: 'off' })
  const tx = createTx(pool, outsideTransaction)
  const durability = createDurability({
    unflushed: createTx(unflushedPool, outsideTransaction),
    flush: () => tx.run(writeAnything),
  })
  return {
    ...tx,
    pool,
    unflushed: durability.unflushed,
    transaction: async (work, limits = {}) => {
      for (let tries = 1; ; tries += 1) {
        try {
          return await attempt(pool, work, limits, durability)
        } catch (error) {
          if (stateOf(error) === sqlState.readOnlyTransaction) dropIdle(pool)
          if (!isRetryable(error) || tries >= transactionTriesMax) throw error
          options.log.debug({ err: error, tries }, 'transaction retried')
        }
      }
    },
    close: async () => {
      closing = true
      await Promise.all([pool.end(), unflushedPool.end()])
    },
  }
}

/** After a failover idle connections can still lead to the demoted server (SQLSTATE 25006): let them go. */
function dropIdle(pool: pg.Pool): void {
  const idle = (pool as unknown as { _idle?: readonly { client: { end: () => Promise<void> } }[] })._idle ?? []
  for (const { client } of idle.slice()) void client.end().catch(() => undefined)
}
