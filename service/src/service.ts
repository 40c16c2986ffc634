/** The roles `serve`, `gateway`, `api` and `worker`: composes the service on an open database, and starts what the role runs. */
import { join } from 'node:path'
import { partnerById } from './access/index.ts'
import { compose, type Service } from './app/compose.ts'
import type { Config } from './app/config.ts'
import { consoleUrlAt, publicUrlOf } from './app/derived-settings.ts'
import type { SimulatedIdentity } from './app/people.ts'
import type { Gateway } from './edge/gateway/index.ts'
import { type Log, systemClock } from './kernel/index.ts'
import { createObservability } from './edge/observability/index.ts'
import { loadCommands } from './operator/index.ts'
import { type Database, type EmbeddedPostgres, hasCluster } from './postgres/index.ts'
import {
  isRequestRole,
  drainComponents,
  gatewayForms,
  listenOrExplain,
  listenForOperations,
  type StartedComponent,
  startTracing,
} from './app/process.ts'
import { createProcesses, type Processes, type RequestRole } from './app/processes.ts'
import { credentialsFile, seedSandbox } from './app/seed.ts'
import type { Signals } from './app/signals.ts'

type Context = {
  readonly config: Config
  readonly log: Log
  readonly started: StartedComponent[]
  readonly stop: () => Promise<void>
  readonly signals: Signals | undefined
  readonly db: Database
  readonly url: string
  /** The server that this process has started. */
  readonly embedded: EmbeddedPostgres | undefined
}

type ServiceRole = RequestRole | 'worker'

/** Starts the service in a role. Resolves when the role is ready. */
export async function startService(role: ServiceRole, context: Context): Promise<void> {
  const { config, log, started, stop, signals, db, url, embedded } = context
  const mailboxFolder = join(config.DATA_DIR, 'mailbox')
  const processes =
    isRequestRole(role) && config.PROCESSES > 1
      ? createProcesses({ role, config, log, onWritesRefused: db.writes.refused })
      : undefined
  const tracing = await startTracing(config, role, started)
  const observability = await createObservability({
    db,
    partners: { cell: config.CELL, has: async (id) => (await partnerById(db, id)) !== undefined },
    ...(processes ? { process: '0', others: processes } : {}),
  })
  const service = compose({ config, db, clock: systemClock, log, observability, tracing, mailboxFolder })
  embedded?.ended.then(
    () => databaseEnded(context),
    () => undefined,
  )
  // The roles `gateway` and `api` have no desk.
  const hasDesk = role === 'serve' || role === 'worker'
  const desk = hasDesk
    ? await service.desk((await loadCommands()).createDeskChanges({ service, db, config, databaseUrl: url }))
    : undefined
  const simulator = hasDesk ? service.identitySimulator() : undefined
  const opsPort = await listenForOperations(config, isRequestRole(role), (host, port) =>
    observability.listen(host, port, { desk, identitySimulator: simulator?.listener }),
  )
  started.push({ name: 'operations', stop: observability.close })
  let served: ServedAddress | undefined
  if (isRequestRole(role)) served = await serve(role, service, opsPort, { ...context, processes, simulator })
  else {
    simulator?.opened({ simulatorUrl: simulatorUrlAt(config, opsPort), apiUrl: publicUrlOf(config) })
    startWorkers(service, started)
  }
  signals?.start.throwIfAborted()
  const drainAndStop = async () => {
    observability.drain()
    await drainComponents(started, config.STOP_DELAY_MS)
    await stop()
  }
  signals?.started({ stop: drainAndStop, log })
  if (processes) process.on('SIGUSR2', () => processes.restartInTurn())
  observability.ready()
  if (role === 'serve' && served !== undefined) process.stdout.write(welcome(config, served, opsPort))
}

type Serving = Context & {
  /** Present if several processes answer requests. This process then supervises them and runs the workers. */
  readonly processes: Processes | undefined
  readonly simulator: SimulatedIdentity | undefined
}

/** Returns the URL of the identity simulator for workers and browsers on this machine. */
const simulatorUrlAt = ({ OPS_HOST }: Config, opsPort: number): string =>
  `http://${/^(?:0\.0\.0\.0|::)$/.test(OPS_HOST) ? 'localhost' : OPS_HOST.includes(':') ? `[${OPS_HOST}]` : OPS_HOST}:${opsPort}/identity-simulator`

/** The address of the API. `firstAdminPath`: the link by which the first Admin of the sandbox joins. Absent: there is an Admin. */
type ServedAddress = { readonly baseUrl: string; readonly firstAdminPath?: string }

async function serve(
  role: RequestRole,
  service: Service,
  opsPort: number,
  { config, log, started, db, url, processes, simulator }: Serving,
): Promise<ServedAddress> {
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
      token = await service.firstAdmin.linkToken(await seedSandbox(service, db, config.DATA_DIR, baseUrl))
  }
  // Pushed last, so that requests finish before the workers and the database that they need are stopped.
  started.push(part)
  log.info({ role, port, opsPort, baseUrl, processes: config.PROCESSES }, 'listening')
  return { baseUrl, ...(token && { firstAdminPath: `/first-admin?token=${token}` }) }
}

type Listening = { readonly port: number; readonly part: StartedComponent }

async function listenHere(role: RequestRole, service: Service, config: Config): Promise<Listening> {
  const form = gatewayForms[role]
  const gateway: Gateway = await service.gateway(form)
  const port = await listenOrExplain('PORT', config.HOST, config.PORT, gateway.listen)
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

function startWorkers(service: Service, started: StartedComponent[]): void {
  started.push({ name: 'workers', ...service.startWorkers() })
}

function welcome(config: Config, { baseUrl, firstAdminPath }: ServedAddress, opsPort: number): string {
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

/** Ends the process if the embedded server stops unexpectedly, so that a supervisor restarts the service. */
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
