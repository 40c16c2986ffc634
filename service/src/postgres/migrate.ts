/**
 * Migrations: plain SQL files `NNNN-name.sql`, applied in order, forward only, each in its own transaction. Several
 * processes may start at once: a lock on the table of migrations lets one apply them while the others wait.
 */
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type pg from 'pg'
import { dayMs, systemClock } from '../kernel/index.ts'
import { classify, stateOf } from './errors.ts'

const migrationsFolder = fileURLToPath(new URL('../../migrations', import.meta.url))

export class MigrationError extends Error {
  override readonly name = 'MigrationError'
}

type Migration = { readonly number: number; readonly name: string; readonly text: string; readonly checksum: string }

export async function readMigrations(folder = migrationsFolder): Promise<readonly Migration[]> {
  const names = (await readdir(folder)).filter((name) => /^\d{4}-[a-z0-9-]+\.sql$/.test(name)).sort()
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(join(folder, name), 'utf8')
      return { number: Number(name.slice(0, 4)), name, text, checksum: createHash('sha256').update(text).digest('hex') }
    }),
  )
}

/** Applies the missing migrations, up to the number `upTo` (for tests of old data). Returns the names of those applied. */
export async function migrate(
  pool: pg.Pool,
  options: { readonly folder?: string; readonly upTo?: number } = {},
): Promise<readonly string[]> {
  const migrations = await readMigrations(options.folder)
  const applied: string[] = []
  const client = await pool.connect().catch((error: unknown) => {
    throw classify(error)
  })
  try {
    await client
      .query(
        `create table if not exists public.schema_migrations (
         number integer primary key, name text not null, checksum text not null, applied_at timestamptz not null)`,
      )
      .catch(ignoreConcurrentCreate)
    for (const migration of migrations) {
      if (migration.number > (options.upTo ?? Infinity)) break
      if (await applyOne(client, migration)) applied.push(migration.name)
    }
    await refuseNewerDatabase(client, migrations)
  } finally {
    // Close the connection, because its limits are those of a migration.
    client.release(true)
  }
  return applied
}

/** For roles that do not migrate. Throws a MigrationError unless the database is exactly at this version. */
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
    const missing = migrations.find(({ number }) => !applied.rows.some((row) => row.number === number))
    if (missing)
      throw new MigrationError(`the database lacks migration ${missing.name}: run the role \`migrate\` first`)
    await refuseNewerDatabase(client, migrations)
  } finally {
    client.release()
  }
}

/**
 * Concurrent `create table if not exists` can fail in PostgreSQL: with 23505, 42P07 or 42710, if another process has just
 * created the row, the table or the type.
 */
function ignoreConcurrentCreate(error: unknown): void {
  if (!new Set(['23505', '42P07', '42710']).has(stateOf(error) ?? '')) throw error
}

/** Without the usual time limit: the statement waits for migrations of another process, or builds an index. */
function runLong(client: pg.PoolClient, text: string): Promise<pg.QueryResult> {
  const config = { text, query_timeout: dayMs }
  return client.query(config)
}

async function applyOne(client: pg.PoolClient, migration: Migration): Promise<boolean> {
  await client.query('begin')
  try {
    await client.query('set local statement_timeout = 0')
    await client.query('set local lock_timeout = 0')
    await runLong(client, 'lock table public.schema_migrations in exclusive mode')
    // The migration itself waits for locks only briefly, because later transactions queue behind its lock request.
    await client.query('set local lock_timeout to default')
    const found = await client.query<{ checksum: string }>(
      'select checksum from public.schema_migrations where number = $1',
      [migration.number],
    )
    const [row] = found.rows
    if (row === undefined) {
      await runLong(client, migration.text)
      await client.query('insert into public.schema_migrations values ($1, $2, $3, $4)', [
        migration.number,
        migration.name,
        migration.checksum,
        systemClock.now(),
      ])
    } else if (row.checksum !== migration.checksum) {
      throw new MigrationError(`migration ${migration.name} was changed after this database had applied it`)
    }
    await client.query('commit')
    return row === undefined
  } catch (error) {
    await client.query('rollback').catch(() => undefined)
    if (error instanceof MigrationError) throw error
    throw new MigrationError(`migration ${migration.name} failed: ${(error as Error).message}`, { cause: error })
  }
}

async function refuseNewerDatabase(client: pg.PoolClient, migrations: readonly Migration[]): Promise<void> {
  const last = migrations.at(-1)?.number ?? 0
  const newer = await client.query<{ name: string }>('select name from public.schema_migrations where number > $1', [
    last,
  ])
  const [row] = newer.rows
  if (row)
    throw new MigrationError(
      `the database has migration ${row.name}, which is newer than this version: start a newer version`,
    )
}
