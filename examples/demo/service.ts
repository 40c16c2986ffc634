/** Runs the service as `npm start` does, in a child process with its own data folder and ports. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Credentials } from '@partner-payments/sdk'
import { freePorts } from '../../scripts/ports.ts'

/** Whether `stop` sends SIGTERM, or the terminal has already sent SIGINT. */
export type StopMode = 'send signal' | 'signal was sent'

export type Service = {
  readonly baseUrl: string
  /** The address of the desk. */
  readonly opsUrl: string
  readonly dataDir: string
  readonly logFile: string
  /** Resolves when the service listens. Throws if it ends instead. */
  readonly start: () => Promise<void>
  /** SIGKILL, which the service cannot handle, as in a power failure. */
  readonly kill: () => Promise<void>
  /** Stops the service in order, and kills it after a timeout. */
  readonly stop: (mode: StopMode) => Promise<void>
  /** Runs an operator command on the service's data, and answers the JSON that it prints. */
  readonly operator: (...words: readonly string[]) => Promise<unknown>
  /** The commands of the person with this home folder, where a sign-in keeps its token. */
  readonly operatorOf: (home: string) => {
    readonly run: Service['operator']
    /** Starts a command that waits for the person. */
    readonly begin: (...words: readonly string[]) => ChildProcess
  }
  readonly credentials: () => Credentials & { readonly partnerId: string }
  /** Rejects if the service ends unexpectedly. */
  readonly failed: Promise<never>
}

const mainFile = fileURLToPath(new URL('../../service/src/main.ts', import.meta.url))
const stopMsMax = 30_000
const startMsMax = 60_000

/**
 * The variables that every program needs, and the folder of compiled code, with which some forty processes start in half of the time.
 * The demo ignores a service configuration in this environment.
 */
function inherited(): Record<string, string | undefined> {
  const names = /^(?:PATH|HOME|TMPDIR|TEMP|TMP|SystemRoot|NODE_COMPILE_CACHE)$/i
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => names.test(name)))
}

/** Resolves when the service prints that it listens, after its database and workers have started. */
async function listening(child: ChildProcess, logFile: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const timer = setTimeout(() => reject(new Error(`the service did not start: see ${logFile}`)), startMsMax)
  let text = ''
  child.stdout?.setEncoding('utf8').on('data', (part: string) => {
    text += part
    if (text.includes('listens on')) resolve()
  })
  child.once('error', reject)
  child.once('exit', () => reject(new Error(`the service ended at its start: ${lastLine(logFile)}`)))
  await promise.finally(() => clearTimeout(timer))
}

/** The file may be deleted: a failed demo cleans up before its service ends. */
const lastLine = (file: string) =>
  (existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').at(-1) : undefined) ?? ''

async function runOperator(
  words: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Promise<unknown> {
  const { stdout } = await promisify(execFile)(process.execPath, [mainFile, 'operator', ...words], { env })
  return JSON.parse(stdout) as unknown
}

export async function createService(
  folder: string,
  bankDelayMs: number,
  settings: Readonly<Record<string, string>> = {},
): Promise<Service> {
  const [port, opsPort] = await freePorts(2)
  const dataDir = join(folder, 'data')
  const logFile = join(folder, 'service.log')
  const env = {
    ...inherited(),
    // Makes the service end with its parent, as under npm.
    npm_lifecycle_event: 'demo',
    DATA_DIR: dataDir,
    PORT: String(port),
    OPS_PORT: String(opsPort),
    SANDBOX_BANK_DELAY_MS: String(bankDelayMs),
    // A bank that never answers is given up within seconds, after 1, 2 and 5.
    PAYOUT_ATTEMPTS_MAX: '3',
    ...settings,
  }
  let child: ChildProcess | undefined
  const failure = Promise.withResolvers<never>()
  // Prevents an unhandled rejection before `failed` is awaited.
  failure.promise.catch(() => undefined)

  const end = async (signal: NodeJS.Signals | undefined) => {
    const running = child
    child = undefined
    if (running === undefined || running.exitCode !== null || running.signalCode !== null) return
    const exited = once(running, 'exit')
    if (signal !== undefined) running.kill(signal)
    const timer = setTimeout(() => running.kill('SIGKILL'), stopMsMax)
    await exited
    clearTimeout(timer)
  }

  return {
    baseUrl: `http://127.0.0.1:${port}`,
    opsUrl: `http://localhost:${opsPort}`,
    dataDir,
    logFile,
    start: async () => {
      const log = openSync(logFile, 'a')
      const started = spawn(process.execPath, [mainFile, 'serve'], { env, stdio: ['ignore', 'pipe', log] })
      closeSync(log)
      child = started
      started.once('exit', (code, signal) => {
        if (child === started)
          failure.reject(new Error(`the service ended (${signal ?? code}): ${lastLine(logFile)}; see ${logFile}`))
      })
      await listening(started, logFile)
    },
    kill: () => end('SIGKILL'),
    stop: (mode) => end(mode === 'send signal' ? 'SIGTERM' : undefined),
    operator: (...words) => runOperator(words, env),
    operatorOf: (home) => {
      const own = { ...env, HOME: home, USERPROFILE: home }
      return {
        run: (...words) => runOperator(words, own),
        begin: (...words) =>
          spawn(process.execPath, [mainFile, 'operator', ...words], { env: own, stdio: ['ignore', 'pipe', 'inherit'] }),
      }
    },
    credentials: () =>
      JSON.parse(readFileSync(join(dataDir, 'sandbox-credentials.json'), 'utf8')) as ReturnType<Service['credentials']>,
    failed: failure.promise,
  }
}
