/**
 * One of several API processes (`processes.ts`): the same service without workers, on the shared port. Its parent alone
 * tells it to stop: a Ctrl-C in the terminal reaches both, and one must not be gone before the other knows. Where the
 * parent dies, Node ends it by itself.
 */
import { join } from 'node:path'
import { compose } from './compose.ts'
import { type Config, ConfigError, readConfig } from './config.ts'
import { createLog, systemClock } from './kernel/index.ts'
import { createObservability } from './observability/index.ts'
import { connectDatabase, explain, gatewayForms, listening, type Started, stopper } from './process.ts'
import type { Ask, ManyRole, Say } from './processes.ts'

const say = (what: Say) => process.send?.(what)

async function main(): Promise<void> {
  const [role, number] = process.argv.slice(2) as [ManyRole, string]
  const config: Config = readConfig({ makesKey: role === 'serve' })
  const log = createLog(config.LOG_LEVEL).child({ process: Number(number) })
  const started: Started[] = []
  const stop = stopper(started, log)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => undefined)
  process.on('message', (message: Ask) => {
    if (message.ask === 'stop') void stop().then(() => process.exit(0))
  })
  if (config.DATABASE_URL === undefined) throw new ConfigError('an API process is started by its parent')
  const db = await connectDatabase(config.DATABASE_URL, { config, log, started })
  const operations = createObservability({ db, process: number })
  process.on('message', (message: Ask) => {
    if (message.ask !== 'metrics') return
    void operations.snapshot().then((metrics) => say({ say: 'metrics', id: message.id, metrics }))
  })
  const mailboxFolder = join(config.DATA_DIR, 'mailbox')
  const service = compose({ config, db, clock: systemClock, log, operations, mailboxFolder })
  const gateway = await service.gateway(gatewayForms[role])
  const port = await listening('PORT', config.HOST, config.PORT, gateway.listen)
  started.push({ name: 'gateway', stop: gateway.close })
  log.info({ pid: process.pid, port }, 'an API process listens')
  say({ say: 'listening' })
}

main().catch((error: unknown) => {
  process.send?.({ say: 'failed', why: explain(error) } satisfies Say, () => process.exit(1))
})
