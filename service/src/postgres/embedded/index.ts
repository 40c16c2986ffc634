/**
 * The PostgreSQL that comes with the service: started with it, stopped with it, never left behind by it.
 *
 *   <dataDir>/postgres            the cluster
 *   <dataDir>/postgres-password   of the superuser `postgres`
 *   <dataDir>/postgres.log        its log
 *   <dataDir>/service.pid         who has the folder
 *
 * Beside this file: `embedded-binaries` finds the programs, `embedded-launch` runs them (root or not),
 * `embedded-cluster` makes the cluster and clears away what a killed predecessor left, `embedded-lock` keeps a second
 * service out.
 */
import { type ChildProcess, execFile } from 'node:child_process'
import { existsSync, mkdirSync, realpathSync } from 'node:fs'
import { createServer } from 'node:net'
import { totalmem } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { findBinaries, programIn } from './binaries.ts'
import { createCluster, giveCluster, keepPassword, markOf, outlastPredecessor, readPidFile } from './cluster.ts'
import { codeOf, EmbeddedPostgresError, reasonOf } from './error.ts'
import { findWay, launch, serverIds, type Way } from './launch.ts'
import { takeLock } from './lock.ts'
import { openLog, type ServerLog } from './log.ts'
import { signal, until } from './process.ts'

export { EmbeddedPostgresError } from './error.ts'

export type EmbeddedPostgresOptions = {
  readonly dataDir: string
  /** `false` survives no crash and is for tests alone. */
  readonly durable: boolean
  /** Of all that use it together; there are never fewer than `CONNECTIONS_MIN`. */
  readonly connectionsMax?: number
  readonly log?: (line: string) => void
}

export type EmbeddedPostgres = {
  readonly url: string
  readonly pid: number
  /** Resolves when the server is gone, asked for or not. */
  readonly ended: Promise<void>
  readonly stop: () => Promise<void>
}

// Recovery after a power cut replays up to max_wal_size; on a slow disk that takes minutes.
const READY_MS_MAX = 300_000
// The supervisor turns a fast shutdown into an immediate one after 30 s; this is for when that fails as well.
const STOP_MS_MAX = 40_000
const STARTS_MAX = 5
const RETRIED = /Address already in use|could not create any TCP\/IP sockets|pre-existing shared memory block/

const DATABASE = 'payments'
/** For a service of one process, an operator beside it, and a person who looks. */
const CONNECTIONS_MIN = 200
/** What operators and the server's own reserve need beside the service. */
const CONNECTIONS_BESIDE = 20

// Filling new log files with zeros first took three quarters of the time to clone a test database.
const FRAGILE = [
  'fsync=off',
  'synchronous_commit=off',
  'full_page_writes=off',
  'wal_level=minimal',
  'max_wal_senders=0',
  'wal_init_zero=off',
]

type Place = {
  readonly dataDir: string
  readonly cluster: string
  readonly durable: boolean
  readonly connectionsMax: number
  readonly way: Way
}
type Running = { readonly child: ChildProcess; readonly pid: number; readonly port: number }

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
 * Memory for pages: an eighth of the machine's, within limits. PostgreSQL's own default (128 MB) is for the smallest
 * machine; the usual advice is a quarter, on a machine that does nothing else.
 */
const [buffersMbMin, buffersMbMax] = [128, 2048]
const buffersMb = (): number => Math.round(Math.min(buffersMbMax, Math.max(buffersMbMin, totalmem() / 8 / 2 ** 20)))

const serverArguments = ({ cluster, durable, connectionsMax, way }: Place, port: number): readonly string[] => {
  const settings = [
    'listen_addresses=127.0.0.1',
    `port=${port}`,
    // The path of a Unix socket may have 107 bytes; a data folder's may be longer.
    'unix_socket_directories=',
    `max_connections=${connectionsMax}`,
    'timezone=UTC',
    'log_timezone=UTC',
    'lc_messages=C',
    'log_checkpoints=off',
    markOf(cluster),
    ...(durable ? [`shared_buffers=${buffersMb()}MB`] : FRAGILE),
  ]
  return ['-D', `${way.data}/postgres`, ...settings.flatMap((setting) => ['-c', setting])]
}

const hasEnded = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null

const halt = async (child: ChildProcess, place: Place, pid: number | undefined): Promise<void> => {
  if (process.platform === 'win32') {
    // A signal on Windows ends the process at once; pg_ctl asks it to shut down.
    const ask = ['stop', '-m', 'fast', '-W', '-D', place.cluster]
    await new Promise((resolve) => execFile(programIn(place.way.native, 'pg_ctl'), ask, resolve))
  } else {
    child.stdin?.end()
  }
  if (await until(() => hasEnded(child), STOP_MS_MAX)) return
  if (pid !== undefined) signal(pid, 'SIGKILL')
  child.kill('SIGKILL')
}

/** One attempt. Resolves with the failing line when it is one that another port or another moment may cure. */
const attempt = async (place: Place, log: ServerLog): Promise<Running | string> => {
  const port = await freePort()
  log.mark()
  const child = launch(place.way, 'postgres', serverArguments(place, port), log.file)
  let refusal: string | undefined
  child.once('error', (thrown) => (refusal = reasonOf(thrown)))
  const pidFile = () => readPidFile(place.cluster)
  // The port tells our file from the one that a killed predecessor left.
  const isReady = (): boolean => pidFile()?.port === port && pidFile()?.ready === true
  const settled = await until(() => refusal !== undefined || hasEnded(child) || isReady(), READY_MS_MAX)
  const pid = pidFile()?.pid
  if (settled && isReady() && pid !== undefined && !hasEnded(child)) return { child, pid, port }
  if (!settled) await halt(child, place, pid)
  const line = refusal ?? (settled ? log.failure() : `not ready after ${READY_MS_MAX / 1000} s: ${log.failure()}`)
  if (RETRIED.test(line)) return line
  throw new EmbeddedPostgresError(`PostgreSQL did not start in ${place.dataDir}: ${line}`)
}

const startServer = async (place: Place, log: ServerLog): Promise<Running> => {
  let line = ''
  for (let count = 0; count < STARTS_MAX; count += 1) {
    const started = await attempt(place, log)
    if (typeof started !== 'string') return started
    line = started
    await until(() => false, 200)
  }
  throw new EmbeddedPostgresError(`PostgreSQL did not start in ${place.dataDir}: ${line}`)
}

const ensureDatabase = async (adminUrl: string): Promise<void> => {
  const client = new pg.Client({ connectionString: adminUrl })
  // Without a listener, the server ending under this connection would end the process.
  client.on('error', () => {})
  await client.connect()
  try {
    const found = await client.query('select 1 from pg_database where datname = $1', [DATABASE])
    if (found.rowCount === 0) await client.query(`create database ${DATABASE}`)
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
  const binaries = await findBinaries()
  if (existsSync(cluster)) await outlastPredecessor(cluster)
  const ids = serverIds(cluster)
  const way = findWay(binaries, dataDir, ids)
  const connectionsMax = Math.max(CONNECTIONS_MIN, (options.connectionsMax ?? 0) + CONNECTIONS_BESIDE)
  const place: Place = { dataDir, cluster, durable: options.durable, connectionsMax, way }
  const password = keepPassword(dataDir, cluster)
  if (existsSync(cluster)) {
    giveCluster(cluster, ids)
  } else {
    options.log?.(`making a PostgreSQL cluster in ${cluster}`)
    await createCluster({ ...place, password, ids, log })
  }
  const { child, pid, port } = await startServer(place, log)
  const ended = new Promise<void>((resolve) => void child.once('exit', () => resolve()))
  const urlOf = (database: string): string => `postgres://postgres:${password}@127.0.0.1:${port}/${database}`
  try {
    await ensureDatabase(urlOf('postgres'))
  } catch (cause) {
    await halt(child, place, pid)
    throw new EmbeddedPostgresError(`PostgreSQL started in ${dataDir} but made no database: ${reasonOf(cause)}`, {
      cause,
    })
  }
  options.log?.(`PostgreSQL runs ${way.title}, pid ${pid}, port ${port}`)
  // The service is what keeps the process alive; the server ends with it.
  child.unref()
  // A pipe is a socket, which the types of a child process do not say.
  ;(child.stdin as { readonly unref?: () => void } | null)?.unref?.()
  return { url: urlOf(DATABASE), pid, ended, stop: () => halt(child, place, pid) }
}

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
 * The URL of the server that another process of this folder runs right now, or undefined: an operator's command works
 * beside the service instead of waiting for it to stop.
 */
export const findRunningPostgres = (dataDir: string): string | undefined => {
  const cluster = join(dataDir, 'postgres')
  const file = readPidFile(cluster)
  if (file === undefined || !file.ready || !isAlive(file.pid)) return undefined
  return `postgres://postgres:${keepPassword(dataDir, cluster)}@127.0.0.1:${file.port}/${DATABASE}`
}

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch (thrown) {
    return codeOf(thrown) === 'EPERM'
  }
}
