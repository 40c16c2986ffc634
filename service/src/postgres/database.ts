/**
 * The pool and the transaction. Rows come back as plain objects with camelCase names; int8 as bigint, timestamptz as
 * Date, json and jsonb as text (an exact decimal must not meet a float). Times, ids and JSON are made in TypeScript.
 */
import pg from 'pg'
import { type Log, Unreachable } from '../kernel/index.ts'
import { classify, isRetryable, sqlState, stateOf } from './errors.ts'
import { type Sql, toStatement } from './sql.ts'

export type Row = Readonly<Record<string, unknown>>
/** What a statement can be sent through: the pool (its own transaction) or a transaction under way. */
export type Tx = {
  readonly rows: <T extends object = Row>(statement: Sql) => Promise<readonly T[]>
  /** The only row, or undefined. */
  readonly row: <T extends object = Row>(statement: Sql) => Promise<T | undefined>
  /** How many rows the statement touched. */
  readonly run: (statement: Sql) => Promise<number>
}
export type Database = Tx & {
  /**
   * One transaction, read committed, retried when PostgreSQL chose it as the victim of a deadlock. `work` may run more
   * than once, so it touches nothing but the database. A commit whose answer is lost is `Unreachable`: the outcome is
   * unknown, and the caller finds out under the same idempotency key.
   */
  readonly transaction: <T>(work: (tx: Tx) => Promise<T>) => Promise<T>
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
/** The driver gives up first, so that the caller is always told by the same error. */
const statementGraceMs = 1_000

const types = new pg.TypeOverrides()
types.setTypeParser(20, (text) => BigInt(text))
types.setTypeParser(114, (text) => text)
types.setTypeParser(3802, (text) => text)
types.setTypeParser(1082, (text) => text)
// bigint[] too: batches come back as arrays.
types.setTypeParser(1016, (text) => text.slice(1, -1).split(',').filter(Boolean).map(BigInt))

const camelNames = new Map<string, string>()
function camel(name: string): string {
  let mapped = camelNames.get(name)
  if (mapped === undefined) {
    mapped = name.replace(/_([a-z0-9])/g, (_all, letter: string) => letter.toUpperCase())
    camelNames.set(name, mapped)
  }
  return mapped
}

type Queryable = Pick<pg.Pool | pg.PoolClient, 'query'>

async function send(target: Queryable, statement: Sql): Promise<{ rows: readonly Row[]; count: number }> {
  try {
    const { name, text, values } = toStatement(statement)
    const result = await target.query({ name, text, values: [...values], rowMode: 'array', types })
    const fields = result.fields.map((field) => camel(field.name))
    const rows = (result.rows as unknown[][]).map((cells) => {
      const row: Record<string, unknown> = {}
      cells.forEach((cell, index) => {
        row[fields[index] as string] = cell
      })
      return row
    })
    return { rows, count: result.rowCount ?? 0 }
  } catch (error) {
    throw classify(error)
  }
}

function createTx(target: Queryable): Tx {
  return {
    rows: async <T extends object>(statement: Sql) => (await send(target, statement)).rows as readonly T[],
    row: async <T extends object>(statement: Sql) => (await send(target, statement)).rows[0] as T | undefined,
    run: async (statement) => (await send(target, statement)).count,
  }
}

async function attempt<T>(pool: pg.Pool, work: (tx: Tx) => Promise<T>): Promise<T> {
  const client = await pool.connect().catch((error: unknown) => {
    throw classify(error)
  })
  let broken = true
  try {
    await client.query('begin')
    const result = await work(createTx(client))
    await client.query('commit')
    broken = false
    return result
  } catch (error) {
    const failure = classify(error)
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
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.connectionsMax,
    connectionTimeoutMillis: options.connectTimeoutMs ?? 5_000,
    // The driver gives up waiting and the connection is destroyed: what was under way is unknown until it is asked for.
    query_timeout: queryTimeoutMs,
    idleTimeoutMillis: 30_000,
    application_name: 'partner-payments',
    options: Object.entries(settings)
      .map(([name, value]) => `-c ${name}=${value}`)
      .join(' '),
  })
  let closing = false
  pool.on('error', (error) => {
    // The pool answers before its last connections are gone; a server that stops right after it cuts them off.
    if (!closing) options.log.warn({ err: error }, 'idle database connection lost')
  })
  // A connection lost within a transaction, between two statements, fails the next one; unheard, it ends the process.
  pool.on('connect', (client) => void client.on('error', () => undefined))
  return {
    ...createTx(pool),
    pool,
    transaction: async (work) => {
      for (let tries = 1; ; tries += 1) {
        try {
          return await attempt(pool, work)
        } catch (error) {
          if (stateOf(error) === sqlState.readOnlyTransaction) dropIdle(pool)
          if (!isRetryable(error) || tries >= transactionTriesMax) throw error
          options.log.debug({ err: error, tries }, 'transaction retried')
        }
      }
    },
    close: () => {
      closing = true
      return pool.end()
    },
  }
}

/** After a failover idle connections can still lead to the demoted server (SQLSTATE 25006): let them go. */
function dropIdle(pool: pg.Pool): void {
  const idle = (pool as unknown as { _idle?: readonly { client: { end: () => Promise<void> } }[] })._idle ?? []
  for (const { client } of idle.slice()) void client.end().catch(() => undefined)
}
