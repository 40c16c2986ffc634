/**
 * Several API processes behind one port (`PROCESSES`). The parent starts them, restarts those that die, and stops them.
 * `child.ts` is the program of each. They share the listening socket (SCHED_NONE) and accept connections themselves: with
 * SCHED_RR, the default of node:cluster, a connection that was handed to a dying process is neither answered nor closed.
 */
import cluster, { type Worker } from 'node:cluster'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { type Config, ConfigError } from './config.ts'
import { type Log, minuteMs, secondMs } from '../kernel/index.ts'
import type { MetricsSnapshot } from '../edge/observability/index.ts'
import { type gatewayForms, listenOrExplain } from './process.ts'

/** The roles that answer requests, and so can run as several processes. */
export type RequestRole = keyof typeof gatewayForms
export type ParentMessage =
  /** Adds `Connection: close` to every further response. */
  | { readonly type: 'drain' }
  /** Stops accepting connections. Answers on open connections for `lingerMs`, then closes idle ones. */
  | { readonly type: 'stop'; readonly lingerMs: number }
  | { readonly type: 'metrics'; readonly id: number }
export type ChildMessage =
  | { readonly type: 'listening' }
  /** `reason` is one line of `explain`. The process ends after this message. */
  | { readonly type: 'failed'; readonly reason: string }
  | { readonly type: 'metrics'; readonly id: number; readonly metrics: MetricsSnapshot }
  /** The database has refused a write of the process. */
  | { readonly type: 'writesRefused'; readonly reason: string }

export type Processes = {
  /** Resolves to the port when all processes listen. Rejects with a ConfigError with the reason of the first failure. */
  readonly start: (databaseUrl: string) => Promise<number>
  /** Returns the reason why no process can answer requests. Undefined: at least one can. */
  readonly unready: () => string | undefined
  /** Collects the metrics of the processes that answer in time. */
  readonly snapshots: () => Promise<readonly MetricsSnapshot[]>
  readonly drain: () => void
  /** Replaces one process after the other: each new process listens before the old one stops. */
  readonly restartInTurn: () => void
  readonly stop: () => Promise<void>
}

/** The delay before a restart doubles after each crash, and starts over after a process ran for `stableAfterMs`. */
const restartDelayMsMin = 250
const restartDelayMsMax = 30 * secondMs
const stableAfterMs = minuteMs
/** Longer than a request in progress (15 s) and the close of its connections. */
const stopMsMax = 30 * secondMs
const metricsMsMax = secondMs
/** A replaced process answers on open connections for this time, so that most clients get `Connection: close`. */
const lingerMsMin = 5 * secondMs

/** A slot for one API process, which is replaced when it dies. */
type Slot = { readonly number: number; restartDelayMs: number; worker: Worker | undefined; isListening: boolean }

type Options = {
  readonly role: RequestRole
  readonly config: Config
  readonly log: Log
  /** Called when the database has refused a write of one of the processes. */
  readonly onWritesRefused: (reason: string) => void
}

export function createProcesses({ role, config, log, onWritesRefused }: Options): Processes {
  if (!cluster.isPrimary)
    throw new ConfigError('PROCESSES must be 1 below a process manager that forks by itself (node:cluster)')
  const slots = Array.from({ length: config.PROCESSES }, (_, index): Slot => {
    return { number: index + 1, restartDelayMs: restartDelayMsMin, worker: undefined, isListening: false }
  })
  const forks = createForks(role, log, onWritesRefused)
  const workers = () => slots.map(({ worker }) => worker).filter((worker) => worker !== undefined)
  const lingerMs = Math.max(lingerMsMin, config.STOP_DELAY_MS)
  let turn: Promise<void> | undefined
  return {
    start: async (databaseUrl) => {
      const port = config.PORT === 0 ? await freePort(config.HOST) : config.PORT
      cluster.schedulingPolicy = cluster.SCHED_NONE
      // `advanced`: metrics contain NaN and Infinity, which JSON does not.
      cluster.setupPrimary({ exec: join(import.meta.dirname, '..', 'child.ts'), serialization: 'advanced' })
      const env = { DATABASE_URL: databaseUrl, PORT: String(port) }
      await Promise.all(slots.map((slot) => untilListening(forks.fork(slot, env))))
      forks.restartFromNowOn(env)
      return port
    },
    unready: () => (slots.some(({ isListening }) => isListening) ? undefined : 'no API process listens'),
    snapshots: async () => {
      const answers = await Promise.all(workers().map(readSnapshot))
      return answers.filter((answer) => answer !== undefined)
    },
    drain: () => {
      for (const worker of workers()) worker.send({ type: 'drain' } satisfies ParentMessage)
    },
    restartInTurn: () => {
      turn ??= replaceAll({ slots, forks, lingerMs, log }).finally(() => {
        turn = undefined
      })
    },
    stop: async () => {
      forks.stopRestarting()
      // A replacement in progress may still put a new process into its slot.
      await turn
      await Promise.all(workers().map((worker) => stopWorker(worker)))
    },
  }
}

type Environment = Readonly<Record<string, string>>

type Forks = ReturnType<typeof createForks>

/** Replaces the processes one after the other. Stops if a new process does not start. */
async function replaceAll(parts: {
  readonly slots: readonly Slot[]
  readonly forks: Forks
  readonly lingerMs: number
  readonly log: Log
}): Promise<void> {
  const { slots, forks, lingerMs, log } = parts
  log.info({ processes: slots.length }, 'restarting the API processes in turn')
  try {
    for (const slot of slots) {
      const worker = forks.start(slot)
      if (worker === undefined) return
      await untilListening(worker)
      const replaced = slot.worker
      slot.worker = worker
      if (replaced) await stopWorker(replaced, lingerMs)
    }
    log.info('API processes restarted')
  } catch (error) {
    log.error({ err: error }, 'an API process was not replaced')
  }
}

/** Starts processes in slots. Between `restartFromNowOn` and `stopRestarting` a process that dies is restarted. */
function createForks(role: RequestRole, log: Log, onWritesRefused: Options['onWritesRefused']) {
  /** Defined between `restartFromNowOn` and `stopRestarting`. */
  let restarts: Environment | undefined
  const timers = new Set<NodeJS.Timeout>()

  const restartLater = (slot: Slot, env: Environment) => {
    const timer = setTimeout(() => {
      timers.delete(timer)
      if (slot.worker === undefined) fork(slot, env)
    }, slot.restartDelayMs)
    timers.add(timer)
    slot.restartDelayMs = Math.min(restartDelayMsMax, slot.restartDelayMs * 2)
  }
  const fork = (slot: Slot, env: Environment): Worker => {
    slot.worker = launch(slot, env)
    return slot.worker
  }
  /** Launches the process. The caller puts it into the slot. */
  const launch = (slot: Slot, env: Environment): Worker => {
    // These arguments apply to the next fork only.
    cluster.setupPrimary({ args: [role, String(slot.number)] })
    const worker = cluster.fork(env)
    const startedMs = performance.now()
    worker.on('message', (message: ChildMessage) => {
      if (message.type === 'listening') slot.isListening = true
      else if (message.type === 'writesRefused') onWritesRefused(message.reason)
      // During the start, `untilListening` reports the reason.
      else if (message.type === 'failed' && restarts !== undefined)
        log.error({ process: slot.number, reason: message.reason }, 'API process failed to start')
    })
    // A message to a dying process fails here.
    worker.on('error', (error) => log.debug({ err: error, process: slot.number }, 'message to an API process failed'))
    worker.once('exit', (code, signal) => {
      // The process was replaced, or its replacement did not start.
      if (slot.worker !== worker) return
      slot.isListening = false
      slot.worker = undefined
      if (restarts === undefined) return
      if (performance.now() - startedMs > stableAfterMs) slot.restartDelayMs = restartDelayMsMin
      const { number, restartDelayMs } = slot
      log.error({ process: number, code, signal, restartDelayMs }, 'API process ended; restarting it')
      restartLater(slot, env)
    })
    return worker
  }
  return {
    fork,
    /** Starts a second process for the slot. Undefined: the processes are stopping. */
    start: (slot: Slot): Worker | undefined => restarts && launch(slot, restarts),
    restartFromNowOn: (env: Environment) => {
      restarts = env
    },
    stopRestarting: () => {
      restarts = undefined
      for (const timer of timers) clearTimeout(timer)
    },
  }
}

/** Finds a free port before the processes start, so that a restarted process uses the same port. */
function freePort(host: string): Promise<number> {
  const server = createServer()
  return listenOrExplain('PORT', host, 0, () => {
    return new Promise((resolve, reject) => {
      server.once('error', reject)
      server.listen(0, host, () => {
        const { port } = server.address() as { readonly port: number }
        server.close(() => resolve(port))
      })
    })
  })
}

/** Waits until the process listens. Rejects with a ConfigError if it fails or ends first. */
function untilListening(worker: Worker): Promise<void> {
  return new Promise((resolve, reject) => {
    worker.on('message', (message: ChildMessage) => {
      if (message.type === 'listening') resolve()
      else if (message.type === 'failed') reject(new ConfigError(message.reason))
    })
    worker.once('exit', (code, signal) =>
      reject(new ConfigError(`an API process ended during its start (${signal ?? `exit code ${code}`})`)),
    )
  })
}

/** Asks a process to stop, and kills it `stopMsMax` after the end of `lingerMs`. */
function stopWorker(worker: Worker, lingerMs = 0): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => worker.process.kill('SIGKILL'), lingerMs + stopMsMax)
    worker.once('exit', () => {
      clearTimeout(timer)
      resolve()
    })
    if (worker.isDead()) resolve()
    else worker.send({ type: 'stop', lingerMs } satisfies ParentMessage)
  })
}

let lastSnapshotId = 0

function readSnapshot(worker: Worker): Promise<MetricsSnapshot | undefined> {
  return new Promise((resolve) => {
    lastSnapshotId += 1
    const id = lastSnapshotId
    const finish = (metrics?: MetricsSnapshot) => {
      clearTimeout(timer)
      worker.removeListener('message', onMessage)
      resolve(metrics)
    }
    const timer = setTimeout(finish, metricsMsMax)
    const onMessage = (message: ChildMessage) => {
      if (message.type === 'metrics' && message.id === id) finish(message.metrics)
    }
    worker.on('message', onMessage)
    worker.send({ type: 'metrics', id } satisfies ParentMessage)
  })
}
