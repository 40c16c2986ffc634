/** What every process of ours does alike: take a database and a port, stop in order, say in one line what is wrong. */
import { type Config, ConfigError } from './config.ts'
import { Refusal, Unreachable } from './api/index.ts'
import { type Log } from './kernel/index.ts'
import { createDatabase, type Database, EmbeddedPostgresError, MigrationError } from './postgres/index.ts'

/** What was started, to be stopped in the reverse order. */
export type Started = { readonly name: string; readonly stop: () => Promise<void> }

/** The form that the gateway has in each role that answers requests. */
export const gatewayForms = { serve: 'local', gateway: 'edge', api: 'inner' } as const

/** After this the process ends, whatever still hangs: the next start repairs what a kill would leave. */
const stopTimeoutMs = 45_000

/** Stops in the reverse order of starting, once; each part is given its time, the whole has an end. */
export function stopper(started: Started[], log: Log): () => Promise<void> {
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

/** What a process opens beyond DATABASE_CONNECTIONS_MAX: the nonces' own connections (`postgres/database.ts`). */
const connectionsBeside = 2
/** Of all processes together. */
export const connectionsOf = (config: Config, processes: number): number =>
  processes * (config.DATABASE_CONNECTIONS_MAX + connectionsBeside)

type ServerFacts = { readonly version: number; readonly connectionsMax: number }
const oldestServer = 150_000
const serverFacts = {
  parts: [
    `select current_setting('server_version_num')::integer as version, current_setting('max_connections')::integer
      - current_setting('superuser_reserved_connections')::integer as connections_max`,
  ],
  values: [],
}

/** Pushes its end to `started`. Refuses a server that is too old; says when `processes` of ours want more than it takes. */
export async function connectDatabase(
  url: string,
  { config, log, started }: { readonly config: Config; readonly log: Log; readonly started: Started[] },
  processes = 1,
): Promise<Database> {
  const db = createDatabase({ url, connectionsMax: config.DATABASE_CONNECTIONS_MAX, log })
  started.push({ name: 'database pool', stop: db.close })
  const facts = await db.row<ServerFacts>(serverFacts)
  if (facts !== undefined && facts.version < oldestServer)
    throw new ConfigError(
      `DATABASE_URL leads to PostgreSQL ${Math.floor(facts.version / 10_000)}; 15 or newer is required`,
    )
  const wanted = connectionsOf(config, processes)
  if (facts !== undefined && wanted > facts.connectionsMax)
    log.warn({ wanted, max: facts.connectionsMax }, 'together the processes may want more connections than there are')
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
          ? 'may not be opened'
          : `cannot be opened (${code ?? (error as Error).message})`
    throw new ConfigError(`${host}:${port} ${why}: choose another with ${variable}`)
  }
}

/** One clear line for what a person can mend; everything else keeps its stack, because it is ours to mend. */
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
