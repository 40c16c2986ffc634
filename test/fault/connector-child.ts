/**
 * The settlement worker as a process, with the example connector: `node connector-child.ts <crash at> <database url>
 * <address of the bank> <partner> <now>`. Runs until every payment of the partner is final and prints how many crash points
 * it passed, or crashes at the given point.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { createExampleConnector } from '../../examples/connector/connector.ts'
import { sql } from '../../service/src/postgres/index.ts'
import type { Connector } from '../../service/src/rails/index.ts'
import { createTestService } from '../support/composition.ts'
import { startSettlement } from '../support/jobs.ts'
import { createCrashPoints } from './crashing.ts'

const [, , crashAt = '', url = '', bankUrl = '', partnerId = '', now = ''] = process.argv
const { point, wrapDatabase, passed } = createCrashPoints(Number(crashAt))

/** Adds a crash point before and after each call that changes something at the bank, and each enquiry. */
const withPoints = (connector: Connector): Connector => {
  const around = async <T>(call: () => Promise<T>): Promise<T> => {
    point()
    const answer = await call()
    point()
    return answer
  }
  return {
    ...connector,
    instruct: (instructions, options) => around(() => connector.instruct(instructions, options)),
    find: (keys, options) => around(() => connector.find(keys, options)),
    acknowledge: (notifications, options) => around(() => connector.acknowledge(notifications, options)),
  }
}

const connector = createExampleConnector({ url: bankUrl })
const service = await createTestService({ url, now: new Date(now), wrapDatabase })
const running = startSettlement(service, { connectors: [withPoints(connector)] })
const hasWork = async () => {
  const due = await service.db.row(sql`
    select id from payouts.payouts where partner_id = ${partnerId} and due_at is not null limit 1`)
  return due !== undefined || (await connector.oldestNotification(new Date())) !== null
}
while (await hasWork()) {
  // What the bank did not answer is due again. Slowly: on a busy machine a call must not outlast its lease of this clock.
  service.clock.advance(20)
  await pause(5)
}
await running.stop()
await service.close()
process.stdout.write(String(passed()))
