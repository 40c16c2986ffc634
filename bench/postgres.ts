/** The PostgreSQL of the bench: an embedded durable server in a temporary folder, or the one of DATABASE_URL. */
import { execFile } from 'node:child_process'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { migrate, startEmbeddedPostgres } from '../service/src/postgres/index.ts'
import { baseEnv, databaseUrl } from './environment.ts'

export type Postgres = {
  readonly folder: string
  /** The process id of the embedded server. */
  readonly pid: number | undefined
  /** The server version, and the settings that affect the durability of a commit. */
  readonly settings: Readonly<Record<string, string>>
  /** Creates a database, empty or with the service's schema, and returns its URL. */
  readonly create: (name: string, schema: 'empty' | 'service') => Promise<string>
  /** Writes dirty pages of earlier samples, so that they do not slow down the next sample. */
  readonly checkpoint: () => Promise<void>
  /** Updates planner statistics, as the service's workers do for growing tables, and `pgbench -i` for its tables. */
  readonly analyse: () => Promise<void>
  readonly stop: () => Promise<void>
}

const run = promisify(execFile)
/** The connections of all measured processes, most of them frozen. */
const connectionsMax = 500

/** Opens one connection for `work`. The driver returns int8 as text. */
export async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, options: '-c timezone=UTC' })
  client.on('error', () => {})
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

const shown = ['fsync', 'synchronous_commit', 'full_page_writes', 'shared_buffers', 'max_wal_size']

async function readSettings(url: string): Promise<Readonly<Record<string, string>>> {
  return withClient(url, async (client) => {
    const { rows } = await client.query<{ name: string; value: string }>(
      'select name, current_setting(name) as value from unnest($1::text[]) as name',
      [['server_version', ...shown]],
    )
    return Object.fromEntries(rows.map(({ name, value }) => [name, value]))
  })
}

export async function startPostgres(): Promise<Postgres> {
  const folder = await mkdtemp(join(tmpdir(), 'partner-payments-bench-'))
  // The embedded server runs as another user if this is root, and must reach its data folder.
  await chmod(folder, 0o711)
  const embedded =
    databaseUrl === undefined
      ? await startEmbeddedPostgres({ dataDir: folder, durable: true, connectionsMax })
      : undefined
  const adminUrl = databaseUrl ?? embedded?.url ?? ''
  const created: string[] = []
  const urlOf = (name: string) => Object.assign(new URL(adminUrl), { pathname: `/${name}` }).toString()
  return {
    folder,
    pid: embedded?.pid,
    settings: await readSettings(adminUrl),
    create: async (suffix, schema) => {
      const name = `bench_${process.pid}_${suffix}`
      await withClient(adminUrl, (client) => client.query(`create database ${name}`))
      created.push(name)
      if (schema === 'service') await migrated(urlOf(name))
      return urlOf(name)
    },
    analyse: async () => {
      for (const name of created) await withClient(urlOf(name), (client) => client.query('analyze'))
    },
    checkpoint: () => withClient(adminUrl, async (client) => void (await client.query('checkpoint'))),
    stop: async () => {
      if (embedded === undefined)
        for (const name of created)
          await withClient(adminUrl, (client) => client.query(`drop database if exists ${name} with (force)`))
      await embedded?.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function migrated(url: string): Promise<void> {
  const pool = new pg.Pool({ connectionString: url, max: 2 })
  try {
    await migrate(pool)
  } finally {
    await pool.end()
  }
}

/** libpq reads the connection from the environment, so that the password is in no process list. */
function libpqEnv(url: string): Readonly<Record<string, string>> {
  const { hostname, port, username, password, pathname } = new URL(url)
  return {
    ...baseEnv,
    PGHOST: hostname,
    PGPORT: port || '5432',
    PGUSER: decodeURIComponent(username),
    PGPASSWORD: decodeURIComponent(password),
    PGDATABASE: pathname.slice(1),
  }
}

export const pgbenchClients = 16

export async function fillPgbench(url: string, scale: number): Promise<void> {
  await run('pgbench', ['-i', '-q', '-s', String(scale)], { env: libpqEnv(url) })
}

/** Transactions a second, without the time to connect: the built-in TPC-B of `pgbench`, or a script file. */
export async function runPgbench(
  url: string,
  seconds: number,
  { clients = pgbenchClients, script }: { readonly clients?: number; readonly script?: string } = {},
): Promise<number> {
  const file = script === undefined ? [] : ['-n', '-f', script]
  const args = ['-c', String(clients), '-j', String(Math.min(2, clients)), '-T', String(seconds), ...file]
  const { stdout } = await run('pgbench', args, { env: libpqEnv(url) })
  const tps = /tps = ([\d.]+) \(without/.exec(stdout)?.[1]
  if (tps === undefined) throw new Error(`pgbench printed no tps:\n${stdout}`)
  return Number(tps)
}
