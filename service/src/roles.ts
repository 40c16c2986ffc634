/**
 * The roles of the service. `serve` runs everything, with one process or several for requests (`app/processes.ts`).
 * `gateway`, `api` and `worker` run parts of it in separate processes. `router` routes to several installations.
 * `migrate` ends when all migrations are applied. A role loads only what it runs.
 */
import { parseArgs } from 'node:util'
import { type Config, ConfigError, redactConfig, readConfig, type ReadOptions, readRouterConfig } from './app/config.ts'
import { createLog, type Log } from './kernel/index.ts'
import { migrate, requireMigrated } from './postgres/index.ts'
import {
  acceptMasterKey,
  isRequestRole,
  connectDatabase,
  requireMasterKey,
  startDatabase,
  type StartedComponent,
  createStop,
} from './app/process.ts'
import { handleSignals, type Signals } from './app/signals.ts'

const roles = ['serve', 'gateway', 'api', 'worker', 'router', 'migrate', 'operator'] as const
type Role = Exclude<(typeof roles)[number], 'operator'>
type ServiceRole = Exclude<Role, 'router'>
/** Roles of one service in separate processes, all with the shared settings. */
const separateRoles: ReadonlySet<Role> = new Set(['gateway', 'api', 'worker'])

/** Runs a role. Resolves when the role is ready, or `migrate` has ended. Throws an error that `explain` turns into one line. */
export async function runRole(role: string, args: readonly string[]): Promise<void> {
  if (!isRole(role)) throw new ConfigError(`unknown role ${role}: the roles are ${roles.join(', ')}`)
  const given = readArguments(role, args)
  const signals = role === 'migrate' ? undefined : handleSignals()
  if (role === 'router') {
    const config = readRouterConfig()
    return stopOnFailure(createLog(config.LOG_LEVEL), signals, async (parts) => {
      const drainAndStop = await (await import('./app/router.ts')).startRouter(config, parts)
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

type Parts = { readonly log: Log; readonly started: StartedComponent[]; readonly stop: () => Promise<void> }

async function stopOnFailure(
  log: Log,
  signals: Signals | undefined,
  work: (parts: Parts) => Promise<void>,
): Promise<void> {
  const started: StartedComponent[] = []
  const stop = createStop(started, log)
  try {
    await work({ log, started, stop })
  } catch (error) {
    await stop()
    if (!signals?.start.aborted) throw error
    // A failure after the signal is a consequence of the signal.
    process.stderr.write('Stopped before the service was ready.\n')
    process.exit(0)
  }
}

function readArguments(role: Role, args: readonly string[]): NonNullable<ReadOptions['given']> {
  const options = isRequestRole(role) ? { processes: { type: 'string' } as const } : {}
  try {
    const { values, tokens } = parseArgs({ args: [...args], options, tokens: true })
    const { processes } = values as { readonly processes?: string }
    if (processes === '' || tokens.length > 1) throw new Error('empty, or given twice')
    return processes === undefined ? {} : { PROCESSES: processes }
  } catch {
    const accepted = isRequestRole(role) ? 'only the argument --processes N, once' : 'no arguments'
    throw new ConfigError(
      `the role ${role} takes ${accepted}; other settings are variables: docs/generated.md#configuration`,
    )
  }
}

const isRole = (text: string): text is Role => text !== 'operator' && (roles as readonly string[]).includes(text)

type Context = Parts & { readonly config: Config; readonly signals: Signals | undefined }

async function run(role: ServiceRole, context: Context): Promise<void> {
  const { config, log, stop, signals } = context
  log.info({ role, config: redactConfig(config) }, 'starting')
  if (config.retired.length > 0) log.warn({ variables: config.retired }, 'variables of earlier versions have no effect')
  if (role === 'gateway' && config.API_URL === undefined)
    throw new ConfigError('API_URL is required for the role gateway')
  const { db, url, embedded } = await openDatabase(role, context)
  signals?.start.throwIfAborted()
  // Checked before the migrations, because a wrong key often means a wrong database. `migrate` needs no key but checks a configured key.
  if (role !== 'migrate' || !config.masterKeyFile?.isNew) await requireMasterKey(db, config)
  // Processes of other versions never use the embedded database.
  const contract = embedded !== undefined || config.MIGRATE_CONTRACT
  if (role === 'serve' || role === 'migrate' || embedded !== undefined) await migrate(db.pool, { contract })
  else await requireMigrated(db.pool)
  if (role === 'migrate') return stop()
  await acceptMasterKey(db, config)
  signals?.start.throwIfAborted()
  await (await import('./service.ts')).startService(role, { ...context, db, url, embedded })
}

/** Opens the configured database, or the embedded database of the role `serve`. */
async function openDatabase(role: ServiceRole, context: Context) {
  const { config } = context
  const processes = isRequestRole(role) && config.PROCESSES > 1 ? config.PROCESSES + 1 : 1
  if (config.DATABASE_URL === undefined && separateRoles.has(role))
    throw new ConfigError(
      `DATABASE_URL is required for the role ${role}: the embedded database belongs to the role serve`,
    )
  const embedded = config.DATABASE_URL === undefined ? await startDatabase(context, processes) : undefined
  const url = config.DATABASE_URL ?? embedded?.url ?? ''
  return { db: await connectDatabase(url, context, processes), url, embedded }
}
