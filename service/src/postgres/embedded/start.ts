/** Locks the data folder, creates the cluster if it does not exist, starts the server and creates the database. */
import { existsSync, mkdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { prepareArchive } from './archive.ts'
import { findBinaries } from './binaries.ts'
import { changeClusterOwner, createCluster, readOrCreatePassword, readPidFile, stopPreviousServer } from './cluster.ts'
import { codeOf, EmbeddedPostgresError, reasonOf } from './error.ts'
import { findLaunchMethod, serverIds } from './launch.ts'
import { takeLock } from './lock.ts'
import { openLog, type ServerLog } from './log.ts'
import { sendSignal } from './process.ts'
import { type ServerSettings, startServer, stopServer } from './server.ts'

export type EmbeddedPostgresOptions = {
  readonly dataDir: string
  /** `false` does not survive a crash. Only tests use it. */
  readonly durable: boolean
  /** The sum over all processes that connect. The server allows at least `connectionsMin`. */
  readonly connectionsMax?: number
  readonly log?: (line: string) => void
  /** The log is archived there, so that `createBackup` is possible. */
  readonly backupDir?: string | undefined
  /** Further `name=value` of the server. */
  readonly parameters?: readonly string[]
  /** The npm package with the server. Tests run other versions. */
  readonly serverPackage?: string
}

export type EmbeddedPostgres = {
  readonly url: string
  readonly pid: number
  /** Resolves when the server process has ended, for any reason. */
  readonly ended: Promise<void>
  readonly stop: () => Promise<void>
}

const databaseName = 'payments'
/** Enough for a service of one process, an operator's command and interactive sessions. */
const connectionsMin = 200
/** Connections for operators and the server's own reserve, in addition to the service. */
const otherConnections = 20

const ensureDatabase = async (adminUrl: string): Promise<void> => {
  const client = new pg.Client({ connectionString: adminUrl })
  // Without a listener, the error of a server that ends under this connection would end the process.
  client.on('error', () => {})
  await client.connect()
  try {
    const found = await client.query('select 1 from pg_database where datname = $1', [databaseName])
    if (found.rowCount === 0) await client.query(`create database ${databaseName}`)
  } finally {
    await client.end()
  }
}

const openFolder = (dataDir: string): string => {
  try {
    mkdirSync(dataDir, { recursive: true })
    return realpathSync(dataDir)
  } catch (cause) {
    throw new EmbeddedPostgresError(`cannot use the data folder ${dataDir}: ${reasonOf(cause)}`, { cause })
  }
}

const startLocked = async (
  dataDir: string,
  options: EmbeddedPostgresOptions,
  log: ServerLog,
): Promise<EmbeddedPostgres> => {
  const cluster = join(dataDir, 'postgres')
  const binaries = await findBinaries(options.serverPackage)
  if (existsSync(cluster)) await stopPreviousServer(cluster)
  const ids = serverIds(cluster)
  const method = findLaunchMethod(binaries, dataDir, ids)
  const connectionsMax = Math.max(connectionsMin, (options.connectionsMax ?? 0) + otherConnections)
  const archive = options.backupDir === undefined ? [] : prepareArchive(dataDir, options.backupDir, ids)
  const parameters = [...archive, ...(options.parameters ?? [])]
  const settings: ServerSettings = { dataDir, cluster, durable: options.durable, connectionsMax, method, parameters }
  const password = readOrCreatePassword(dataDir, cluster)
  if (existsSync(cluster)) {
    changeClusterOwner(cluster, ids)
  } else {
    options.log?.(`creating a PostgreSQL cluster in ${cluster}`)
    await createCluster({ ...settings, password, ids, log, version: binaries.version })
  }
  const { child, pid, port } = await startServer(settings, log)
  const ended = new Promise<void>((resolve) => void child.once('exit', () => resolve()))
  const urlOf = (database: string): string => `postgres://postgres:${password}@127.0.0.1:${port}/${database}`
  try {
    await ensureDatabase(urlOf('postgres'))
  } catch (cause) {
    await stopServer(child, settings, pid)
    throw new EmbeddedPostgresError(`PostgreSQL started in ${dataDir} but made no database: ${reasonOf(cause)}`, {
      cause,
    })
  }
  const watch = endWhenRemoved(cluster, pid)
  void ended.then(() => clearInterval(watch))
  options.log?.(`PostgreSQL runs ${method.title}, pid ${pid}, port ${port}`)
  // The server must not keep the service's process alive.
  child.unref()
  // A pipe is a socket with `unref`; the types of a child process do not declare it.
  ;(child.stdin as { readonly unref?: () => void } | null)?.unref?.()
  return { url: urlOf(databaseName), pid, ended, stop: () => stopServer(child, settings, pid) }
}

/** Reports whether the cluster's own files are there. */
export const hasCluster = (dataDir: string): boolean => existsSync(join(dataDir, 'postgres', 'global', 'pg_control'))

const removedPollMs = 1_000

/** Ends the server soon after its folder was removed. PostgreSQL itself looks once a minute and fails until then. */
const endWhenRemoved = (cluster: string, pid: number): NodeJS.Timeout =>
  setInterval(() => {
    if (!existsSync(join(cluster, 'global', 'pg_control'))) sendSignal(pid, 'SIGQUIT')
  }, removedPollMs).unref()

export const startEmbeddedPostgres = async (options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> => {
  const dataDir = openFolder(options.dataDir)
  try {
    const lock = await takeLock(dataDir)
    try {
      const log = openLog(dataDir)
      try {
        const server = await startLocked(dataDir, options, log)
        let stopping: Promise<void> | undefined
        return { ...server, stop: () => (stopping ??= server.stop().finally(lock.release)) }
      } finally {
        log.close()
      }
    } catch (thrown) {
      lock.release()
      throw thrown
    }
  } catch (cause) {
    if (cause instanceof EmbeddedPostgresError) throw cause
    const full = codeOf(cause) === 'ENOSPC' ? 'the disk is full: ' : ''
    throw new EmbeddedPostgresError(`PostgreSQL did not start in ${dataDir}: ${full}${reasonOf(cause)}`, { cause })
  }
}

/**
 * The URL of the server that another process runs on this folder, or undefined. An operator's command connects to it while
 * the service runs.
 */
export const findRunningPostgres = (dataDir: string): string | undefined => {
  const cluster = join(dataDir, 'postgres')
  const file = readPidFile(cluster)
  if (file === undefined || !file.ready || !sendSignal(file.pid, 0)) return undefined
  return `postgres://postgres:${readOrCreatePassword(dataDir, cluster)}@127.0.0.1:${file.port}/${databaseName}`
}
