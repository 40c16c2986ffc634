/** The processes that are measured: started, asked what they used, frozen while another is measured, ended. */
import { type ChildProcess, fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { baseEnv } from './environment.ts'
import { groupUsage } from './cpu.ts'
import type { Usage } from './usage.ts'

export type Server = {
  readonly port: number
  readonly usage: () => Promise<Usage>
  /** Neither takes nor gives while frozen: its workers must not run in another's sample. */
  readonly freeze: () => void
  readonly thaw: () => void
  readonly stop: () => Promise<void>
  /** As a power cut. */
  readonly kill: () => Promise<void>
}

/** One master key for all: partners are made by this process, in the databases of those. */
export const masterKey = randomBytes(32).toString('base64')
const startMsMax = 60_000
const programs = {
  serve: ['../service/src/main.ts', 'serve'],
  worker: ['../service/src/main.ts', 'worker'],
  accept: ['host.ts', 'accept'],
  settle: ['host.ts', 'settle'],
  stateless: ['host.ts', 'stateless'],
  processes: ['host.ts', 'processes'],
  empty: ['host.ts', 'empty'],
  baseline: ['baseline/server.ts'],
  graphile: ['webhooks/peers/graphile.ts'],
  boss: ['webhooks/peers/boss.ts'],
} as const
export type Program = keyof typeof programs

export const serviceEnv = (databaseUrl: string, dataDir: string): Readonly<Record<string, string>> => ({
  ...baseEnv,
  DATABASE_URL: databaseUrl,
  DATA_DIR: dataDir,
  MASTER_KEY: masterKey,
  PORT: '0',
  OPS_PORT: '0',
  RATE_PER_SECOND: '1000000',
  RATE_BURST: '10000000',
  LOG_LEVEL: 'error',
})

const running = new Set<() => void>()
/** Ends every measured process at once, also those that are frozen and would hear of nothing else. */
export function abandonAll(): void {
  for (const abandon of running) abandon()
}
process.once('exit', abandonAll)

export type StartOptions = {
  readonly databaseUrl: string
  readonly dataDir: string
  readonly env?: Readonly<Record<string, string>>
  /** Further words for the program. */
  readonly args?: readonly string[]
  /** For Node itself, such as `--cpu-prof`. */
  readonly execArgv?: readonly string[]
}

export async function startServer(program: Program, options: StartOptions): Promise<Server> {
  const { databaseUrl, dataDir, env = {}, args: words = [], execArgv = [] } = options
  await mkdir(dataDir, { recursive: true })
  const [file, ...args] = programs[program]
  const child = fork(join(import.meta.dirname, file), [...args, ...words], {
    env: { ...serviceEnv(databaseUrl, dataDir), ...env },
    execArgv: [...execArgv, '--import', join(import.meta.dirname, 'usage.ts')],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    // A group of its own: whatever it starts is frozen, counted and ended with it.
    detached: true,
  })
  const signal = (name: NodeJS.Signals) => signalGroup(child, name)
  passErrors(child)
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const abandon = () => signal('SIGKILL')
  running.add(abandon)
  void exited.then(() => running.delete(abandon))
  const end = (name: NodeJS.Signals) => {
    signal('SIGCONT')
    signal(name)
    return exited
  }
  return {
    port: program === 'worker' ? 0 : await portOf(child, program),
    usage: async () => (program === 'processes' ? groupUsage(child.pid ?? 0) : undefined) ?? usageOf(child),
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
    // `serve` drains what is under way; nothing here needs what it would still do after that.
    stop: async () => {
      const timer = setTimeout(abandon, 20_000)
      await end('SIGTERM')
      clearTimeout(timer)
    },
    kill: () => end('SIGKILL'),
  }
}

function signalGroup({ pid, exitCode, signalCode }: ChildProcess, name: NodeJS.Signals): void {
  if (pid === undefined || exitCode !== null || signalCode !== null) return
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, name)
  } catch {
    // It has just ended.
  }
}

/**
 * What a process says on standard error, but for the timeouts of workers whose statement was under way when the process
 * was frozen, and what follows on that connection: they are of the bench's making. To a request the same is a 502 or a
 * 504, which ends the bench.
 */
function passErrors(child: ChildProcess): void {
  if (!child.stderr) return
  createInterface({ input: child.stderr }).on('line', (line) => {
    if (!/"code":"downstream_(?:timeout|unreachable)"/.test(line)) process.stderr.write(`${line}\n`)
  })
}

/** Programs of the bench say it by message, the service in its welcome. */
function portOf(child: ChildProcess, program: Program): Promise<number> {
  return new Promise((resolve, reject) => {
    const fail = (why: string) => reject(new Error(`${program} ${why}`))
    const timer = setTimeout(() => fail(`does not listen after ${startMsMax / 1000} s`), startMsMax)
    const found = (port: number) => {
      clearTimeout(timer)
      resolve(port)
    }
    let text = ''
    child.stdout?.on('data', (chunk: Buffer) => {
      text += chunk.toString()
      const port = /listens on http:\/\/127\.0\.0\.1:(\d+)/.exec(text)?.[1]
      // The last line of the welcome: the seed is done, too.
      if (port !== undefined && text.includes('Ctrl-C')) found(Number(port))
    })
    child.on('message', (message: { readonly port?: number }) => {
      if (message.port !== undefined) found(message.port)
    })
    child.once('exit', (code) => fail(`ended with ${code} at its start`))
  })
}

function usageOf(child: ChildProcess): Promise<Usage> {
  return new Promise((resolve, reject) => {
    const listen = (message: { readonly usage?: Usage }) => {
      if (!message.usage) return
      child.removeListener('message', listen)
      child.removeListener('exit', ended)
      resolve(message.usage)
    }
    const ended = () => reject(new Error('the process has ended'))
    child.on('message', listen)
    child.once('exit', ended)
    child.send('usage')
  })
}
