/** The role `operator`: one command of the operator, from its arguments to its output. */
import { join } from 'node:path'
import { compose } from './app/compose.ts'
import { type Config, type Environment, readConfig } from './app/config.ts'
import { createLog, type Log, systemClock } from './kernel/index.ts'
import { type ConfirmationPrompt, type CommandResult, loadCommands, type OutputWriter } from './operator/index.ts'
import { findRunningPostgres, migrate, requireMigrated } from './postgres/index.ts'
import {
  acceptMasterKey,
  connectDatabase,
  requireMasterKey,
  startDatabase,
  type StartedComponent,
  createStop,
} from './app/process.ts'

/**
 * Runs the command with the settings of `env`, by default those of the process. Without `ask`, a command that removes access needs
 * `--yes`. Throws an error that `explain` turns into one line.
 */
export async function runCommand(
  args: readonly string[],
  write: OutputWriter,
  env?: Environment,
  ask?: ConfirmationPrompt,
): Promise<void> {
  const commands = await loadCommands()
  const text = commands.checkCommand(args)
  if (text !== undefined) return write(text)
  const config = readConfig({}, env)
  const offline = await commands.runOffline(args, config)
  if (offline !== undefined) return print(offline, write)
  // The command prints only its result or the reason of its failure.
  const log = createLog('silent')
  const started: StartedComponent[] = []
  const stop = createStop(started, log)
  try {
    await print(await runOnDatabase(args, { config, log, started, ask }), write)
  } finally {
    await stop()
  }
}

type Context = {
  readonly config: Config
  readonly log: Log
  readonly started: StartedComponent[]
  readonly ask: ConfirmationPrompt | undefined
}

/** Opens the configured database or that of a running service. Otherwise starts the embedded database for this command. */
async function runOnDatabase(args: readonly string[], context: Context): Promise<CommandResult> {
  const { config, log, started, ask } = context
  const running = config.DATABASE_URL ?? findRunningPostgres(config.DATA_DIR)
  const url = running ?? (await startDatabase(context)).url
  const db = await connectDatabase(url, context)
  // Checked before the migrations, because a wrong key often means a wrong database.
  await requireMasterKey(db, config)
  if (running === undefined) await migrate(db.pool, { contract: true })
  else await requireMigrated(db.pool)
  await acceptMasterKey(db, config)
  const service = compose({ config, db, clock: systemClock, log, mailboxFolder: join(config.DATA_DIR, 'mailbox') })
  started.push({ name: 'announcements of work', ...service.announceWork() })
  const commands = await loadCommands()
  return commands.runOperator(args, { service, db, config, databaseUrl: url }, ask)
}

async function print(result: CommandResult, write: OutputWriter): Promise<void> {
  if (typeof result === 'function') await result(write)
  else await write(`${JSON.stringify(result)}\n`)
}
