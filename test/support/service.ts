/**
 * The service as a user starts it: `serve` in a separate process with its own database and data folder. It is configured
 * by environment variables and inherits none but PATH.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, openSync, readFileSync } from 'node:fs'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePorts } from '../../scripts/ports.ts'
import { type Client, type Credentials, type JsonObject, createClient } from './client.ts'
import { runOperator } from './operator.ts'
import { createTestDatabase } from './postgres.ts'
import { inheritedEnvironment, run, start as startProgram, stop as stopProgram } from './program.ts'
import { shareOf } from './share.ts'
import { staffAtDesk } from './staff.ts'
import { until } from './until.ts'

type Environment = Readonly<Record<string, string>>

export type TestServiceOptions = {
  readonly env?: Environment
  /** The folder of an earlier service, to continue with its data. Set `env.DATABASE_URL` to its database. */
  readonly dataDir?: string
  /** Uses the embedded database in the data folder, as `npm start` does. */
  readonly embedded?: boolean
  /** Receives what the service writes, so that other processes can read it. */
  readonly logFile?: string
}

export type TestService = {
  readonly baseUrl: string
  readonly opsUrl: string
  readonly dataDir: string
  readonly databaseUrl: string
  readonly credentialsFile: string
  readonly credentials: Credentials
  /** Signs as the first partner of the sandbox, with all permissions. */
  readonly client: Client
  readonly pid: number
  /** Environment variables of the service. */
  readonly env: Environment
  /** Everything written to stdout and stderr so far. */
  readonly output: () => string
  /** Runs `operator ...` in this process with the environment of this service and returns the JSON object that it prints. */
  readonly operator: (...words: readonly string[]) => Promise<JsonObject>
  /** Signs with credentials that an operator command printed. */
  readonly clientOf: (credentials: JsonObject) => Client
  /** Stops the service with SIGTERM and waits. Keeps the data. */
  readonly stop: () => Promise<number | null>
  /** Kills the service with SIGKILL. Keeps the data. */
  readonly kill: () => Promise<void>
  /** Stops the service and removes its folder and database, unless they were given. */
  readonly dispose: () => Promise<void>
}

/** Makes the clients of a test service call a gateway process in front of an api process, not the single process. */
export function callGateway(): void {
  callsGateway = true
}
let callsGateway = false

/**
 * The subjects that a generated test asks about. A gateway process validates and refuses with the code of the single process, of which the
 * tests ask everything: through it a share shows that nothing is lost on the way.
 */
export const askedOf = <T>(subjects: readonly T[]): readonly T[] => (callsGateway ? shareOf(subjects, 5) : subjects)

const repository = fileURLToPath(new URL('../..', import.meta.url))
const mainFile = join(repository, 'service/src/main.ts')
const startMsMax = 180_000
const stopMsMax = 60_000

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' })
    const settle = (value: boolean) => {
      socket.destroy()
      resolve(value)
    }
    socket.once('connect', () => settle(true))
    socket.once('error', () => settle(false))
  })
}

/** Reads credentials from what a command has printed, as an object or as text. */
export function readCredentials(printed: JsonObject | string): Credentials {
  const given = typeof printed === 'string' ? (JSON.parse(printed) as JsonObject) : printed
  const fields = ['partnerId', 'apiKey', 'apiSecret', 'privateKeyPem'] as const
  for (const field of fields) assert.equal(typeof given[field], 'string', `credentials without ${field}`)
  return given as Credentials
}

/** Creates a partner by a command in a process of its own. */
export async function createPartner(name: string, env: Environment): Promise<Credentials> {
  const { code, stdout, stderr } = await run(['operator', 'partner', 'create', '--name', name], env)
  assert.equal(code, 0, stderr)
  return readCredentials(stdout)
}

/** Server for all services of a test file, because two may share a database. */
const gatewayMasterKey = randomBytes(32).toString('base64')

async function environmentOf(options: TestServiceOptions) {
  const [port, opsPort] = await freePorts(2)
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'partner-payments-service-')))
  // The embedded server, which runs as another user if this process runs as root, needs access.
  if (options.dataDir === undefined) await chmod(dataDir, 0o711)
  const needed = options.env?.DATABASE_URL === undefined && options.embedded !== true
  const database = needed ? await createTestDatabase() : undefined
  const databaseUrl = options.env?.DATABASE_URL ?? database?.url ?? ''
  const env: Environment = {
    ...inheritedEnvironment,
    DATA_DIR: dataDir,
    DATABASE_URL: databaseUrl,
    ...(callsGateway ? { MASTER_KEY: gatewayMasterKey } : {}),
    PORT: String(port),
    OPS_PORT: String(opsPort),
    SANDBOX_BANK_DELAY_MS: '50',
    // The tests exceed the default limits of rates. `test/contract/limits.test.ts` and `strangers.test.ts` set and test them.
    RATE_PER_SECOND: '1000000',
    PAGE_RATE_PER_SECOND: '1000',
    WEBHOOK_RETRY_DELAYS_MS: Array.from({ length: 11 }, () => '200').join(','),
    ...options.env,
  }
  const remove = async () => {
    await database?.drop()
    if (options.dataDir === undefined) await rm(dataDir, { recursive: true, force: true })
  }
  return { env, remove, dataDir, databaseUrl, port: Number(env.PORT), opsPort: Number(env.OPS_PORT) }
}

function collect(child: ChildProcess): () => string {
  const chunks: string[] = []
  child.stdout?.setEncoding('utf8').on('data', (text: string) => chunks.push(text))
  child.stderr?.setEncoding('utf8').on('data', (text: string) => chunks.push(text))
  return () => chunks.join('')
}

function endings(child: ChildProcess, output: () => string) {
  const exited = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)))
  const abandon = () => void child.kill('SIGKILL')
  process.once('exit', abandon)
  void exited.then(() => process.removeListener('exit', abandon))
  const isRunning = () => child.exitCode === null && child.signalCode === null
  const stop = async () => {
    child.kill('SIGTERM')
    const timer = setTimeout(() => child.kill('SIGKILL'), stopMsMax)
    const code = await exited
    clearTimeout(timer)
    assert.notEqual(child.signalCode, 'SIGKILL', `SIGTERM did not end the service in ${stopMsMax} ms:\n${output()}`)
    return code
  }
  const kill = async () => {
    child.kill('SIGKILL')
    await exited
  }
  return { stop, kill, isRunning }
}

/** An api process and a gateway in front of it, on the database of the single process, which runs the workers. */
async function startRoles(env: Environment) {
  const [apiPort = '', apiOps = '', PORT = '', OPS_PORT = ''] = (await freePorts(4)).map(String)
  const api = await startProgram(['api'], { ...env, PORT: apiPort, OPS_PORT: apiOps })
  const gateway = await startProgram(['gateway'], { ...env, PORT, OPS_PORT, API_URL: `http://127.0.0.1:${apiPort}` })
  const stop = async () => {
    for (const program of [gateway, api]) assert.equal((await stopProgram(program)).code, 0)
  }
  return { baseUrl: `http://127.0.0.1:${PORT}`, stop }
}

/** Runs commands with these environment variables. */
const operatorOf =
  (env: Environment): TestService['operator'] =>
  async (...words) => {
    const { code, stdout, stderr } = await runOperator(words, env)
    assert.equal(code, 0, stderr)
    return JSON.parse(stdout) as JsonObject
  }

export async function startTestService(options: TestServiceOptions = {}): Promise<TestService> {
  const { env, remove, dataDir, databaseUrl, port, opsPort } = await environmentOf(options)
  const { logFile } = options
  const log = logFile === undefined ? 'pipe' : openSync(logFile, 'a')
  const child = spawn(process.execPath, [mainFile, 'serve'], { cwd: repository, env, stdio: ['ignore', log, log] })
  const output = logFile === undefined ? collect(child) : () => readFileSync(logFile, 'utf8')
  const { stop, kill, isRunning } = endings(child, output)
  const credentialsFile = join(dataDir, 'sandbox-credentials.json')
  try {
    await until(
      'the service answers',
      async () => !isRunning() || (existsSync(credentialsFile) && (await answers(port))),
      startMsMax,
    )
    assert.ok(isRunning(), 'the service ended at start')
  } catch (error) {
    await kill()
    await remove()
    throw new Error(`the service did not start:\n${output()}`, { cause: error })
  }
  const roles = callsGateway ? await startRoles(env) : undefined
  const baseUrl = roles?.baseUrl ?? `http://127.0.0.1:${port}`
  const credentials = readCredentials(readFileSync(credentialsFile, 'utf8'))
  const stopAll = async <T>(stopService: () => Promise<T>): Promise<T> => {
    await roles?.stop()
    return stopService()
  }
  return {
    baseUrl,
    opsUrl: `http://127.0.0.1:${opsPort}`,
    dataDir,
    databaseUrl,
    credentialsFile,
    credentials,
    client: createClient(baseUrl, credentials),
    pid: child.pid ?? 0,
    env,
    output,
    operator: operatorOf(env),
    clientOf: (given) => createClient(baseUrl, readCredentials(given)),
    stop: () => stopAll(stop),
    kill: () => stopAll(kill),
    dispose: async () => {
      if (isRunning()) await stopAll(stop)
      await remove()
    },
  }
}

type OperatedService = Pick<TestService, 'credentials' | 'operator' | 'clientOf'>

/** Service for a test file that changes only its own partner. */
export type SharedService = Pick<
  TestService,
  | 'baseUrl'
  | 'dataDir'
  | 'databaseUrl'
  | 'env'
  | 'credentialsFile'
  | 'credentials'
  | 'client'
  | 'output'
  | 'operator'
  | 'clientOf'
  | 'dispose'
>

const sharedVariable = 'TEST_SHARED_SERVICE'
type SharedAddress = { readonly baseUrl: string; readonly env: Environment; readonly logFile: string }

/** Starts the service that `joinTestService` uses in the processes that inherit the environment of this one. */
export async function startSharedService(): Promise<TestService> {
  const folder = await mkdtemp(join(tmpdir(), 'partner-payments-shared-'))
  const logFile = join(folder, 'log')
  const service = await startTestService({ logFile })
  const shared: SharedAddress = { baseUrl: service.baseUrl, env: service.env, logFile }
  process.env[sharedVariable] = JSON.stringify(shared)
  const dispose = async () => {
    await service.dispose()
    await rm(folder, { recursive: true })
  }
  return { ...service, dispose }
}

/** A new partner on the service that the files of this run share, or a service of its own if the file runs alone. */
export async function joinTestService(): Promise<SharedService> {
  const given = process.env[sharedVariable]
  if (given === undefined || callsGateway) return startTestService()
  const { baseUrl, env, logFile } = JSON.parse(given) as SharedAddress
  const operator = operatorOf(env)
  const printed = await operator('partner', 'create', '--name', 'Sandbox Partner')
  const credentials = readCredentials(printed)
  const folder = await mkdtemp(join(tmpdir(), 'partner-payments-partner-'))
  const credentialsFile = join(folder, 'sandbox-credentials.json')
  await writeFile(credentialsFile, JSON.stringify(printed), { mode: 0o600 })
  return {
    baseUrl,
    dataDir: env['DATA_DIR'] ?? '',
    databaseUrl: env['DATABASE_URL'] ?? '',
    env,
    credentialsFile,
    credentials,
    client: createClient(baseUrl, credentials),
    output: () => readFileSync(logFile, 'utf8'),
    operator,
    clientOf: (other) => createClient(baseUrl, readCredentials(other)),
    dispose: () => rm(folder, { recursive: true }),
  }
}

/**
 * A service of its own that behaves as production does in everything but what a sandbox simulates. Its commands are run by one person of
 * staff and approved by another.
 */
export async function startStrictService(): Promise<TestService> {
  const env = { SANDBOX_DEFAULTS: 'production', WEBHOOK_RETRY_DELAYS_MS: '', STOP_DELAY_MS: '0' }
  const service = await startTestService({ env })
  let joined: Promise<TestService['operator']> | undefined
  return { ...service, operator: async (...words) => (await (joined ??= operatorByTwo(service)))(...words) }
}

async function operatorByTwo({ operator, opsUrl, env, dataDir }: TestService): Promise<TestService['operator']> {
  const desk = { opsUrl, env, folder: dataDir }
  const ada = await staffAtDesk(desk, { name: 'Ada Staff', role: 'admin' })
  const grace = await staffAtDesk(desk, { name: 'Grace Staff', role: 'admin', by: ada.as })
  return async (...words) => {
    const printed = await operator(...words, ...ada.as)
    if (printed['waits'] === undefined) return printed
    const approved = await operator('change', 'approve', '--id', String(printed['waits']), ...grace.as)
    // A secret is printed for its author only.
    return approved['approved'] === undefined
      ? approved
      : operator('change', 'run', '--id', String(printed['waits']), ...ada.as)
  }
}

/** A second partner, created by an operator command, with all permissions and the sandbox float. */
export async function otherPartner(service: OperatedService, name = 'Other Partner'): Promise<Client> {
  return service.clientOf(await service.operator('partner', 'create', '--name', name))
}

/** Another service account of the first partner, with exactly these permissions. */
export async function accountWith(service: OperatedService, permissions: readonly string[]): Promise<Client> {
  const words = ['--partner', service.credentials.partnerId, '--name', 'Fewer', '--permissions', permissions.join(',')]
  return service.clientOf(await service.operator('service-account', 'create', ...words))
}

export async function impersonation(service: OperatedService): Promise<Client> {
  const { partnerId } = service.credentials
  const reason = ['--staff', 'Sam Staff', '--minutes', '15', '--note', 'Ticket 7']
  return service.clientOf(await service.operator('impersonate', '--partner', partnerId, ...reason))
}
