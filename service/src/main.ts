/**
 * The roles of the one program. `serve` is everything in one process; `gateway`, `api` and `worker` are the same code
 * apart; `migrate` and `operator` do one thing and end. Whatever fails at start is one clear line and exit code 1.
 */
import { join } from 'node:path'
import { compose, type House } from './compose.ts'
import { type Config, ConfigError, makeDataDir, printConfig, readConfig, startedByNpm } from './config.ts'
import type { Gateway } from './gateway/index.ts'
import { createLog, type Log, type Loop, Refusal, systemClock, Unreachable } from './kernel/index.ts'
import { createOperations, type Operations } from './operations/index.ts'
import { requireCommand, runOperator } from './operator.ts'
import {
  createDatabase,
  type Database,
  EmbeddedPostgresError,
  findRunningPostgres,
  migrate,
  MigrationError,
  requireMigrated,
  startEmbeddedPostgres,
} from './postgres/index.ts'
import { credentialsFile, seedSandbox } from './seed.ts'

const roles = ['serve', 'gateway', 'api', 'worker', 'migrate', 'operator'] as const
type Role = (typeof roles)[number]
/** These are one service in several processes: what they share is told to each of them. */
const apartRoles: ReadonlySet<Role> = new Set(['gateway', 'api', 'worker'])

/** What was started, to be stopped in the reverse order. */
type Started = { readonly name: string; readonly stop: () => Promise<void> }

/** After this the process ends, whatever still hangs: the next start repairs what a kill would leave. */
const stopTimeoutMs = 45_000

async function main(): Promise<void> {
  const [role = 'serve', ...args] = process.argv.slice(2)
  if (!isRole(role)) throw new ConfigError(`no role ${role}: there are ${roles.join(', ')}`)
  if (role === 'operator') requireCommand(args)
  else if (args.length > 0)
    throw new ConfigError(`the role ${role} takes no arguments, only variables: docs/configuration.md`)
  const config = readConfig({ makesKey: !apartRoles.has(role) })
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
  const { db, embedded } = await openDatabase(role, context)
  if (role === 'serve' || role === 'migrate' || embedded !== undefined) await migrate(db.pool)
  else await requireMigrated(db.pool)
  if (role === 'migrate') return stop()

  const outboxFolder = join(config.DATA_DIR, 'outbox')
  if (role === 'operator') {
    const house = compose({ config, db, clock: systemClock, log, outboxFolder })
    process.stdout.write(`${JSON.stringify(await runOperator(args, house, db, config))}\n`)
    return stop()
  }
  const operations = createOperations({ db })
  const house = compose({ config, db, clock: systemClock, log, operations, outboxFolder })
  onSignals(operations, stop, log)
  embedded?.ended.then(
    () => databaseEnded(started, stop, log),
    () => undefined,
  )
  const opsPort = await listening('OPS_PORT', config.OPS_HOST, config.OPS_PORT, operations.listen)
  started.push({ name: 'operations', stop: operations.close })
  if (role === 'worker') startWorkers(house, started)
  else await serve(role, house, opsPort, { ...context, db })
  operations.ready()
}

/** The database that is configured, or the embedded one, which belongs to one process: `serve`, or a lone command. */
async function openDatabase(role: Role, { config, log, started }: Context) {
  let url = config.DATABASE_URL ?? (role === 'operator' ? findRunningPostgres(config.DATA_DIR) : undefined)
  let embedded: Awaited<ReturnType<typeof startEmbeddedPostgres>> | undefined
  if (url === undefined) {
    if (apartRoles.has(role))
      throw new ConfigError(
        `DATABASE_URL is required for the role ${role}: the embedded database belongs to the role serve`,
      )
    makeDataDir(config.DATA_DIR)
    embedded = await startEmbeddedPostgres({ dataDir: config.DATA_DIR, durable: true, log: (line) => log.debug(line) })
    started.push({ name: 'embedded PostgreSQL', stop: embedded.stop })
    ;({ url } = embedded)
  }
  const db = createDatabase({ url, connectionsMax: config.DATABASE_CONNECTIONS_MAX, log })
  started.push({ name: 'database pool', stop: db.close })
  const version = await db.row<{ version: number }>(serverVersion)
  if (version !== undefined && version.version < oldestServer)
    throw new ConfigError(
      `DATABASE_URL leads to PostgreSQL ${Math.floor(version.version / 10_000)}; 15 or newer is required`,
    )
  return { db, embedded }
}

const oldestServer = 150_000
const serverVersion = { parts: ["select current_setting('server_version_num')::integer as version"], values: [] }

async function serve(
  role: 'serve' | 'gateway' | 'api',
  house: House,
  opsPort: number,
  { config, log, started, db }: Context & { readonly db: Database },
): Promise<void> {
  const form = ({ serve: 'local', gateway: 'edge', api: 'inner' } as const)[role]
  const gateway: Gateway = await house.gateway(form)
  const port = await listening('PORT', config.HOST, config.PORT, gateway.listen)
  const host = config.HOST.includes(':') ? `[${config.HOST}]` : config.HOST
  const baseUrl = config.PUBLIC_URL ?? `http://${host}:${port}`
  if (role === 'serve') {
    if (config.DATABASE_URL === undefined) await house.releaseLeases()
    startWorkers(house, started)
    if (config.MODE === 'sandbox') await seedSandbox(house, db, config.DATA_DIR, baseUrl)
  }
  // Pushed last, so that requests end before the workers and the database they need.
  started.push({ name: 'gateway', stop: gateway.close })
  log.info({ role, port, opsPort, baseUrl }, 'listening')
  if (role === 'serve') process.stdout.write(welcome(config, baseUrl, opsPort))
}

function startWorkers(house: House, started: Started[]): void {
  const loops: readonly Loop[] = house.startWorkers()
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

async function listening(
  variable: 'PORT' | 'OPS_PORT',
  host: string,
  port: number,
  listen: (host: string, port: number) => Promise<number>,
): Promise<number> {
  try {
    return await listen(host, port)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const why =
      code === 'EADDRINUSE'
        ? 'is in use'
        : code === 'EACCES'
          ? 'may not be opened'
          : `cannot be opened (${code ?? (error as Error).message})`
    throw new ConfigError(`${host}:${port} ${why}: choose another with ${variable}`)
  }
}

/** Stops in the reverse order of starting, once; each part is given its time, the whole has an end. */
function stopper(started: Started[], log: Log): () => Promise<void> {
  let stopping: Promise<void> | undefined
  return () => {
    stopping ??= (async () => {
      const deadline = setTimeout(() => {
        log.error('the stop took too long')
        process.exit(1)
      }, stopTimeoutMs)
      deadline.unref()
      for (let part = started.pop(); part; part = started.pop())
        await part.stop().catch((error: unknown) => log.error({ err: error }, 'a part did not stop cleanly'))
      clearTimeout(deadline)
    })()
    return stopping
  }
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

/** One clear line for what a person can mend; everything else keeps its stack, because it is ours to mend. */
function explain(error: unknown): string {
  if (error instanceof ConfigError || error instanceof EmbeddedPostgresError || error instanceof MigrationError)
    return error.message
  if (error instanceof Refusal) return error.detail
  if (error instanceof Unreachable) {
    const cause =
      error.cause instanceof Error ? `: ${error.cause.message || (error.cause as NodeJS.ErrnoException).code}` : ''
    return `DATABASE_URL: ${error.message}${cause}`
  }
  const { code } = error as { code?: unknown }
  if (typeof code === 'string' && /^(28...|3D...|42501)$/.test(code)) return `DATABASE_URL: ${(error as Error).message}`
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

main().catch((error: unknown) => {
  process.stderr.write(`${explain(error)}\n`)
  process.exit(1)
})
