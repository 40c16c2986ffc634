/**
 * The settlement worker as a process: `node settlement-child.ts <dies at> <database url> <partner> <now>`. Works until
 * the partner's payments have come to their ends and says how many points it passed, or dies at the given one.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { sql } from '../../service/src/postgres/index.ts'
import type { Rail } from '../../service/src/rails/index.ts'
import { startSettlement } from '../../service/src/settlement/index.ts'
import { createTestService } from '../support/composition.ts'
import { createFate } from './crashing.ts'

const [, , diesAt = '', url = '', partnerId = '', now = ''] = process.argv
const { point, wrapDatabase, passed } = createFate(Number(diesAt))

/** Between two calls to the bank, and between a call and what is made of its answer. */
const wrapRail = (rail: Rail): Rail => {
  const around = async <T>(call: () => Promise<T>): Promise<T> => {
    point()
    const answer = await call()
    point()
    return answer
  }
  return {
    ...rail,
    instruct: (instruction) => around(() => rail.instruct(instruction)),
    acknowledge: (notices) => around(() => rail.acknowledge(notices)),
  }
}

// The bank lets no time pass between its steps: what it tells can overtake what it was asked.
const service = await createTestService({ url, now: new Date(now), stepMs: 0, wrapDatabase, wrapRail })
const loops = startSettlement(service.settlement)
const waiting = () =>
  service.db.row<{ count: bigint }>(sql`select
    (select count(*) from payouts.payouts where partner_id = ${partnerId} and due_at is not null)
    + (select count(*) from rails.sandbox_notifications where partner_id = ${partnerId}) as count`)
while ((await waiting())?.count !== 0n) await pause(5)
await Promise.all(loops.map((loop) => loop.stop()))
await service.close()
process.stdout.write(String(passed()))
