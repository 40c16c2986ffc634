/** Starts and stops the server process of an existing cluster. */
import { type ChildProcess, execFile } from 'node:child_process'
import { createServer } from 'node:net'
import { totalmem } from 'node:os'
import { programIn } from './binaries.ts'
import { clusterArgument, readPidFile } from './cluster.ts'
import { EmbeddedPostgresError, reasonOf } from './error.ts'
import { launch, type LaunchMethod } from './launch.ts'
import type { ServerLog } from './log.ts'
import { sendSignal, until } from './process.ts'

export type ServerSettings = {
  readonly dataDir: string
  readonly cluster: string
  readonly durable: boolean
  readonly connectionsMax: number
  readonly method: LaunchMethod
  /** Further `name=value` of the server. */
  readonly parameters: readonly string[]
}
export type RunningServer = { readonly child: ChildProcess; readonly pid: number; readonly port: number }

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

export const stopServer = async (
  child: ChildProcess,
  settings: ServerSettings,
  pid: number | undefined,
): Promise<void> => {
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

/** One attempt. Returns the failing line of the log if another port or a later attempt may succeed. */
const attempt = async (settings: ServerSettings, log: ServerLog): Promise<RunningServer | string> => {
  const port = await freePort()
  log.mark()
  const child = launch(settings.method, 'postgres', serverArguments(settings, port), log.file)
  let launchError: string | undefined
  child.once('error', (thrown) => (launchError = reasonOf(thrown)))
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

export const startServer = async (settings: ServerSettings, log: ServerLog): Promise<RunningServer> => {
  let line = ''
  for (let count = 0; count < startsMax; count += 1) {
    const started = await attempt(settings, log)
    if (typeof started !== 'string') return started
    line = started
    await until(() => false, retryPauseMs)
  }
  throw new EmbeddedPostgresError(`PostgreSQL did not start in ${settings.dataDir}: ${line}`)
}
