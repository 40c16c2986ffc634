/**
 * Several API processes behind one port (`PROCESSES`): this side starts them, starts again what dies, and ends them.
 * Each is `child.ts`. The listening socket is shared (SCHED_NONE) and each process takes from it what it can serve:
 * handed out in turn by this process (SCHED_RR, the default), a connection whose process dies before it has taken it
 * is neither answered nor closed. `SO_REUSEPORT` is not everywhere, and lets two services take one port unseen.
 */
import cluster, { type Worker } from 'node:cluster'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { type Config, ConfigError } from './config.ts'
import { type Log, minuteMs, secondMs } from './kernel/index.ts'
import type { MetricsSnapshot } from './observability/index.ts'
import { type gatewayForms, listening } from './process.ts'

export type ManyRole = keyof typeof gatewayForms
/** What a process is asked, and what it says. */
export type Ask = { readonly ask: 'stop' } | { readonly ask: 'metrics'; readonly id: number }
export type Say =
  | { readonly say: 'listening' }
  /** One line, as `explain` makes it; it ends then. */
  | { readonly say: 'failed'; readonly why: string }
  | { readonly say: 'metrics'; readonly id: number; readonly metrics: MetricsSnapshot }

export type Processes = {
  /** Resolves to the port when all listen; rejects with a ConfigError of what the first to fail said. */
  readonly start: (databaseUrl: string) => Promise<number>
  /** Why there is nobody to answer a request. */
  readonly unready: () => string | undefined
  /** Of those that answer in time. */
  readonly snapshots: () => Promise<readonly MetricsSnapshot[]>
  readonly stop: () => Promise<void>
}

/** A process that dies again and again is started ever more seldom; one that has lived this long counts as well. */
const restMsMin = 250
const restMsMax = 30 * secondMs
const wellAfterMs = minuteMs
/** More than a request may take to end (15 s) and its connections to close. */
const stopMsMax = 30 * secondMs
const metricsMsMax = secondMs

type Slot = { readonly number: number; restMs: number; worker: Worker | undefined; isListening: boolean }

export function createProcesses(options: {
  readonly role: ManyRole
  readonly config: Config
  readonly log: Log
}): Processes {
  const { role, config, log } = options
  if (!cluster.isPrimary)
    throw new ConfigError('PROCESSES must be 1 below a process manager that forks by itself (node:cluster)')
  const slots = Array.from({ length: config.PROCESSES }, (_, at): Slot => {
    return { number: at + 1, restMs: restMsMin, worker: undefined, isListening: false }
  })
  let env: Readonly<Record<string, string>> = {}
  let phase: 'starting' | 'started' | 'stopping' = 'starting'
  const timers = new Set<NodeJS.Timeout>()
  const workers = () => slots.map(({ worker }) => worker).filter((worker) => worker !== undefined)

  const fork = (slot: Slot): Worker => {
    // The arguments are those of the next fork.
    cluster.setupPrimary({ args: [role, String(slot.number)] })
    const worker = cluster.fork(env)
    slot.worker = worker
    const begunMs = performance.now()
    worker.on('message', (said: Say) => {
      if (said.say === 'listening') slot.isListening = true
      // At the start its line is that of the start.
      else if (said.say === 'failed' && phase === 'started')
        log.error({ process: slot.number, why: said.why }, 'an API process gave up')
    })
    // A message to a process that is just dying fails here, and ends nothing.
    worker.on('error', (error) => log.debug({ err: error, process: slot.number }, 'an API process cannot be told'))
    worker.once('exit', (code, signal) => {
      slot.isListening = false
      slot.worker = undefined
      if (phase !== 'started') return
      if (performance.now() - begunMs > wellAfterMs) slot.restMs = restMsMin
      log.error(
        { process: slot.number, code, signal, restMs: slot.restMs },
        'an API process ended; it is started again',
      )
      const timer = setTimeout(() => {
        timers.delete(timer)
        fork(slot)
      }, slot.restMs)
      timers.add(timer)
      slot.restMs = Math.min(restMsMax, slot.restMs * 2)
    })
    return worker
  }

  return {
    start: async (databaseUrl) => {
      const port = config.PORT === 0 ? await freePort(config.HOST) : config.PORT
      env = { DATABASE_URL: databaseUrl, PORT: String(port) }
      cluster.schedulingPolicy = cluster.SCHED_NONE
      // `advanced`: metrics hold NaN and Infinity, which JSON does not.
      cluster.setupPrimary({ exec: join(import.meta.dirname, 'child.ts'), serialization: 'advanced' })
      await Promise.all(slots.map((slot) => listens(fork(slot))))
      phase = 'started'
      return port
    },
    unready: () => (slots.some(({ isListening }) => isListening) ? undefined : 'no API process listens'),
    snapshots: async () => {
      const answers = await Promise.all(workers().map(snapshotOf))
      return answers.filter((answer) => answer !== undefined)
    },
    stop: async () => {
      phase = 'stopping'
      for (const timer of timers) clearTimeout(timer)
      await Promise.all(workers().map(ends))
    },
  }
}

/** One that no process of ours shares yet: a process that is started again has to find the same. */
function freePort(host: string): Promise<number> {
  const server = createServer()
  return listening('PORT', host, 0, () => {
    return new Promise((resolve, reject) => {
      server.once('error', reject)
      server.listen(0, host, () => {
        const { port } = server.address() as { readonly port: number }
        server.close(() => resolve(port))
      })
    })
  })
}

/** At the start. Whoever fails there has said why. */
function listens(worker: Worker): Promise<void> {
  return new Promise((resolve, reject) => {
    worker.on('message', (said: Say) => {
      if (said.say === 'listening') resolve()
      else if (said.say === 'failed') reject(new ConfigError(said.why))
    })
    worker.once('exit', (code, signal) =>
      reject(new ConfigError(`an API process ended at its start (${signal ?? `exit code ${code}`})`)),
    )
  })
}

function ends(worker: Worker): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => worker.process.kill('SIGKILL'), stopMsMax)
    worker.once('exit', () => {
      clearTimeout(timer)
      resolve()
    })
    if (worker.isDead()) resolve()
    else worker.send({ ask: 'stop' } satisfies Ask)
  })
}

let asked = 0

function snapshotOf(worker: Worker): Promise<MetricsSnapshot | undefined> {
  return new Promise((resolve) => {
    const id = asked++
    const settle = (metrics?: MetricsSnapshot) => {
      clearTimeout(timer)
      worker.removeListener('message', hear)
      resolve(metrics)
    }
    const timer = setTimeout(settle, metricsMsMax)
    const hear = (said: Say) => {
      if (said.say === 'metrics' && said.id === id) settle(said.metrics)
    }
    worker.on('message', hear)
    worker.send({ ask: 'metrics', id } satisfies Ask)
  })
}
