/**
 * The roles of the program. `serve` runs everything, with one process or several for requests (`processes.ts`).
 * `gateway`, `api` and `worker` run parts of it in separate processes. `router` routes to several installations.
 * `migrate` and `operator` run one command and end. A failed start prints one line and ends with exit code 1.
 */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { partnerById } from './access/index.ts'
import { deskChanges, runCommand } from './command.ts'
import { compose, type Service } from './app/compose.ts'
import {
  type Config,
  ConfigError,
  consoleUrlAt,
  printConfig,
  readConfig,
  type ReadOptions,
  readRouterConfig,
  startedByNpm,
} from './app/config.ts'
import { publicUrlOf } from './app/derived-settings.ts'
import type { SimulatedIdentity } from './app/identity.ts'
import type { Gateway } from './gateway/index.ts'
import { createLog, type Log, systemClock } from './kernel/index.ts'
import { createObservability } from './observability/index.ts'
import { type Database, hasCluster, migrate, requireMigrated } from './postgres/index.ts'
import {
  acceptMasterKey,
  connectDatabase,
  drainParts,
  explain,
  gatewayForms,
  listening,
  listenForOperations,
  requireMasterKey,
  startDatabase,
  type Started,
  stopper,
  tracingOf,
} from './app/process.ts'
import { createProcesses, type Processes, type RequestRole } from './app/processes.ts'
import { startRouter } from './app/router.ts'
import { credentialsFile, seedSandbox } from './app/seed.ts'

const roles = ['serve', 'gateway', 'api', 'worker', 'router', 'migrate', 'operator'] as const
type Role = (typeof roles)[number]
type ServiceRole = Exclude<Role, 'operator' | 'router'>
/** Roles of one service in separate processes. The operator gives each the shared settings. */
const separateRoles: ReadonlySet<Role> = new Set(['gateway', 'api', 'worker'])

async function main(): Promise<void> {
  const [role = 'serve', ...args] = process.argv.slice(2)
  if (!isRole(role)) throw new ConfigError(`no role ${role}: the roles are ${roles.join(', ')}`)
  if (role === 'operator') return runCommand(args, writeOut)
  const given = readArguments(role, args)
  const signals = role === 'migrate' ? undefined : handleSignals()
  if (role === 'router') {
    const config = readRouterConfig()
    return stopOnFailure(createLog(config.LOG_LEVEL), signals, async (parts) => {
      const drainAndStop = await startRouter(config, parts)
      signals?.start.throwIfAborted()
      signals?.started({ stop: drainAndStop, log: parts.log })
    })
  }
  const config = readConfig({
    makesKey: !separateRoles.has(role),
    exchangesFiles: role === 'serve' || role === 'worker',
    given,
  })
  await stopOnFailure(createLog(config.LOG_LEVEL), signals, (parts) => run(role, { ...parts, config, signals }))
}

type Parts = Pick<Context, 'log' | 'started' | 'stop'>

async function stopOnFailure(
  log: Log,
  signals: Signals | undefined,
  work: (parts: Parts) => Promise<void>,
): Promise<void> {
  const started: Started[] = []
  const stop = stopper(started, log)
  try {
    await work({ log, started, stop })
  } catch (error) {
    await stop()
    if (!signals?.start.aborted) throw error
    // A failure after the signal is a consequence of it.
    process.stderr.write('Stopped before the service was ready.\n')
    process.exit(0)
  }
}

function readArguments(role: ServiceRole | 'router', args: readonly string[]): NonNullable<ReadOptions['given']> {
  const options = answersRequests(role) ? { processes: { type: 'string' } as const } : {}
  try {
    const { processes } = parseArgs({ args: [...args], options }).values as { readonly processes?: string }
    return processes === undefined ? {} : { PROCESSES: processes }
  } catch {
    const accepted = answersRequests(role) ? 'only the argument --processes N' : 'no arguments'
    throw new ConfigError(
      `the role ${role} takes ${accepted}; other settings are variables: docs/generated.md#configuration`,
    )
  }
}

const answersRequests = (role: Role): role is RequestRole => role === 'serve' || role === 'gateway' || role === 'api'
const isRole = (text: string): text is Role => (roles as readonly string[]).includes(text)

type Context = {
  readonly config: Config
  readonly log: Log
  readonly started: Started[]
  readonly stop: () => Promise<void>
  readonly signals: Signals | undefined
}

async function run(role: ServiceRole, context: Context): Promise<void> {
  const { config, log, started, stop, signals } = context
  log.info({ role, config: printConfig(config) }, 'starting')
  if (config.retired.length > 0) log.warn({ variables: config.retired }, 'variables of earlier versions have no effect')
  if (role === 'gateway' && config.API_URL === undefined)
    throw new ConfigError('API_URL is required for the role gateway')
  const { db, url, embedded } = await openDatabase(role, context)
  signals?.start.throwIfAborted()
  // Before the migrations: a wrong key often means a wrong database. `migrate` needs no key, and checks one that is set.
  if (role !== 'migrate' || !config.masterKeyFile?.isNew) await requireMasterKey(db, config)
  // The embedded database has no process of another version.
  const contract = embedded !== undefined || config.MIGRATE_CONTRACT
  if (role === 'serve' || role === 'migrate' || embedded !== undefined) await migrate(db.pool, { contract })
  else await requireMigrated(db.pool)
  if (role === 'migrate') return stop()
  await acceptMasterKey(db, config)
  signals?.start.throwIfAborted()

  const mailboxFolder = join(config.DATA_DIR, 'mailbox')
  const processes =
    answersRequests(role) && config.PROCESSES > 1
      ? createProcesses({ role, config, log, onWritesRefused: db.writes.refused })
      : undefined
  const tracing = await tracingOf(config, role, started)
  const observability = createObservability({
    db,
    partners: { cell: config.CELL, has: async (id) => (await partnerById(db, id)) !== undefined },
    ...(processes ? { process: '0', others: processes } : {}),
  })
  const service = compose({ config, db, clock: systemClock, log, observability, tracing, mailboxFolder })
  embedded?.ended.then(
    () => databaseEnded(context),
    () => undefined,
  )
  // Processes that only pass requests on, or answer them for a gateway, have no desk.
  const changes = deskChanges({ service, db, config, databaseUrl: url })
  const desk = role === 'serve' || role === 'worker' ? await service.desk(changes) : undefined
  const simulator = role === 'serve' || role === 'worker' ? service.identitySimulator() : undefined
  const opsPort = await listenForOperations(config, answersRequests(role), (host, port) =>
    observability.listen(host, port, { desk, identitySimulator: simulator?.listener }),
  )
  started.push({ name: 'operations', stop: observability.close })
  let served: Served | undefined
  if (answersRequests(role)) served = await serve(role, service, opsPort, { ...context, db, url, processes, simulator })
  else {
    simulator?.opened({ simulatorUrl: simulatorUrlAt(config, opsPort), apiUrl: publicUrlOf(config) })
    startWorkers(service, started)
  }
  signals?.start.throwIfAborted()
  const drainAndStop = async () => {
    observability.drain()
    await drainParts(started, config.STOP_DELAY_MS)
    await stop()
  }
  signals?.started({ stop: drainAndStop, log })
  if (processes) process.on('SIGUSR2', () => processes.restartInTurn())
  observability.ready()
  if (role === 'serve' && served !== undefined) process.stdout.write(welcome(config, served, opsPort))
}

/** Resolves when the text is on its way to the reader. A reader that ends early fails the write, which ends the command. */
function writeOut(text: string): Promise<void> {
  if (process.stdout.listenerCount('error') === 0) process.stdout.on('error', () => undefined)
  return new Promise((resolve, reject) => process.stdout.write(text, (error) => (error ? reject(error) : resolve())))
}

/** The configured database, or the embedded one, which belongs to the role `serve`. */
async function openDatabase(role: ServiceRole, context: Context) {
  const { config } = context
  const processes = answersRequests(role) && config.PROCESSES > 1 ? config.PROCESSES + 1 : 1
  if (config.DATABASE_URL === undefined && separateRoles.has(role))
    throw new ConfigError(
      `DATABASE_URL is required for the role ${role}: the embedded database belongs to the role serve`,
    )
  const embedded = config.DATABASE_URL === undefined ? await startDatabase(context, processes) : undefined
  const url = config.DATABASE_URL ?? embedded?.url ?? ''
  return { db: await connectDatabase(url, context, processes), url, embedded }
}

type Serving = Context & {
  readonly db: Database
  readonly url: string
  /** Defined if several processes answer requests; this process then supervises them and runs the workers. */
  readonly processes: Processes | undefined
  readonly simulator: SimulatedIdentity | undefined
}

/** Workers and browsers on this machine open it, as they open the desk. */
const simulatorUrlAt = ({ OPS_HOST }: Config, opsPort: number): string =>
  `http://${/^(?:0\.0\.0\.0|::)$/.test(OPS_HOST) ? 'localhost' : OPS_HOST.includes(':') ? `[${OPS_HOST}]` : OPS_HOST}:${opsPort}/identity-simulator`

/** The address of the API, and the path of the link by which the first Admin of the sandbox joins, if there is none yet. */
type Served = { readonly baseUrl: string; readonly firstAdminPath?: string }

async function serve(
  role: RequestRole,
  service: Service,
  opsPort: number,
  { config, log, started, db, url, processes, simulator }: Serving,
): Promise<Served> {
  const { port, part } = processes ? await listenByProcesses(processes, url) : await listenHere(role, service, config)
  const host = config.HOST.includes(':') ? `[${config.HOST}]` : config.HOST
  const baseUrl = config.PUBLIC_URL ?? `http://${host}:${port}`
  if (role === 'api' && processes === undefined)
    started.push({ name: 'announcements of work', ...service.announceWork() })
  let token: string | undefined
  if (role === 'serve') {
    if (config.DATABASE_URL === undefined) await service.releaseLeases()
    simulator?.opened({ simulatorUrl: simulatorUrlAt(config, opsPort), apiUrl: baseUrl })
    startWorkers(service, started)
    if (config.MODE === 'sandbox')
      token = await service.firstAdmin.tokenOf(await seedSandbox(service, db, config.DATA_DIR, baseUrl))
  }
  // Pushed last: requests end before the workers and the database that they need.
  started.push(part)
  log.info({ role, port, opsPort, baseUrl, processes: config.PROCESSES }, 'listening')
  return { baseUrl, ...(token && { firstAdminPath: `/first-admin?token=${token}` }) }
}

type Listening = { readonly port: number; readonly part: Started }

async function listenHere(role: RequestRole, service: Service, config: Config): Promise<Listening> {
  const form = gatewayForms[role]
  const gateway: Gateway = await service.gateway(form)
  const port = await listening('PORT', config.HOST, config.PORT, gateway.listen)
  return { port, part: { name: 'gateway', drain: gateway.drain, stop: gateway.close } }
}

async function listenByProcesses(processes: Processes, url: string): Promise<Listening> {
  const part = { name: 'API processes', drain: processes.drain, stop: processes.stop }
  try {
    return { port: await processes.start(url), part }
  } catch (error) {
    await processes.stop()
    throw error
  }
}

function startWorkers(service: Service, started: Started[]): void {
  started.push({ name: 'workers', ...service.startWorkers() })
}

function welcome(config: Config, { baseUrl, firstAdminPath }: Served, opsPort: number): string {
  const database = config.DATABASE_URL === undefined ? join(config.DATA_DIR, 'postgres') : 'DATABASE_URL'
  const lines = [
    `Partner Payments Service (${config.MODE}) listens on ${baseUrl}`,
    `  console        ${consoleUrlAt(baseUrl)}${firstAdminPath === undefined ? '' : `${firstAdminPath}   (joins as the first Admin)`}`,
    `  API reference  ${baseUrl}/docs   (${baseUrl}/openapi.json)`,
    ...(config.MODE === 'sandbox' ? [`  credentials    ${credentialsFile(config.DATA_DIR)}`] : []),
    `  database       ${database}`,
    `  operations     http://${config.OPS_HOST}:${opsPort}/healthz /readyz /metrics`,
    `  desk           ${new URL('/desk', config.DESK_URL ?? `http://localhost:${opsPort}`).href}   (operator staff invite)`,
    `  next           docs/guides/first-payout.md, or watch a whole day: npm run demo`,
    `  stop           Ctrl-C`,
  ]
  return `${lines.join('\n')}\n`
}

type Signals = {
  /** Aborted by a signal before the service is ready. The start then ends at its next step. */
  readonly start: AbortSignal
  /** Makes a signal drain the service, which then stops. */
  readonly started: (service: RunningService) => void
}
type RunningService = Pick<Context, 'stop' | 'log'>

function handleSignals(): Signals {
  const start = new AbortController()
  let service: RunningService | undefined
  let isStopping = false
  const onSignal = (signal: string) => {
    if (isStopping) process.exit(1) // A second Ctrl-C ends the process at once.
    isStopping = true
    if (service === undefined) return start.abort()
    service.log.info({ signal }, 'stopping')
    void service.stop().then(() => process.exit(0))
  }
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
  if (startedByNpm()) onOrphaned(() => onSignal('npm ended'))
  return { start: start.signal, started: (running) => void (service = running) }
}

/** Stops the service if npm, its parent, was killed: a killed npm forwards no signal. */
function onOrphaned(stop: () => void): void {
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    stop()
  }, orphanCheckMs)
  timer.unref()
}

const orphanCheckMs = 1_000

/** Ends the process after an unexpected end of the embedded server, so that a supervisor restarts it. */
async function databaseEnded({ config, log, started, stop }: Context): Promise<void> {
  if (!started.some(({ name }) => name === 'embedded PostgreSQL')) return
  const line = hasCluster(config.DATA_DIR)
    ? 'The embedded PostgreSQL ended unexpectedly: see postgres.log in the data folder.'
    : `The data folder ${config.DATA_DIR} was removed while the service ran: the service stops.`
  log.error({ dataDir: config.DATA_DIR }, 'the embedded PostgreSQL ended unexpectedly')
  process.stderr.write(`${line}\n`)
  await stop()
  process.exit(1)
}

main().catch((error: unknown) => {
  process.stderr.write(`${explain(error)}\n`)
  process.exit(1)
})
