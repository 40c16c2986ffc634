/** Tasks of every process: connect to the database, listen, stop in order, explain a failure in one line. */
import { createServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { allPartnerIds, masterKeyState, recordMasterKeys } from '../access/index.ts'
import { type Config, ConfigError, makeDataDir, saveMasterKey } from './config.ts'
import { createTracing } from '../edge/observability/index.ts'
import { Refusal, Unreachable } from '../kernel/api/index.ts'
import { type Log, systemClock, type Tracing } from '../kernel/index.ts'
import {
  createDatabase,
  type Database,
  type EmbeddedPostgres,
  EmbeddedPostgresError,
  MigrationError,
  startEmbeddedPostgres,
} from '../postgres/index.ts'

/** A started component of the process. Components are stopped in the reverse order of their start. */
export type StartedComponent = {
  readonly name: string
  readonly stop: () => Promise<void>
  /** Asks clients to send their next request elsewhere, while the component still answers. */
  readonly drain?: () => void
}

/** The form of the gateway in each role that answers requests. */
export const gatewayForms = { serve: 'standalone', gateway: 'gateway', api: 'api' } as const
export const isRequestRole = (role: string): role is keyof typeof gatewayForms => Object.hasOwn(gatewayForms, role)

/** The time after which the process ends even if a component still hangs. The next start recovers as after a kill. */
const stopTimeoutMs = 45_000

/** Creates a function that stops every component once, in the reverse order of the start, within `stopTimeoutMs`. */
export function createStop(started: StartedComponent[], log: Log): () => Promise<void> {
  let stopping: Promise<void> | undefined
  return () => {
    stopping ??= (async () => {
      const deadline = setTimeout(() => {
        log.error('stop timed out; the process ends')
        process.exit(1)
      }, stopTimeoutMs)
      deadline.unref()
      for (let part = started.pop(); part; part = started.pop())
        await part.stop().catch((error: unknown) => log.error({ err: error }, 'a component failed to stop'))
      clearTimeout(deadline)
    })()
    return stopping
  }
}

/**
 * Drains the components that answer requests, and waits for `delayMs`: a load balancer reads `/readyz` before they
 * close their ports. Resolves at once if no component answers requests.
 */
export async function drainComponents(started: readonly StartedComponent[], delayMs: number): Promise<void> {
  const draining = started.filter(({ drain }) => drain !== undefined)
  for (const { drain } of draining) drain?.()
  if (draining.length > 0) await pause(delayMs)
}

/** Connections of a process for unflushed writes, in addition to DATABASE_CONNECTIONS_MAX (`postgres/database.ts`). */
const extraConnections = 2
const connectionsOf = (config: Config, processes: number): number =>
  processes * (config.DATABASE_CONNECTIONS_MAX + extraConnections)

type ServerLimits = { readonly version: number; readonly connectionsMax: number }
/** `server_version_num` of PostgreSQL 15. */
const oldestServer = 150_000
const serverLimits = {
  parts: [
    `select current_setting('server_version_num')::integer as version, current_setting('max_connections')::integer
      - current_setting('superuser_reserved_connections')::integer as connections_max`,
  ],
  values: [],
}

/**
 * Connects, and pushes the pool to `started`. Throws a ConfigError if the server is too old. Logs a warning if `processes`
 * processes may open more connections than the server accepts.
 */
export async function connectDatabase(
  url: string,
  { config, log, started }: { readonly config: Config; readonly log: Log; readonly started: StartedComponent[] },
  processes = 1,
): Promise<Database> {
  const db = createDatabase({
    url,
    connectionsMax: config.DATABASE_CONNECTIONS_MAX,
    log,
    sharded: config.DATABASE_SHARDED,
    partnerIds: allPartnerIds,
  })
  started.push({ name: 'database pool', stop: db.close })
  const facts = await db.row<ServerLimits>(serverLimits)
  if (facts !== undefined && facts.version < oldestServer)
    throw new ConfigError(
      `DATABASE_URL leads to PostgreSQL ${Math.floor(facts.version / 10_000)}; 15 or newer is required`,
    )
  const wanted = connectionsOf(config, processes)
  if (facts !== undefined && wanted > facts.connectionsMax)
    log.warn({ wanted, max: facts.connectionsMax }, 'the processes may open more connections than the server accepts')
  return db
}

/** Starts the embedded database of the data folder and pushes it to `started`. */
export async function startDatabase(
  { config, log, started }: { readonly config: Config; readonly log: Log; readonly started: StartedComponent[] },
  processes = 1,
): Promise<EmbeddedPostgres> {
  const { DATA_DIR: dataDir, BACKUP_DIR: backupDir } = config
  makeDataDir(dataDir)
  const connectionsMax = connectionsOf(config, processes)
  const logLine = (line: string) => log.debug(line)
  const embedded = await startEmbeddedPostgres({ dataDir, backupDir, durable: true, connectionsMax, log: logLine })
  started.push({ name: 'embedded PostgreSQL', stop: embedded.stop })
  return embedded
}

/** Starts tracing if a collector is configured, and pushes it to `started`. */
export async function startTracing(
  config: Config,
  role: string,
  started: StartedComponent[],
): Promise<Tracing | undefined> {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_TRACES_SAMPLER_ARG: ratio } = config
  if (endpoint === undefined) return undefined
  const tracing = await createTracing(endpoint, role, ratio)
  started.push({ name: 'traces', stop: tracing.close })
  return tracing
}

/** Throws a ConfigError if values of the database are sealed under a master key that is not configured. */
export async function requireMasterKey(db: Database, config: Config): Promise<void> {
  const state = await masterKeyState(db, config.MASTER_KEY)
  if (state === 'unused' || state === 'open') return
  const file = config.masterKeyFile
  const page = 'see docs/runbooks/master-key.md'
  if (file?.isNew)
    throw new ConfigError(`${file.path} is missing, and the database cannot be opened without it: restore it; ${page}`)
  const where = file ? `the master key in ${file.path}` : 'MASTER_KEY'
  throw new ConfigError(
    state === 'closed'
      ? `${where} does not open this database: set the key that it was created with; ${page}`
      : `${where} opens only a part of this database: add its earlier key after the new one (NEW,OLD); ${page}`,
  )
}

/** Checks the master key, writes a sandbox's new key to its file, and then records it in the database. */
export async function acceptMasterKey(db: Database, config: Config): Promise<void> {
  await requireMasterKey(db, config)
  saveMasterKey(config)
  await recordMasterKeys(db, config.MASTER_KEY, systemClock)
  await requireMasterKey(db, config)
}

/**
 * Opens the operations port, before the API port. If both are in use, for example by a second service with the same settings,
 * the error names both. The API port is opened last, because an open API port looks like a started service.
 */
export async function listenForOperations(
  { HOST, PORT, OPS_HOST, OPS_PORT }: Pick<Config, 'HOST' | 'PORT' | 'OPS_HOST' | 'OPS_PORT'>,
  opensApi: boolean,
  listen: (host: string, port: number) => Promise<number>,
): Promise<number> {
  try {
    return await listenOrExplain('OPS_PORT', OPS_HOST, OPS_PORT, listen)
  } catch (error) {
    if (!opensApi || !(await isTaken(OPS_HOST, OPS_PORT)) || !(await isTaken(HOST, PORT))) throw error
    throw new ConfigError(
      `${HOST}:${PORT} and ${OPS_HOST}:${OPS_PORT} are in use: choose others with PORT and OPS_PORT, or stop the other service`,
    )
  }
}

function isTaken(host: string, port: number): Promise<boolean> {
  const server = createServer()
  return new Promise((resolve) => {
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code === 'EADDRINUSE'))
    server.listen(port, host, () => server.close(() => resolve(false)))
  })
}

export async function listenOrExplain(
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
          ? 'is not permitted'
          : `cannot be opened (${code ?? (error as Error).message})`
    throw new ConfigError(`${host}:${port} ${why}: choose another with ${variable}`)
  }
}

/** Explains a failure in one line if an operator can correct it. Any other failure is a bug and has its stack. */
export function explainFailure(error: unknown): string {
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
