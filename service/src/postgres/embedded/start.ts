/** Locks the data folder, creates the cluster if it does not exist, starts the server and creates the database. */
import { existsSync, linkSync, mkdirSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { prepareArchive } from './archive.ts'
import { findBinaries, programIn } from './binaries.ts'
import {
  changeClusterOwner,
  clusterArgument,
  createCluster,
  readOrCreatePassword,
  readPidFile,
  stopPreviousServer,
} from './cluster.ts'
import {
  errorCode,
  EmbeddedPostgresError,
  openLog,
  errorReason,
  sendSignal,
  type ServerLog,
  startTimeOf,
  until,
} from './process.ts'
import { findLaunchMethod, launch, type LaunchMethod, serverIds } from './launch.ts'
import { type ChildProcess, execFile } from 'node:child_process'
import { createServer } from 'node:net'
import { totalmem } from 'node:os'

type EmbeddedPostgresOptions = {
  readonly dataDir: string
  /** False: the data does not survive a crash. For tests only. */
  readonly durable: boolean
  /** Maximum number of connections of all processes together. The server allows at least `connectionsMin`. */
  readonly connectionsMax?: number
  readonly log?: (line: string) => void
  /** Folder for the archived log. `createBackup` requires it. */
  readonly backupDir?: string | undefined
  /** Further server parameters, as `name=value`. */
  readonly parameters?: readonly string[]
  /** The npm package with the server. Tests use other versions. */
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
/** Enough connections for a service of one process, an operator's command and interactive sessions. */
const connectionsMin = 200
/** Connections for operators and the server's own reserve, in addition to the service. */
const otherConnections = 20

const ensureDatabase = async (adminUrl: string): Promise<void> => {
  const client = new pg.Client({ connectionString: adminUrl })
  // Without a listener, an error of the connection would end the process.
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
    throw new EmbeddedPostgresError(`cannot use the data folder ${dataDir}: ${errorReason(cause)}`, { cause })
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
    throw new EmbeddedPostgresError(
      `PostgreSQL started in ${dataDir} but could not create the database: ${errorReason(cause)}`,
      {
        cause,
      },
    )
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

/** Reports whether the folder contains a cluster. */
export const hasCluster = (dataDir: string): boolean => existsSync(join(dataDir, 'postgres', 'global', 'pg_control'))

const removedPollMs = 1_000

/** Ends the server soon after its folder is removed. PostgreSQL itself checks only once a minute. */
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
    const full = errorCode(cause) === 'ENOSPC' ? 'the disk is full: ' : ''
    throw new EmbeddedPostgresError(`PostgreSQL did not start in ${dataDir}: ${full}${errorReason(cause)}`, { cause })
  }
}

/**
 * Returns the URL of a server that another process runs on this folder, so that an operator's command can connect while
 * the service runs. Undefined: no server runs.
 */
export const findRunningPostgres = (dataDir: string): string | undefined => {
  const cluster = join(dataDir, 'postgres')
  const file = readPidFile(cluster)
  if (file === undefined || !file.ready || !sendSignal(file.pid, 0)) return undefined
  return `postgres://postgres:${readOrCreatePassword(dataDir, cluster)}@127.0.0.1:${file.port}/${databaseName}`
}

type Lock = { readonly release: () => void }

const attemptsMax = 20
const waitMsMax = 5_000

const read = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'utf8')
  } catch (thrown) {
    if (errorCode(thrown) === 'ENOENT') return undefined
    throw thrown
  }
}

/** Returns the pid of the process that owns the lock. Undefined: that process has ended, or its pid was reused. */
const ownerPid = (content: string): number | undefined => {
  const [pid, start] = content.split('\n')
  if (!/^[0-9]+$/.test(pid ?? '')) return undefined
  return startTimeOf(Number(pid)) === start ? Number(pid) : undefined
}

/** Creates a file atomically: writes a draft and links it, which succeeds for only one of several concurrent callers. */
const createWhole = (path: string, content: string): boolean => {
  const draft = `${path}.${process.pid}`
  try {
    writeFileSync(draft, content)
    linkSync(draft, path)
    return true
  } catch (thrown) {
    if (errorCode(thrown) === 'EEXIST') return false
    if (!['EPERM', 'ENOTSUP', 'ENOSYS'].includes(errorCode(thrown) ?? '')) throw thrown
    // The file system has no hard links (exFAT, some shared folders).
    try {
      writeFileSync(path, content, { flag: 'wx' })
      return true
    } catch (refused) {
      if (errorCode(refused) === 'EEXIST') return false
      throw refused
    }
  } finally {
    rmSync(draft, { force: true })
  }
}

/** Removes a stale lock by renaming it. If another service has replaced the lock meanwhile, restores that lock. */
const removeStale = (path: string, stale: string): void => {
  const aside = `${path}.${process.pid}.stale`
  try {
    renameSync(path, aside)
  } catch (thrown) {
    if (errorCode(thrown) === 'ENOENT') return
    throw thrown
  }
  const moved = read(aside)
  if (moved !== undefined && moved !== stale) createWhole(path, moved)
  rmSync(aside, { force: true })
}

/** Returns the lock, or the pid of the service that holds it. */
const tryLock = (dataDir: string): Lock | number => {
  const path = join(dataDir, 'service.pid')
  const own = `${process.pid}\n${startTimeOf(process.pid) ?? ''}\n`
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    if (createWhole(path, own)) {
      return {
        release: () => {
          if (read(path) === own) rmSync(path, { force: true })
        },
      }
    }
    const content = read(path)
    if (content === undefined) continue
    const pid = ownerPid(content)
    if (pid !== undefined) return pid
    removeStale(path, content)
  }
  throw new EmbeddedPostgresError(`cannot lock the data folder ${dataDir}: ${path} keeps changing`)
}

/**
 * Locks the data folder for one service: `<dataDir>/service.pid` holds the owner's pid and start time. Waits for a service that is
 * stopping, so that a restart does not need a pause.
 */
const takeLock = async (dataDir: string): Promise<Lock> => {
  let outcome = tryLock(dataDir)
  await until(() => typeof outcome !== 'number' || typeof (outcome = tryLock(dataDir)) !== 'number', waitMsMax)
  if (typeof outcome !== 'number') return outcome
  const advice = 'stop that service first'
  throw new EmbeddedPostgresError(`the data folder ${dataDir} is in use by another service (pid ${outcome}): ${advice}`)
}

// Starts and stops the server process of an existing cluster.

type ServerSettings = {
  readonly dataDir: string
  readonly cluster: string
  readonly durable: boolean
  readonly connectionsMax: number
  readonly method: LaunchMethod
  /** Further server parameters, as `name=value`. */
  readonly parameters: readonly string[]
}
type RunningServer = { readonly child: ChildProcess; readonly pid: number; readonly port: number }

// Recovery after a power cut replays up to max_wal_size; on a slow disk that takes minutes.
const readyMsMax = 300_000
// The supervisor turns a fast shutdown into an immediate one after 30 s. This limit applies if that fails as well.
const stopMsMax = 40_000
const startsMax = 5
const retryPauseMs = 200
const retriableFailure = /Address already in use|could not create any TCP\/IP sockets|pre-existing shared memory block/

// With wal_init_zero on, zeroing new log files took three quarters of the time to clone a test database.
const nonDurableSettings = [
  'fsync=off',
  'synchronous_commit=off',
  'full_page_writes=off',
  'wal_level=minimal',
  'max_wal_senders=0',
  'wal_init_zero=off',
]

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })

/**
 * An eighth of the machine's memory, within limits. PostgreSQL's default of 128 MB suits the smallest machine. The usual
 * advice of a quarter assumes a machine that runs nothing else.
 */
const [buffersMbMin, buffersMbMax] = [128, 2048]
const buffersMb = (): number => Math.round(Math.min(buffersMbMax, Math.max(buffersMbMin, totalmem() / 8 / 2 ** 20)))

const serverArguments = (settings: ServerSettings, port: number): readonly string[] => {
  const { cluster, durable, connectionsMax, method } = settings
  const parameters = [
    'listen_addresses=127.0.0.1',
    `port=${port}`,
    // The path of a Unix socket has at most 107 bytes; the path of a data folder can be longer.
    'unix_socket_directories=',
    `max_connections=${connectionsMax}`,
    'timezone=UTC',
    'log_timezone=UTC',
    'lc_messages=C',
    'log_checkpoints=off',
    clusterArgument(cluster),
    ...(durable ? [`shared_buffers=${buffersMb()}MB`] : nonDurableSettings),
    ...settings.parameters,
  ]
  return ['-D', `${method.data}/postgres`, ...parameters.flatMap((parameter) => ['-c', parameter])]
}

const hasEnded = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null

const stopServer = async (child: ChildProcess, settings: ServerSettings, pid: number | undefined): Promise<void> => {
  if (process.platform === 'win32') {
    // On Windows a signal ends the process at once; pg_ctl requests a shutdown.
    const stop = ['stop', '-m', 'fast', '-W', '-D', settings.cluster]
    await new Promise((resolve) => execFile(programIn(settings.method.native, 'pg_ctl'), stop, resolve))
  } else {
    child.stdin?.end()
  }
  if (await until(() => hasEnded(child), stopMsMax)) return
  if (pid !== undefined) sendSignal(pid, 'SIGKILL')
  child.kill('SIGKILL')
}

/** Tries to start the server once. Returns the failing line of the log if another port or a later attempt may succeed. */
const attempt = async (settings: ServerSettings, log: ServerLog): Promise<RunningServer | string> => {
  const port = await freePort()
  log.mark()
  const child = launch(settings.method, 'postgres', serverArguments(settings, port), log.file)
  let launchError: string | undefined
  child.once('error', (thrown) => (launchError = errorReason(thrown)))
  const pidFile = () => readPidFile(settings.cluster)
  // The port distinguishes the new server's file from the file that a killed server left.
  const isReady = (): boolean => pidFile()?.port === port && pidFile()?.ready === true
  const settled = await until(() => launchError !== undefined || hasEnded(child) || isReady(), readyMsMax)
  const pid = pidFile()?.pid
  if (settled && isReady() && pid !== undefined && !hasEnded(child)) return { child, pid, port }
  if (!settled) await stopServer(child, settings, pid)
  const line = launchError ?? (settled ? log.failure() : `not ready after ${readyMsMax / 1000} s: ${log.failure()}`)
  if (retriableFailure.test(line)) return line
  throw new EmbeddedPostgresError(`PostgreSQL did not start in ${settings.dataDir}: ${line}`)
}

const startServer = async (settings: ServerSettings, log: ServerLog): Promise<RunningServer> => {
  let line = ''
  for (let count = 0; count < startsMax; count += 1) {
    const started = await attempt(settings, log)
    if (typeof started !== 'string') return started
    line = started
    await until(() => false, retryPauseMs)
  }
  throw new EmbeddedPostgresError(`PostgreSQL did not start in ${settings.dataDir}: ${line}`)
}
