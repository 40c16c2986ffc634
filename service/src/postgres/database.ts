/**
 * The connection pools, and transactions with retries. Times, ids and JSON are created in TypeScript, not in the
 * database.
 */
import { Socket } from 'node:net'
import pg from 'pg'
import { type Log, secondMs, type Tracing } from '../kernel/index.ts'
import { Unreachable } from '../kernel/api/index.ts'
import {
  attempt,
  createDurability,
  flushStatement,
  type TransactionOptions,
  type UnflushedTx,
  type TransactionWork,
} from './transaction.ts'
import { classify, isReadOnly, isRetryable } from './errors.ts'
import { createLiveness, type Liveness } from './liveness.ts'
import type { Sql } from './sql.ts'
import { type Connect, createTx, type Hint, outsideTransaction, type Send, type Tx } from './tx.ts'

export type { TransactionOptions } from './transaction.ts'

export type Database = Tx & {
  /**
   * Runs `work` in one transaction at read committed. Retries it after a deadlock, so `work` must have no effects outside
   * the database. If the answer to the commit is lost, it throws `Unreachable`: the outcome is unknown, and the caller
   * repeats the request under the same idempotency key.
   */
  readonly transaction: <T, P = undefined>(work: TransactionWork<T, P>, options?: TransactionOptions<P>) => Promise<T>
  readonly unflushed: UnflushedTx
  readonly writes: Writes
  /** Calls `listener` after each commit of this process that has inserted or updated rows. Returns a function that removes it. */
  readonly onWritten: (listener: OnWritten) => () => void
  /** Listens to notifications on a separate connection. */
  readonly listen: Listen
  /** The driver's pool, for migrations and `analyze`. */
  readonly pool: pg.Pool
  readonly close: () => Promise<void>
}

type DatabaseOptions = {
  readonly url: string
  readonly connectionsMax: number
  readonly log: Log
  readonly connectTimeoutMs?: number
  readonly queryTimeoutMs?: number
  readonly lockTimeoutMs?: number
  /** The server ends a transaction that waits longer than this for its next statement. */
  readonly idleInTransactionMsMax?: number
  /**
   * Disables nested loops, for statements that read all rows of a partner. With outdated statistics PostgreSQL chooses nested loops, which
   * took 225 s for 10,000 transactions.
   */
  readonly readsWholeTables?: boolean
  /** The database is sharded by partner (Citus). */
  readonly sharded?: boolean
  /** Lists the ids of all partners from a table that every node has. Scans use it when a shard does not answer. */
  readonly partnerIds?: Sql
}

const transactionTriesMax = 5
const connectTimeoutMsDefault = 5_000
/**
 * Two connections let one batch of nonces run while another waits for its answer. A batch of nonces is one statement.
 */
const unflushedConnectionsMax = 2
/** Time by which the server's statement limit exceeds the driver's, so that callers always get the driver's error. */
const statementGraceMs = 1_000
/** Longer than usual pauses in traffic, because a new connection has to prepare its statements again. */
const idleTimeoutMs = 300_000

type PoolSettings = Readonly<Record<string, string | number>>

function createPool(
  { url, log, connectTimeoutMs = connectTimeoutMsDefault }: DatabaseOptions,
  connectionsMax: number,
  queryTimeoutMs: number,
  settings: PoolSettings,
  liveness: Liveness,
) {
  // The driver awaits the promise and closes the connection if it rejects. Its types do not declare this.
  const onConnect = (client: pg.ClientBase): unknown => liveness.connected(client as pg.PoolClient)
  const pool = new pg.Pool({
    connectionString: url,
    max: connectionsMax,
    connectionTimeoutMillis: connectTimeoutMs,
    // The driver then closes the connection. The outcome of the statement is unknown.
    query_timeout: queryTimeoutMs,
    idleTimeoutMillis: idleTimeoutMs,
    application_name: 'partner-payments',
    pipeline: true,
    keepAlive: true,
    stream: () => {
      const socket = new Socket()
      liveness.opened(socket)
      return socket
    },
    onConnect,
    options: Object.entries(settings)
      .map(([name, value]) => `-c ${name}=${value}`)
      .join(' '),
  })
  pool.on('error', (error) => {
    // `end` resolves before the last connections are closed, so the server may stop meanwhile.
    if (!pool.ending) log.warn({ err: classify(error) }, 'idle database connection lost')
  })
  // A connection that is lost between two statements fails the next one. Without a listener it would end the process.
  pool.on('connect', (client) => void client.on('error', () => undefined))
  return pool
}

export function createDatabase(options: DatabaseOptions): Database {
  const { log, queryTimeoutMs = 15_000, lockTimeoutMs = 5_000, idleInTransactionMsMax = 15_000 } = options
  const { sharded = false, partnerIds, connectTimeoutMs = connectTimeoutMsDefault, readsWholeTables = false } = options
  const settings = {
    timezone: 'UTC',
    lock_timeout: lockTimeoutMs,
    // Otherwise the server would continue a statement that the driver abandoned, during its retry.
    statement_timeout: queryTimeoutMs + statementGraceMs,
    // A process that freezes within a transaction would otherwise keep its locks on a partner's balance.
    idle_in_transaction_session_timeout: idleInTransactionMsMax,
    ...(readsWholeTables && { enable_nestloop: 'off' }),
  }
  const liveness = createLiveness({ url: options.url, log, onLost: () => closeIdleOfAll() })
  const pool = createPool(options, options.connectionsMax, queryTimeoutMs, settings, liveness)
  const unflushedSettings = { ...settings, synchronous_commit: 'off' }
  const unflushedPool = createPool(options, unflushedConnectionsMax, queryTimeoutMs, unflushedSettings, liveness)
  const closeIdleOfAll = () => {
    for (const each of [pool, unflushedPool]) closeIdle(each)
  }
  const writes = createWrites(pool, log)
  const report = (error: unknown) => {
    if (!(error instanceof Unreachable)) return
    if (error.code === 'storage_unavailable') writes.refused(error.message)
    // The other idle connections may lead to the same unresponsive or read-only server.
    if (error.code === 'downstream_timeout' || isReadOnly(error)) closeIdleOfAll()
  }
  const connect = createConnect(pool, liveness)
  const written = createWrittenTables(log)
  const outside = outsideTransaction(sharded, (text) => written.report([text]))
  const tx = createTx(createSend(connect, report), outside)
  const durability = createDurability({
    unflushed: createTx(createSend(createConnect(unflushedPool, liveness), report), outside),
    flush: () => tx.run(flushStatement),
  })
  const scan = partnerIds && sharded ? createScan({ tx, partnerIds, log }) : undefined
  // A setting of the connection reaches only the coordinator; a setting of the transaction also reaches the shards.
  const shardSettings = sharded ? { lockTimeoutMs } : undefined
  return {
    ...tx,
    ...scan,
    pool,
    unflushed: durability.unflushed,
    writes,
    onWritten: written.subscribe,
    listen: createListen({ url: options.url, log, connectTimeoutMs }),
    transaction: async (work, limits = {}) => {
      for (let tries = 1; ; tries += 1) {
        try {
          const { result, hints, changes } = await attempt(connect, work, { ...limits, shardSettings }, durability)
          for (const hint of hints) give(hint, log)
          written.report(changes)
          return result
        } catch (error) {
          report(error)
          if (!isRetryable(error) || tries >= transactionTriesMax) throw error
          log.debug({ err: error, tries }, 'transaction retried')
        }
      }
    },
    close: async () => {
      liveness.close()
      writes.close()
      await Promise.all([pool.end(), unflushedPool.end()])
    },
  }
}

/** Creates a function that opens a connection. It throws Unreachable if none is open in time. */
const createConnect =
  (pool: pg.Pool, liveness: Liveness): Connect =>
  async () => {
    const client = await pool.connect().catch((error: unknown) => {
      throw classify(error)
    })
    return {
      client,
      send: (config) => liveness.watch(client, client.query(config)),
      run: (text) => liveness.watch(client, client.query(text)),
      release: (broken) => {
        if (broken) liveness.abandoned(client)
        client.release(broken)
      },
    }
  }

/** Creates a function that sends each statement on a connection from the pool. */
const createSend =
  (connect: Connect, report: (error: unknown) => void): Send =>
  async (config) => {
    let broken = false
    const connection = await connect()
    try {
      return await connection.send(config)
    } catch (error) {
      const failure = classify(error)
      broken = failure instanceof Unreachable
      report(failure)
      throw failure
    } finally {
      connection.release(broken)
    }
  }

/** Runs `work` in the caller's transaction, or in a new one if `tx` is undefined. */
export const inTransaction = <T>(db: Database, tx: Tx | undefined, work: (tx: Tx) => Promise<T>): Promise<T> =>
  tx === undefined ? db.transaction(work) : work(tx)

/** Runs a hint. Its failure must not make a committed transaction look failed. */
function give(hint: Hint, log: Log): void {
  try {
    hint()
  } catch (error) {
    log.error({ err: error }, 'after-commit hint failed')
  }
}

/**
 * Closes idle connections. After a failover they may still be connected to the demoted server (SQLSTATE 25006). The
 * pool closes a connection that is released as broken. A connection ended from outside would stay in the pool and fail
 * its next caller.
 */
function closeIdle(pool: pg.Pool): void {
  for (let left = pool.idleCount; left > 0; left -= 1)
    pool.connect().then(
      (client) => client.release(true),
      () => undefined,
    )
}

// Reports which tables the commits of this process have written. Only a hint: the process may die between a commit and the
// call, so readers of the rows must also poll.

type OnWritten = (tables: ReadonlySet<string>) => void

/** Maximum number of cached statement texts. On a sharded database a statement has a text for each number of rows. */
const textsMax = 5_000
const tablesByText = new Map<string, readonly string[]>()
const written = /\b(?:insert\s+into|update)\s+([a-z_0-9]+\.[a-z_0-9]+)/g

/** Lists the tables that a statement inserts into or updates. Deleting a row does not make work due. */
function tablesOf(text: string): readonly string[] {
  let tables = tablesByText.get(text)
  if (tables === undefined) {
    if (tablesByText.size >= textsMax) tablesByText.clear()
    tables = [...text.matchAll(written)].map((match) => match[1] ?? '')
    tablesByText.set(text, tables)
  }
  return tables
}

export const tablesIn = (text: string): ReadonlySet<string> =>
  new Set([...text.matchAll(/\b(?:from|join|into|update)\s+([a-z_0-9]+\.[a-z_0-9]+)/g)].map((match) => match[1] ?? ''))

function createWrittenTables(log: Log) {
  const listeners = new Set<OnWritten>()
  return {
    /** Calls `listener` after each commit that has written tables. Returns a function that removes it. */
    subscribe: (listener: OnWritten) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    /**
     * Reports the tables that the statements of a commit have written. A listener that fails must not make a committed
     * transaction look failed.
     */
    report: (texts: Iterable<string>): void => {
      if (listeners.size === 0) return
      const tables = new Set<string>()
      for (const text of texts) for (const table of tablesOf(text)) tables.add(table)
      if (tables.size === 0) return
      for (const listener of listeners)
        try {
          listener(tables)
        } catch (error) {
          log.error({ err: error }, 'after-commit hint failed')
        }
    },
  }
}

// Tracks whether the database accepts writes. It refuses them when its disk is full, or when an operator has made it read only.
// While it refuses, a probe writes as a request would, so that the recovery is detected without a request.

const probeMs = 500
/** Writes more than a small amount of free space, then rolls back, which removes it. */
const probeStatement = `
  begin;
  set local temp_tablespaces = '';
  create temporary table write_probe on commit drop as select generate_series(1, 20000) as number;
  rollback`

type Writes = {
  /** Reason why the database refuses writes. Undefined: it accepts them. */
  readonly problem: () => string | undefined
  readonly refused: (reason: string) => void
  /** Calls `listener` at every refused write. */
  readonly onRefused: (listener: (reason: string) => void) => void
  readonly close: () => void
}

function createWrites(pool: pg.Pool, log: Log): Writes {
  const listeners: ((reason: string) => void)[] = []
  let problem: string | undefined
  let timer: NodeJS.Timeout | undefined

  const probeLater = () => {
    timer = setTimeout(() => void probe(), probeMs)
    timer.unref()
  }
  const probe = async () => {
    const client = await pool.connect().catch(() => undefined)
    const accepted = client !== undefined && (await succeeds(client.query(probeStatement)))
    // A connection that was opened while the setting was read only may stay read only.
    client?.release(!accepted)
    if (!accepted) return probeLater()
    problem = undefined
    log.warn('the database accepts writes again')
  }
  return {
    problem: () => problem,
    refused: (reason) => {
      for (const listener of listeners) listener(reason)
      if (problem !== undefined) return
      problem = reason
      log.error({ reason }, 'the database refuses writes')
      probeLater()
    },
    onRefused: (listener) => void listeners.push(listener),
    close: () => clearTimeout(timer),
  }
}

const succeeds = (sending: Promise<unknown>): Promise<boolean> =>
  sending.then(
    () => true,
    () => false,
  )

// Listens to notifications of other processes on a separate connection, and reopens it when it is lost. Notifications are hints:
// they are lost during a reconnect, and a pooler in transaction mode does not pass them on.

/** The delays before reconnecting: 0.5, 1, 2 ... 10 s. */
const firstRetryMs = 500
const retryMsMax = 10_000

type Listener = {
  readonly received: (payload: string) => void
  /** Called when the connection is open, also after a reconnect: earlier notifications may be lost. */
  readonly connected: () => void
}
type Listen = (channel: string, listener: Listener) => { readonly stop: () => Promise<void> }

const createListen =
  ({
    url,
    log,
    connectTimeoutMs,
  }: {
    readonly url: string
    readonly log: Log
    readonly connectTimeoutMs: number
  }): Listen =>
  (channel, listener) => {
    let client: pg.Client | undefined
    let timer: NodeJS.Timeout | undefined
    let stopped = false
    let retries = 0

    const lost = (lostClient: pg.Client, error?: unknown) => {
      if (stopped || client !== lostClient) return
      client = undefined
      lostClient.end().catch(() => undefined)
      const err = error === undefined ? {} : { err: classify(error) }
      if (retries === 0) log.warn({ ...err, channel }, 'connection for job notifications lost; reconnecting')
      timer = setTimeout(() => void open(), Math.min(retryMsMax, firstRetryMs * 2 ** Math.min(retries, 10)))
      retries += 1
    }
    const open = async () => {
      const opened = new pg.Client({
        connectionString: url,
        connectionTimeoutMillis: connectTimeoutMs,
        application_name: 'partner-payments-listen',
        keepAlive: true,
      })
      client = opened
      opened.on('error', (error) => lost(opened, error))
      opened.on('end', () => lost(opened))
      opened.on('notification', ({ payload = '' }) => listener.received(payload))
      try {
        await opened.connect()
        await opened.query(`listen ${pg.escapeIdentifier(channel)}`)
        retries = 0
        if (!stopped) listener.connected()
      } catch (error) {
        lost(opened, error)
      }
    }
    void open()
    return {
      stop: async () => {
        stopped = true
        clearTimeout(timer)
        await client?.end().catch(() => undefined)
      },
    }
  }

// Scans for due work on a sharded database. A statement that reads all shards fails if one shard does not answer. Then
// the scan reads partner by partner for a while and skips the partners that cannot be read.

/** Time for which scans read partner by partner after a failure, and for which they skip a failed partner. */
const partnerByPartnerMs = 10 * secondMs
const readsMax = 4

type ScanDeps = { readonly tx: Tx; readonly partnerIds: Sql; readonly log: Log }

function createScan({ tx, partnerIds, log }: ScanDeps): Pick<Tx, 'rows' | 'row'> {
  let partnerByPartnerUntilMs = -Infinity
  const leftOutUntilMs = new Map<string, number>()

  const readPartner = async <T extends object>(partnerId: string, statement: Sql): Promise<readonly T[]> => {
    if ((leftOutUntilMs.get(partnerId) ?? -Infinity) > performance.now()) return []
    try {
      const rows = await tx.rows<T>(statement)
      leftOutUntilMs.delete(partnerId)
      return rows
    } catch (error) {
      leftOutUntilMs.set(partnerId, performance.now() + partnerByPartnerMs)
      log.error({ err: error, partnerId }, 'partner skipped in a scan: its shard does not answer')
      return []
    }
  }

  const readPartners = async <T extends object>(ofPartner: (partnerId: string) => Sql): Promise<readonly T[]> => {
    const ids = (await tx.rows<{ readonly id: string }>(partnerIds)).map(({ id }) => id)
    const found: T[] = []
    for (let at = 0; at < ids.length; at += readsMax) {
      const reads = ids.slice(at, at + readsMax).map((id) => readPartner<T>(id, ofPartner(id)))
      found.push(...(await Promise.all(reads)).flat())
    }
    return found
  }

  const rows = async <T extends object>(statement: Sql): Promise<readonly T[]> => {
    const ofPartner = statement.scan?.ofPartner
    if (ofPartner === undefined) return tx.rows<T>(statement)
    if (partnerByPartnerUntilMs > performance.now()) return readPartners<T>(ofPartner)
    try {
      return await tx.rows<T>(statement)
    } catch (error) {
      log.error({ err: error, scan: statement.scan?.reason }, 'scan over all shards failed; reading partner by partner')
      partnerByPartnerUntilMs = performance.now() + partnerByPartnerMs
      return readPartners<T>(ofPartner)
    }
  }

  return { rows, row: async <T extends object>(statement: Sql) => (await rows<T>(statement))[0] }
}

/** Partners in the order of their ids. `complete`: true for the last page. */
export type PartnerPage = { readonly partnerIds: readonly string[]; readonly complete: boolean }

/** Maximum number of rows that are read to find partners with work, so that not all rows of a busy partner are read. */
const rowsPerLookMax = 200

/** Returns the partners of the first rows of `scan`, which lists due rows in the order of the partners. */
export async function firstPartners(tx: Tx, partnersMax: number, scan: (rowsMax: number) => Sql): Promise<PartnerPage> {
  const rows = await tx.rows<{ readonly partnerId: string }>(scan(rowsPerLookMax))
  const partnerIds = [...new Set(rows.map((row) => row.partnerId))]
  const complete = rows.length < rowsPerLookMax && partnerIds.length <= partnersMax
  return { partnerIds: partnerIds.slice(0, partnersMax), complete }
}

/**
 * Provides `transaction` for batches of a single statement. PostgreSQL runs such a statement as a transaction without
 * `begin` and `commit`.
 */
export const withoutTransaction = (tx: Tx): Pick<Database, 'transaction' | 'sharded'> => ({
  sharded: tx.sharded,
  transaction: async <T, P = undefined>(
    work: (tx: Tx, read: P) => Promise<T>,
    { before }: TransactionOptions<P> = {},
  ): Promise<T> => work(tx, await (before?.(tx) as Promise<P>)),
})

/** Returns the name of a statement: its leading comment, such as `payouts.insertPayouts`, or its first word. */
function statementName({ parts }: Sql): string {
  const text = parts[0] ?? ''
  return /^\/\* ([\w.-]+) \*\//.exec(text)?.[1] ?? /\w+/.exec(text)?.[0] ?? 'statement'
}

const attributes = { 'db.system.name': 'postgresql' } as const

/** Wraps a database so that its transactions and single statements become spans of the active trace. */
export function tracedDatabase(db: Database, tracing: Tracing): Database {
  const traced = <T>(name: string, work: () => Promise<T>) => tracing.span({ name, kind: 'client', attributes }, work)
  return {
    ...db,
    rows: (statement) => traced(statementName(statement), () => db.rows(statement)),
    row: (statement) => traced(statementName(statement), () => db.row(statement)),
    run: (statement) => traced(statementName(statement), () => db.run(statement)),
    transaction: (work, options) => traced('transaction', () => db.transaction(work, options)),
  }
}
