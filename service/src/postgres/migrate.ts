/**
 * Migrations: plain SQL files `NNNN-name.sql`, applied in order, forward only, each in its own transaction. Several
 * processes may start at once: a lock on the table of migrations lets one apply them while the others wait.
 * `NNNN-contract-name.sql` drops what only the previous version uses, and is applied on request.
 */
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type pg from 'pg'
import { dayMs, loadOnce, systemClock } from '../kernel/index.ts'
import { classify, sqlState, sqlStateOf } from './errors.ts'

const migrationsFolder = fileURLToPath(new URL('../../migrations', import.meta.url))

export class MigrationError extends Error {
  override readonly name = 'MigrationError'
}

type Migration = {
  readonly number: number
  readonly name: string
  readonly text: string
  readonly checksum: string
  /** True: the migration drops what the previous version uses. */
  readonly contracts: boolean
}

const isContract = (name: string): boolean => /^\d{4}-contract-/.test(name)

export async function readMigrations(folder = migrationsFolder): Promise<readonly Migration[]> {
  const names = (await readdir(folder)).filter((name) => /^\d{4}-[a-z0-9-]+\.sql$/.test(name)).sort()
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(join(folder, name), 'utf8')
      const checksum = createHash('sha256').update(text).digest('hex')
      return { number: Number(name.slice(0, 4)), name, text, checksum, contracts: isContract(name) }
    }),
  )
}

async function hasCitus(client: pg.PoolClient): Promise<boolean> {
  const found = await client.query("select 1 from pg_extension where extname = 'citus'")
  return found.rows.length > 0
}

/**
 * Settings under which statements run on one shard after another, because a migration may change a table after an
 * update of all its rows.
 */
const citusSettings = [
  "citus.multi_shard_modify_mode = 'sequential'",
  // Otherwise a table that refers to partners before it is sharded would become a table of the coordinator.
  'citus.enable_local_reference_table_foreign_keys = off',
] as const

type MigrateOptions = {
  readonly folder?: string
  /** The last migration to apply, for tests of old data. */
  readonly upTo?: number
  /** True: also applies migrations that drop what the previous version uses. */
  readonly contract?: boolean
  /** A migration that waits longer for a lock is rolled back and retried. */
  readonly lockTimeoutMs?: number
  readonly retryPauseMs?: number
  readonly triesMax?: number
}

/** Applies the missing migrations. Returns the names of applied and recorded migrations. */
export async function migrate(pool: pg.Pool, options: MigrateOptions = {}): Promise<readonly string[]> {
  const { folder, upTo = Infinity, contract = true } = options
  const applied: string[] = []
  const client = await pool.connect().catch((error: unknown) => {
    throw classify(error)
  })
  try {
    const migrations = await readMigrations(folder)
    if (await hasCitus(client)) for (const setting of citusSettings) await client.query(`set ${setting}`)
    await client
      .query(
        `create table if not exists public.schema_migrations (
         number integer primary key, name text not null, checksum text not null, applied_at timestamptz not null)`,
      )
      .catch(ignoreConcurrentCreate)
    applied.push(...(await recordBaseline(client, migrations)))
    for (const migration of migrations) {
      if (migration.number > upTo || (migration.contracts && !contract)) continue
      if (await applyWithRetries(client, migration, options)) applied.push(migration.name)
    }
    await refuseNewerDatabase(client, migrations)
  } finally {
    // Closes the connection, because its limits are those of a migration.
    client.release(true)
  }
  return applied
}

/** `problem`: the reason why this version cannot use the database. */
export type SchemaState = { readonly version: number; readonly problem: string | undefined }

/**
 * Creates a check that reads the highest migration of the database. This version can use a newer database, because
 * migrations keep what the previous version needs.
 */
export function createSchemaCheck(pool: pg.Pool, folder = migrationsFolder): () => Promise<SchemaState> {
  const read = loadOnce(() => readMigrations(folder))
  return async () => {
    const migrations = await read()
    const { rows } = await pool.query<{ number: number }>('select number from public.schema_migrations')
    const numbers = new Set(rows.map(({ number }) => number))
    const missing = migrations.find(({ number, contracts }) => !contracts && !numbers.has(number))
    const problem = missing ? `the database lacks migration ${missing.name}` : undefined
    return { version: Math.max(0, ...numbers), problem }
  }
}

/** Throws a MigrationError unless the database has all migrations of this version. For roles that do not migrate. */
export async function requireMigrated(pool: pg.Pool, folder = migrationsFolder): Promise<void> {
  const migrations = await readMigrations(folder)
  const client = await pool.connect().catch((error: unknown) => {
    throw classify(error)
  })
  try {
    const table = await client.query<{ found: boolean }>(
      "select to_regclass('public.schema_migrations') is not null as found",
    )
    const applied = table.rows[0]?.found
      ? await client.query<{ number: number }>('select number from public.schema_migrations')
      : { rows: [] }
    const missing = migrations.find(
      ({ number, contracts }) => !contracts && !applied.rows.some((row) => row.number === number),
    )
    if (missing)
      throw new MigrationError(`the database lacks migration ${missing.name}: run the role \`migrate\` first`)
    await refuseNewerDatabase(client, migrations)
  } finally {
    client.release()
  }
}

/**
 * Ignores the errors of a concurrent `create table if not exists`: another process has just created the row (23505),
 * the table (42P07) or the type (42710).
 */
function ignoreConcurrentCreate(error: unknown): void {
  if (!new Set(['23505', '42P07', '42710']).has(sqlStateOf(error) ?? '')) throw error
}

/** Runs a statement without the usual time limit: it waits for migrations of another process, or builds an index. */
function runLong(client: pg.PoolClient, text: string): Promise<pg.QueryResult> {
  const config = { text, query_timeout: dayMs }
  return client.query(config)
}

const lockTimeoutMsDefault = 2000
const retryPauseMsDefault = 500
/** Number of tries: about two minutes with the pauses. */
const triesMaxDefault = 50

/** Applies a migration. Waits briefly for locks and retries often, because transactions queue behind a waiting migration. */
async function applyWithRetries(
  client: pg.PoolClient,
  migration: Migration,
  options: MigrateOptions,
): Promise<boolean> {
  const { triesMax = triesMaxDefault, retryPauseMs = retryPauseMsDefault } = options
  for (let tries = 1; ; tries += 1) {
    try {
      return await applyOne(client, migration, options.lockTimeoutMs ?? lockTimeoutMsDefault)
    } catch (error) {
      if (error instanceof MigrationError) throw error
      const isLocked = lockStates.has(sqlStateOf(error))
      if (!isLocked || tries >= triesMax)
        throw new MigrationError(`migration ${migration.name} failed: ${(error as Error).message}`, { cause: error })
    }
    await pause(retryPauseMs)
  }
}

const lockStates = new Set<string | undefined>([sqlState.lockNotAvailable, sqlState.deadlock])

/** Runs `work` in a transaction with the lock of migrations: no other process migrates meanwhile. */
async function locked<T>(client: pg.PoolClient, work: () => Promise<T>): Promise<T> {
  await client.query('begin')
  try {
    await client.query('set local statement_timeout = 0')
    await client.query('set local idle_in_transaction_session_timeout = 0')
    await client.query('set local lock_timeout = 0')
    await runLong(client, 'lock table public.schema_migrations in exclusive mode')
    const result = await work()
    await client.query('commit')
    return result
  } catch (error) {
    await client.query('rollback').catch(() => undefined)
    throw error
  }
}

async function record(client: pg.PoolClient, { number, name, checksum }: AppliedMigration): Promise<void> {
  const values = [number, name, checksum, systemClock.now()]
  await client.query('insert into public.schema_migrations values ($1, $2, $3, $4)', values)
}

/**
 * Records the baseline in a database that the last version before it created. Refuses a database that lacks a migration
 * of that version.
 */
function recordBaseline(client: pg.PoolClient, migrations: readonly Migration[]): Promise<readonly string[]> {
  const baseline = migrations.filter(({ number }) => isBaseline(number))
  return locked(client, async () => {
    const { rows } = await client.query<AppliedMigration>('select number, name, checksum from public.schema_migrations')
    const before = rows.filter(({ number }) => isBeforeBaseline(number))
    if (baseline.length === 0 || before.length === 0 || rows.some(({ number }) => isBaseline(number))) return []
    if (!completesVersionBefore(before)) throw new MigrationError(versionBeforeMissing)
    for (const migration of baseline) await record(client, migration)
    return baseline.map(({ name }) => name)
  })
}

function applyOne(client: pg.PoolClient, migration: Migration, lockTimeoutMs: number): Promise<boolean> {
  return locked(client, async () => {
    await client.query(`set local lock_timeout = ${lockTimeoutMs}`)
    const found = await client.query<{ checksum: string }>(
      'select checksum from public.schema_migrations where number = $1',
      [migration.number],
    )
    const [row] = found.rows
    if (row === undefined) {
      // One by one, because Citus repeats the text of a query on the shards.
      for (const statement of statementsOf(migration.text)) await runLong(client, statement)
      await record(client, migration)
    } else if (row.checksum !== migration.checksum)
      throw new MigrationError(`migration ${migration.name} was changed after this database had applied it`)
    return row === undefined
  })
}

/**
 * Splits a migration into statements, without comments. A semicolon within quotes or a body (`$$`) does not end a statement.
 */
export function statementsOf(text: string): readonly string[] {
  const tokens = text.matchAll(/--[^\n]*|\$\$[^]*?\$\$|'(?:[^']|'')*'|"[^"]*"|;|[^-$'";]+|[^]/g)
  const statements = ['']
  for (const [token] of tokens)
    if (token === ';') statements.push('')
    else if (!token.startsWith('--')) statements[statements.length - 1] += token
  return statements.map((statement) => statement.trim()).filter((statement) => statement !== '')
}

/**
 * Refuses a database with contract migrations of a newer version. Other migrations of a newer version keep what this version uses, so
 * that it can start again until the contract migration.
 */
async function refuseNewerDatabase(client: pg.PoolClient, migrations: readonly Migration[]): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    'select name from public.schema_migrations where number > $1 order by number',
    [migrations.at(-1)?.number ?? 0],
  )
  const contract = rows.find(({ name }) => isContract(name))
  if (contract)
    throw new MigrationError(
      `the database has migration ${contract.name}, which drops what this version uses: start a newer version`,
    )
}

// The baseline: the first migrations of version 0.1.0 create the schema that 179 earlier migrations had created. In a
// database with exactly those migrations, the baseline is only recorded as applied. The earlier rows stay, so that processes
// of the previous version stay ready and can start again. Decision 0143.

/** First number of the baseline. Its numbers continue those of the earlier migrations. */
const first = 301
export const lastBaselineNumber = 330

export const isBaseline = (number: number): boolean => number >= first && number <= lastBaselineNumber
const isBeforeBaseline = (number: number): boolean => number < first

type AppliedMigration = { readonly number: number; readonly name: string; readonly checksum: string }

/**
 * Digests of all migrations before the baseline: for PostgreSQL and for Citus, each with both versions of migration
 * 0046.
 */
const digests: ReadonlySet<string> = new Set([
  '2989999ecb2197f0f961c89596950164ee0d81aac767e0783f21d330e4fed1d6',
  '01f2cb89caae7f705f30b3d558b1910202642faead3c76b0501b38e81fc781df',
  'f37d2015ac1ded2081f38875019bed7f8e71725ae6d516037408c798b16c611e',
  'a4872b24aa3cf613ea60f59bea75310b0030523ab15cfc19a5ce52abf5344b43',
])

/** Reports whether these are exactly the migrations before the baseline, with their names and texts. */
function completesVersionBefore(applied: readonly AppliedMigration[]): boolean {
  const lines = applied
    .toSorted((a, b) => a.number - b.number)
    .map((row) => `${row.number} ${row.name} ${row.checksum}`)
  return digests.has(createHash('sha256').update(lines.join('\n')).digest('hex'))
}

const versionBeforeMissing =
  'the database is older than version 0.1.0 can upgrade, and nothing was changed: start commit 69df0e16 with MIGRATE_CONTRACT=on once, then this version'
