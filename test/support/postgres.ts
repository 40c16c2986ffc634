/**
 * A database per test file, cloned from a migrated template in milliseconds. `npm test` starts one server for all files
 * (`global.ts`); a file run alone starts its own on first use.
 */
import { randomBytes } from 'node:crypto'
import { accessSync, chmodSync, constants, existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { startEmbeddedPostgres } from '../../service/src/postgres/embedded/index.ts'

export type TestDatabase = { readonly url: string; readonly drop: () => Promise<void> }

/** A server with a template on it. The template's URL leads to both, which is all that other processes need. */
export type TestServer = { readonly templateUrl: string; readonly stop: () => Promise<void> }

export const TEMPLATE_VARIABLE = 'TEST_DATABASE_TEMPLATE_URL'
export const SERVER_VARIABLE = 'TEST_DATABASE_SERVER_URL'

const CLONE_MS_MAX = 30_000
const OBJECT_IN_USE = '55006'
const MEMORY_FOLDER = '/dev/shm'
const MEMORY_BYTES_MIN = 4 * 1024 ** 3
const MIGRATE = new URL('../../service/src/postgres/migrate.ts', import.meta.url)
const MIGRATIONS = new URL('../../service/migrations/', import.meta.url)

const at = (url: string, database: string): string => Object.assign(new URL(url), { pathname: `/${database}` }).href
const nameIn = (url: string): string => new URL(url).pathname.slice(1)

const execute = async (url: string, ...statements: readonly string[]): Promise<void> => {
  const client = new pg.Client({ connectionString: url })
  // A server that ends under the connection is reported by the statement; as an event it would end the process.
  client.on('error', () => {})
  await client.connect()
  try {
    for (const statement of statements) await client.query(statement)
  } finally {
    await client.end()
  }
}

export const applyMigrations = async (url: string): Promise<void> => {
  if (!existsSync(MIGRATE)) return
  const { migrate } = await import(MIGRATE.href)
  const pool = new pg.Pool({ connectionString: url, max: 1 })
  try {
    await migrate(pool, fileURLToPath(MIGRATIONS))
  } finally {
    await pool.end()
  }
}

const makeTemplate = async (
  serverUrl: string,
  name: string,
  migrate: (url: string) => Promise<void>,
): Promise<string> => {
  await execute(at(serverUrl, 'postgres'), `create database ${name}`)
  await migrate(at(serverUrl, name))
  // Nobody may connect from here on: a template with a session on it cannot be cloned.
  await execute(at(serverUrl, 'postgres'), `alter database ${name} with allow_connections false`)
  return at(serverUrl, name)
}

/** In memory a clone and its drop took 11 ms, on an ext4 disk up to 200, nearly all of it in the kernel. */
const parentFolder = (): string => {
  try {
    accessSync(MEMORY_FOLDER, constants.W_OK)
    const { bavail, bsize } = statfsSync(MEMORY_FOLDER)
    // Containers often have 64 MB there.
    return bavail * bsize >= MEMORY_BYTES_MIN ? MEMORY_FOLDER : tmpdir()
  } catch {
    return tmpdir()
  }
}

const startOwnServer = async (migrate: (url: string) => Promise<void>): Promise<TestServer> => {
  const folder = mkdtempSync(join(parentFolder(), 'partner-payments-test-'))
  // As root, the server runs as another user, who must get through; the secrets within have modes of their own.
  chmodSync(folder, 0o711)
  const server = await startEmbeddedPostgres({ dataDir: join(folder, 'data'), durable: false })
  const remove = { recursive: true, force: true, maxRetries: 10, retryDelay: 20 } as const
  const abandon = (): void => {
    try {
      process.kill(server.pid, 'SIGQUIT')
    } catch {
      // It has ended by itself.
    }
    rmSync(folder, remove)
  }
  process.once('exit', abandon)
  const stop = async (): Promise<void> => {
    process.removeListener('exit', abandon)
    await server.stop()
    await rm(folder, remove)
  }
  try {
    return { templateUrl: await makeTemplate(server.url, 'template_payments', migrate), stop }
  } catch (thrown) {
    await stop()
    throw thrown
  }
}

export const startTestServer = async (migrate = applyMigrations): Promise<TestServer> => {
  const given = process.env[SERVER_VARIABLE]
  if (!given) return startOwnServer(migrate)
  // Named for this run: a server that is not ours may serve another run as well.
  const name = `template_payments_${randomBytes(6).toString('hex')}`
  const templateUrl = await makeTemplate(given, name, migrate)
  return { templateUrl, stop: () => execute(at(given, 'postgres'), `drop database if exists ${name} with (force)`) }
}

let alone: Promise<TestServer> | undefined

const templateUrl = async (): Promise<string> => {
  const given = process.env[TEMPLATE_VARIABLE]
  if (given) return given
  if (!alone) {
    alone = startTestServer()
    process.once('beforeExit', () => void alone?.then((server) => server.stop()))
  }
  return (await alone).templateUrl
}

const clone = async (adminUrl: string, template: string, name: string): Promise<void> => {
  const deadline = performance.now() + CLONE_MS_MAX
  for (;;) {
    try {
      return await execute(adminUrl, `create database ${name} template ${template} strategy file_copy`)
    } catch (thrown) {
      const isBusy = thrown instanceof pg.DatabaseError && thrown.code === OBJECT_IN_USE
      if (!isBusy || performance.now() > deadline) throw thrown
      await pause(20 + Math.random() * 50)
    }
  }
}

export const createTestDatabase = async (): Promise<TestDatabase> => {
  const template = await templateUrl()
  const adminUrl = at(template, 'postgres')
  const name = `test_${process.pid}_${randomBytes(6).toString('hex')}`
  await clone(adminUrl, nameIn(template), name)
  return { url: at(template, name), drop: () => execute(adminUrl, `drop database if exists ${name} with (force)`) }
}
