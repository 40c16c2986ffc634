/**
 * The program of one of several API processes (`processes.ts`): the service without workers, on the shared port. Only
 * its parent stops it: Ctrl-C reaches both processes, and the parent must know before a child ends. If the parent is
 * killed, node:cluster ends the child.
 */
import { join } from 'node:path'
import { compose } from './app/compose.ts'
import { type Config, ConfigError, readConfig } from './app/config.ts'
import { createLog, systemClock } from './kernel/index.ts'
import { createObservability } from './edge/observability/index.ts'
import {
  connectDatabase,
  explainFailure,
  gatewayForms,
  listenOrExplain,
  requireMasterKey,
  type StartedComponent,
  createStop,
  startTracing,
} from './app/process.ts'
import type { ChildMessage, ParentMessage, RequestRole } from './app/processes.ts'

const send = (message: ChildMessage) => process.send?.(message)

async function main(): Promise<void> {
  const [role, number] = process.argv.slice(2) as [RequestRole, string]
  const config: Config = readConfig({ makesKey: role === 'serve' })
  const log = createLog(config.LOG_LEVEL).child({ process: Number(number) })
  const started: StartedComponent[] = []
  let lingerMs = 0
  const stop = createStop(started, log)
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGUSR2'] as const) process.on(signal, () => undefined)
  process.on('message', (message: ParentMessage) => {
    if (message.type === 'drain') for (const { drain } of started) drain?.()
    if (message.type !== 'stop') return
    lingerMs = message.lingerMs
    void stop().then(() => process.exit(0))
  })
  if (config.DATABASE_URL === undefined) throw new ConfigError('an API process must be started by its parent process')
  const db = await connectDatabase(config.DATABASE_URL, { config, log, started })
  const tracing = await startTracing(config, role, started)
  await requireMasterKey(db, config)
  db.writes.onRefused((reason) => send({ type: 'writesRefused', reason }))
  const observability = await createObservability({ db, process: number })
  process.on('message', (message: ParentMessage) => {
    if (message.type !== 'metrics') return
    void observability.snapshot().then((metrics) => send({ type: 'metrics', id: message.id, metrics }))
  })
  const mailboxFolder = join(config.DATA_DIR, 'mailbox')
  const service = compose({ config, db, clock: systemClock, log, observability, tracing, mailboxFolder })
  started.push({ name: 'announcements of work', ...service.announceWork() })
  const gateway = await service.gateway(gatewayForms[role])
  const port = await listenOrExplain('PORT', config.HOST, config.PORT, gateway.listen)
  started.push({ name: 'gateway', drain: gateway.drain, stop: () => gateway.close(lingerMs) })
  log.info({ pid: process.pid, port }, 'API process listens')
  send({ type: 'listening' })
}

main().catch((error: unknown) => {
  process.send?.({ type: 'failed', reason: explainFailure(error) } satisfies ChildMessage, () => process.exit(1))
})
