/**
 * A database per test file, cloned from a migrated template in milliseconds. `npm test` starts one server for all files
 * (`global.ts`). A file that runs alone starts its own server on first use.
 */
import { randomBytes } from 'node:crypto'
import { accessSync, chmodSync, constants, existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { startEmbeddedPostgres } from '../../service/src/postgres/embedded/index.ts'
import { migrate as migrateService } from '../../service/src/postgres/migrate.ts'

export type TestDatabase = { readonly url: string; readonly drop: () => Promise<void> }

/** A server with a template database. Other processes need only the template's URL. */
export type TestServer = { readonly templateUrl: string; readonly stop: () => Promise<void> }

export const TEMPLATE_VARIABLE = 'TEST_DATABASE_TEMPLATE_URL'
export const SERVER_VARIABLE = 'TEST_DATABASE_SERVER_URL'

const cloneMsMax = 120_000
const objectInUse = '55006'
const memoryFolder = '/dev/shm'
const memoryBytesMin = 4 * 1024 ** 3

const at = (url: string, database: string): string => Object.assign(new URL(url), { pathname: `/${database}` }).href
const nameIn = (url: string): string => new URL(url).pathname.slice(1)

const execute = async (url: string, ...statements: readonly string[]): Promise<void> => {
  const client = new pg.Client({ connectionString: url })
  // If the server ends, the statement reports the error. Without a listener, the error event would end the process.
  client.on('error', () => {})
  await client.connect()
  try {
    for (const statement of statements) await client.query(statement)
  } finally {
    await client.end()
  }
}

export const applyMigrations = async (url: string): Promise<void> => {
  const pool = new pg.Pool({ connectionString: url, max: 1 })
  try {
    await migrateService(pool)
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
  // PostgreSQL does not clone a template that has connections.
  await execute(at(serverUrl, 'postgres'), `alter database ${name} with allow_connections false`)
  return at(serverUrl, name)
}

/** Memory if possible: a clone and its drop took 11 ms in memory and up to 200 ms on an ext4 disk, mostly in the kernel. */
const parentFolder = (): string => {
  try {
    accessSync(memoryFolder, constants.W_OK)
    const { bavail, bsize } = statfsSync(memoryFolder)
    // In containers it often has only 64 MB.
    return bavail * bsize >= memoryBytesMin ? memoryFolder : tmpdir()
  } catch {
    return tmpdir()
  }
}

const startOwnServer = async (migrate: (url: string) => Promise<void>, serverPackage?: string): Promise<TestServer> => {
  const folder = mkdtempSync(join(parentFolder(), 'partner-payments-test-'))
  // If root runs the tests, the server runs as another user, who must enter the folder. Files with secrets have mode 600.
  chmodSync(folder, 0o711)
  const server = await startEmbeddedPostgres({
    dataDir: join(folder, 'data'),
    durable: false,
    ...(serverPackage === undefined ? {} : { serverPackage }),
  })
  const remove = { recursive: true, force: true, maxRetries: 10, retryDelay: 20 } as const
  const abandon = (): void => {
    try {
      process.kill(server.pid, 'SIGQUIT')
    } catch {
      // The server has already ended.
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
  // A random name, because an external server may serve several test runs.
  const name = `template_payments_${randomBytes(6).toString('hex')}`
  const templateUrl = await makeTemplate(given, name, migrate)
  return { templateUrl, stop: () => execute(at(given, 'postgres'), `drop database if exists ${name} with (force)`) }
}

/** The oldest version that the service supports, beside the server of the run. npm installs it on Linux on x64 only. */
const oldestPackage = `postgres-15-${process.platform}-${process.arch}`
export const oldestMissing = existsSync(new URL(`../../node_modules/${oldestPackage}`, import.meta.url))
  ? false
  : `npm has installed no ${oldestPackage}`
export const startOldestServer = (): Promise<TestServer> => startOwnServer(applyMigrations, oldestPackage)

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
  const deadline = performance.now() + cloneMsMax
  for (;;) {
    try {
      return await execute(adminUrl, `create database ${name} template ${template} strategy file_copy`)
    } catch (thrown) {
      const isBusy = thrown instanceof pg.DatabaseError && thrown.code === objectInUse
      if (!isBusy || performance.now() > deadline) throw thrown
      await pause(20 + Math.random() * 50)
    }
  }
}

/** Creates a database, by default on the server of the run. */
export const createTestDatabase = async (given?: string): Promise<TestDatabase> => {
  const template = given ?? (await templateUrl())
  const adminUrl = at(template, 'postgres')
  const name = `test_${process.pid}_${randomBytes(6).toString('hex')}`
  await clone(adminUrl, nameIn(template), name)
  return { url: at(template, name), drop: () => execute(adminUrl, `drop database if exists ${name} with (force)`) }
}
