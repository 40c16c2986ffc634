/** What every process of the service does: connect to the database, listen, stop in order, explain a failure in one line. */
import { allPartnerIds } from './access/index.ts'
import { type Config, ConfigError } from './config.ts'
import { Refusal, Unreachable } from './api/index.ts'
import { type Log } from './kernel/index.ts'
import { createDatabase, type Database, EmbeddedPostgresError, MigrationError } from './postgres/index.ts'

/** A started part. Parts are stopped in the reverse order of their start. */
export type Started = { readonly name: string; readonly stop: () => Promise<void> }

/** The form of the gateway in each role that answers requests. */
export const gatewayForms = { serve: 'standalone', gateway: 'gateway', api: 'api' } as const

/** After this time the process ends even if a part still hangs. The next start recovers as after a kill. */
const stopTimeoutMs = 45_000

/** Stops every part once, in the reverse order of the start, within `stopTimeoutMs`. */
export function stopper(started: Started[], log: Log): () => Promise<void> {
  let stopping: Promise<void> | undefined
  return () => {
    stopping ??= (async () => {
      const deadline = setTimeout(() => {
        log.error('stop timed out; the process ends')
        process.exit(1)
      }, stopTimeoutMs)
      deadline.unref()
      for (let part = started.pop(); part; part = started.pop())
        await part.stop().catch((error: unknown) => log.error({ err: error }, 'a part failed to stop'))
      clearTimeout(deadline)
    })()
    return stopping
  }
}

/** Connections of a process beyond DATABASE_CONNECTIONS_MAX: those of unflushed writes (`postgres/database.ts`). */
const extraConnections = 2
/** The connections of all processes together. */
export const connectionsOf = (config: Config, processes: number): number =>
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
  { config, log, started }: { readonly config: Config; readonly log: Log; readonly started: Started[] },
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

export async function listening(
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

/** One line for a failure that an operator can correct; the stack for everything else, which is a bug. */
export function explain(error: unknown): string {
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
