/**
 * The settlement worker as a process: `node settlement-child.ts <crash at> <database url> <partner> <now>`. Runs until
 * every payment of the partner is final and prints how many crash points it passed, or crashes at the given point.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { sql } from '../../service/src/postgres/index.ts'
import type { Connector } from '../../service/src/rails/index.ts'
import { createTestService } from '../support/composition.ts'
import { startSettlement } from '../support/jobs.ts'
import { createCrashPoints } from './crashing.ts'

const [, , crashAt = '', url = '', partnerId = '', now = ''] = process.argv
const { point, wrapDatabase, passed } = createCrashPoints(Number(crashAt))

/** Adds a crash point before and after each call to the bank. */
const wrapConnector = (connector: Connector): Connector => {
  const around = async <T>(call: () => Promise<T>): Promise<T> => {
    point()
    const answer = await call()
    point()
    return answer
  }
  return {
    ...connector,
    instruct: (instructions) => around(() => connector.instruct(instructions)),
    acknowledge: (notifications) => around(() => connector.acknowledge(notifications)),
  }
}

// A bank without delay: a notification can arrive before the acknowledgement is recorded.
const service = await createTestService({ url, now: new Date(now), stepMs: 0, wrapDatabase, wrapConnector })
const running = startSettlement(service)
const waiting = () =>
  service.db.row<{ count: bigint }>(sql`select
    (select count(*) from payouts.payouts where partner_id = ${partnerId} and due_at is not null)
    + (select count(*) from rails.sandbox_notifications where partner_id = ${partnerId})
    + (select count(*) from rails.internal_transfers where partner_id = ${partnerId} and due_at is not null) as count`)
while ((await waiting())?.count !== 0n) await pause(5)
await running.stop()
await service.close()
process.stdout.write(String(passed()))
