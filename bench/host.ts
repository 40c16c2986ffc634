/**
 * Composes parts of the service for one comparison (first argument) in a separate process:
 *
 *   accept     the service as `serve` composes it, without workers, which can run elsewhere (role `worker`);
 *              the second argument limits the payouts per transaction
 *   settle     only the settlement loops of `worker`
 *   processes  the service without workers in PROCESSES API processes on one port
 */
import { join } from 'node:path'
import { compose } from '../service/src/app/compose.ts'
import { readConfig } from '../service/src/app/config.ts'
import { createProcesses } from '../service/src/app/processes.ts'
import { createLog, systemClock } from '../service/src/kernel/index.ts'
import { createObservability } from '../service/src/edge/observability/index.ts'
import { createDatabase } from '../service/src/postgres/index.ts'

const [, , form, batch] = process.argv
const config = readConfig()
const log = createLog(config.LOG_LEVEL)
const url = config.DATABASE_URL ?? ''
// An orderly exit, so that Node writes the CPU profile.
process.once('SIGTERM', () => process.exit(0))

async function listen(): Promise<number> {
  if (form === 'processes')
    return createProcesses({ role: 'serve', config, log, onWritesRefused: () => undefined }).start(url)
  const db = createDatabase({ url, connectionsMax: config.DATABASE_CONNECTIONS_MAX, log })
  const parts = { config, db, clock: systemClock, log, mailboxFolder: join(config.DATA_DIR, 'mailbox') }
  if (form === 'settle') {
    compose(parts).startSettlement()
    return 0
  }
  const sized = batch === undefined ? {} : { payoutsPerBatchMax: Number(batch) }
  const observability = await createObservability({ db })
  const gateway = await compose({ ...parts, observability, ...sized }).gateway('standalone')
  return gateway.listen('127.0.0.1', 0)
}
process.send?.({ port: await listen() })
