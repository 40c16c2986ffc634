/** The measured processes: starts them, reads their resource usage, freezes them while another is measured, ends them. */
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
  /** A frozen process uses no CPU, so its workers do not disturb another sample. */
  readonly freeze: () => void
  readonly thaw: () => void
  readonly stop: () => Promise<void>
}

/** Shared by all measured processes, because this process creates the partners in their databases. */
export const masterKey = randomBytes(32).toString('base64')
const startMsMax = 180_000
const programs = {
  serve: ['../service/src/main.ts', 'serve'],
  worker: ['../service/src/main.ts', 'worker'],
  accept: ['host.ts', 'accept'],
  settle: ['host.ts', 'settle'],
  processes: ['host.ts', 'processes'],
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
  LOG_LEVEL: 'error',
})

const running = new Set<() => void>()
/** Kills every measured process at once, frozen ones included. */
export function killAll(): void {
  for (const kill of running) kill()
}
process.once('exit', killAll)

export type StartOptions = {
  readonly databaseUrl: string
  readonly dataDir: string
  readonly env?: Readonly<Record<string, string>>
  /** Further arguments of the program. */
  readonly args?: readonly string[]
  /** Arguments of Node itself, such as `--cpu-prof`. */
  readonly execArgv?: readonly string[]
}

export async function startServer(program: Program, options: StartOptions): Promise<Server> {
  const { databaseUrl, dataDir, env = {}, args: moreArgs = [], execArgv = [] } = options
  await mkdir(dataDir, { recursive: true })
  const [file, ...args] = programs[program]
  const child = fork(join(import.meta.dirname, file), [...args, ...moreArgs], {
    env: { ...serviceEnv(databaseUrl, dataDir), ...env },
    execArgv: [...execArgv, '--import', join(import.meta.dirname, 'usage.ts')],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    // A process group of its own, so that its children are frozen, measured and ended with it.
    detached: true,
  })
  const signal = (name: NodeJS.Signals) => signalGroup(child, name)
  passErrors(child)
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const kill = () => signal('SIGKILL')
  running.add(kill)
  void exited.then(() => running.delete(kill))
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
    // `serve` finishes what is in flight; the bench needs nothing that it would do later.
    stop: async () => {
      const timer = setTimeout(kill, 20_000)
      await end('SIGTERM')
      clearTimeout(timer)
    },
  }
}

function signalGroup({ pid, exitCode, signalCode }: ChildProcess, name: NodeJS.Signals): void {
  if (pid === undefined || exitCode !== null || signalCode !== null) return
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, name)
  } catch {
    // The process has just ended.
  }
}

/**
 * Prints the standard error of a process, without the timeouts of workers that were frozen during a statement: the bench
 * causes those. A request with such a timeout is answered with 502 or 504, which ends the bench.
 */
function passErrors(child: ChildProcess): void {
  if (!child.stderr) return
  createInterface({ input: child.stderr }).on('line', (line) => {
    if (!/"code":"downstream_(?:timeout|unreachable)"/.test(line)) process.stderr.write(`${line}\n`)
  })
}

/** Programs of the bench send their port as a message; the service prints it in its welcome. */
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
      // The last line of the welcome, printed after the seed.
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
