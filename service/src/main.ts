/**
 * The roles of the one program. `serve` is everything in one process, or answers requests by several (`processes.ts`);
 * `gateway`, `api` and `worker` are the same code apart; `migrate` and `operator` do one thing and end. Whatever fails at start is one clear line and exit code 1.
 */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { compose, type Service } from './compose.ts'
import {
  type Config,
  ConfigError,
  makeDataDir,
  printConfig,
  readConfig,
  type ReadOptions,
  startedByNpm,
} from './config.ts'
import type { Gateway } from './gateway/index.ts'
import { createLog, type Log, type Loop, systemClock } from './kernel/index.ts'
import { createObservability, type Operations } from './observability/index.ts'
import { requireCommand, runOperator } from './operator.ts'
import {
  type Database,
  findRunningPostgres,
  migrate,
  requireMigrated,
  startEmbeddedPostgres,
} from './postgres/index.ts'
import { connectDatabase, connectionsOf, explain, gatewayForms, listening, type Started, stopper } from './process.ts'
import { createProcesses, type ManyRole, type Processes } from './processes.ts'
import { credentialsFile, seedSandbox } from './seed.ts'

const roles = ['serve', 'gateway', 'api', 'worker', 'migrate', 'operator'] as const
type Role = (typeof roles)[number]
/** These are one service in several processes: what they share is told to each of them. */
const apartRoles: ReadonlySet<Role> = new Set(['gateway', 'api', 'worker'])

async function main(): Promise<void> {
  const [role = 'serve', ...args] = process.argv.slice(2)
  if (!isRole(role)) throw new ConfigError(`no role ${role}: there are ${roles.join(', ')}`)
  if (role === 'operator') requireCommand(args)
  const given = role === 'operator' ? {} : readArguments(role, args)
  const config = readConfig({ makesKey: !apartRoles.has(role), given })
  const log = createLog(config.LOG_LEVEL)
  const started: Started[] = []
  const stop = stopper(started, log)
  try {
    await run(role, args, { config, log, started, stop })
  } catch (error) {
    await stop()
    throw error
  }
}

function readArguments(role: Role, args: readonly string[]): NonNullable<ReadOptions['given']> {
  const options = isMany(role) ? { processes: { type: 'string' } as const } : {}
  try {
    const { processes } = parseArgs({ args: [...args], options }).values as { readonly processes?: string }
    return processes === undefined ? {} : { PROCESSES: processes }
  } catch {
    const taken = isMany(role) ? 'no arguments but --processes N' : 'no arguments'
    throw new ConfigError(`the role ${role} takes ${taken}; the rest is variables: docs/configuration.md`)
  }
}

const isMany = (role: Role): role is ManyRole => role === 'serve' || role === 'gateway' || role === 'api'
const isRole = (text: string): text is Role => (roles as readonly string[]).includes(text)

type Context = {
  readonly config: Config
  readonly log: Log
  readonly started: Started[]
  readonly stop: () => Promise<void>
}

async function run(role: Role, args: readonly string[], context: Context): Promise<void> {
  const { config, log, started, stop } = context
  log.info({ role, config: printConfig(config) }, 'starting')
  if (role === 'gateway' && config.API_URL === undefined)
    throw new ConfigError('API_URL is required for the role gateway')
  const { db, url, embedded } = await openDatabase(role, context)
  if (role === 'serve' || role === 'migrate' || embedded !== undefined) await migrate(db.pool)
  else await requireMigrated(db.pool)
  if (role === 'migrate') return stop()

  const mailboxFolder = join(config.DATA_DIR, 'mailbox')
  if (role === 'operator') {
    const service = compose({ config, db, clock: systemClock, log, mailboxFolder })
    process.stdout.write(`${JSON.stringify(await runOperator(args, service, db, config))}\n`)
    return stop()
  }
  const processes = isMany(role) && config.PROCESSES > 1 ? createProcesses({ role, config, log }) : undefined
  const operations = createObservability({ db, ...(processes ? { process: '0', others: processes } : {}) })
  const service = compose({ config, db, clock: systemClock, log, operations, mailboxFolder })
  onSignals(operations, stop, log)
  embedded?.ended.then(
    () => databaseEnded(started, stop, log),
    () => undefined,
  )
  const opsPort = await listening('OPS_PORT', config.OPS_HOST, config.OPS_PORT, operations.listen)
  started.push({ name: 'operations', stop: operations.close })
  if (isMany(role)) await serve(role, service, opsPort, { ...context, db, url, processes })
  else startWorkers(service, started)
  operations.ready()
}

/** The database that is configured, or the embedded one, which belongs to one service: `serve`, or a lone command. */
async function openDatabase(role: Role, { config, log, started }: Context) {
  let url = config.DATABASE_URL ?? (role === 'operator' ? findRunningPostgres(config.DATA_DIR) : undefined)
  let embedded: Awaited<ReturnType<typeof startEmbeddedPostgres>> | undefined
  const processes = isMany(role) && config.PROCESSES > 1 ? config.PROCESSES + 1 : 1
  if (url === undefined) {
    if (apartRoles.has(role))
      throw new ConfigError(
        `DATABASE_URL is required for the role ${role}: the embedded database belongs to the role serve`,
      )
    makeDataDir(config.DATA_DIR)
    const connectionsMax = connectionsOf(config, processes)
    const logged = (line: string) => log.debug(line)
    embedded = await startEmbeddedPostgres({ dataDir: config.DATA_DIR, durable: true, connectionsMax, log: logged })
    started.push({ name: 'embedded PostgreSQL', stop: embedded.stop })
    ;({ url } = embedded)
  }
  return { db: await connectDatabase(url, { config, log, started }, processes), url, embedded }
}

type Serving = Context & {
  readonly db: Database
  readonly url: string
  /** Where several answer, this one only watches them, and works. */
  readonly processes: Processes | undefined
}

async function serve(
  role: ManyRole,
  service: Service,
  opsPort: number,
  { config, log, started, db, url, processes }: Serving,
): Promise<void> {
  const { port, part } = processes ? await serveByMany(processes, url) : await serveAlone(role, service, config)
  const host = config.HOST.includes(':') ? `[${config.HOST}]` : config.HOST
  const baseUrl = config.PUBLIC_URL ?? `http://${host}:${port}`
  if (role === 'serve') {
    if (config.DATABASE_URL === undefined) await service.releaseLeases()
    startWorkers(service, started)
    if (config.MODE === 'sandbox') await seedSandbox(service, db, config.DATA_DIR, baseUrl)
  }
  // Pushed last, so that requests end before the workers and the database they need.
  started.push(part)
  log.info({ role, port, opsPort, baseUrl, processes: config.PROCESSES }, 'listening')
  if (role === 'serve') process.stdout.write(welcome(config, baseUrl, opsPort))
}

type Listening = { readonly port: number; readonly part: Started }

async function serveAlone(role: ManyRole, service: Service, config: Config): Promise<Listening> {
  const form = gatewayForms[role]
  const gateway: Gateway = await service.gateway(form)
  const port = await listening('PORT', config.HOST, config.PORT, gateway.listen)
  return { port, part: { name: 'gateway', stop: gateway.close } }
}

async function serveByMany(processes: Processes, url: string): Promise<Listening> {
  const part = { name: 'API processes', stop: processes.stop }
  try {
    return { port: await processes.start(url), part }
  } catch (error) {
    await processes.stop()
    throw error
  }
}

function startWorkers(service: Service, started: Started[]): void {
  const loops: readonly Loop[] = service.startWorkers()
  started.push({ name: 'workers', stop: async () => void (await Promise.all(loops.map((loop) => loop.stop()))) })
}

function welcome(config: Config, baseUrl: string, opsPort: number): string {
  const database = config.DATABASE_URL === undefined ? join(config.DATA_DIR, 'postgres') : 'DATABASE_URL'
  const lines = [
    `Partner Payments Service (${config.MODE}) listens on ${baseUrl}`,
    `  API reference  ${baseUrl}/docs   (${baseUrl}/openapi.json)`,
    ...(config.MODE === 'sandbox' ? [`  credentials    ${credentialsFile(config.DATA_DIR)}`] : []),
    `  database       ${database}`,
    `  operations     http://${config.OPS_HOST}:${opsPort}/healthz /readyz /metrics`,
    `  next           docs/guides/first-payout.md, or watch a whole day: npm run demo`,
    `  stop           Ctrl-C`,
  ]
  return `${lines.join('\n')}\n`
}

function onSignals(operations: Operations, stop: () => Promise<void>, log: Log): void {
  let asked = false
  const onSignal = (signal: string) => {
    if (asked) process.exit(1) // a second Ctrl-C means now
    asked = true
    log.info({ signal }, 'stopping')
    operations.drain()
    void stop().then(() => process.exit(0))
  }
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
  if (startedByNpm()) onOrphaned(() => onSignal('npm has gone'))
}

/** npm that is killed outright passes nothing on: a service that nobody holds any more must not stay behind. */
function onOrphaned(stop: () => void): void {
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    stop()
  }, orphanCheckMs)
  timer.unref()
}

const orphanCheckMs = 250

/** The embedded server is gone although nobody asked: end, so that whoever watches the process starts it again. */
async function databaseEnded(started: readonly Started[], stop: () => Promise<void>, log: Log): Promise<void> {
  if (!started.some(({ name }) => name === 'embedded PostgreSQL')) return
  log.error('the embedded PostgreSQL has ended')
  process.stderr.write('The embedded PostgreSQL has ended: see postgres.log in the data folder.\n')
  await stop()
  process.exit(1)
}

main().catch((error: unknown) => {
  process.stderr.write(`${explain(error)}\n`)
  process.exit(1)
})
