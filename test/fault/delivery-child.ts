/**
 * The delivery worker as a process: `node delivery-child.ts <dies at> <database url> <key> <partner> <now>`. Works until
 * the partner's endpoints have what they are owed and says how many points it passed, or dies at the given one.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { startDelivery } from '../../service/src/delivery/index.ts'
import { createCursors } from '../../service/src/api/index.ts'
import { createSealer } from '../../service/src/kernel/index.ts'
import { sql } from '../../service/src/postgres/index.ts'
import { createDeliveryEngine } from '../../service/src/delivery/index.ts'
import { createHooks } from '../support/webhooks.ts'
import { createFate } from './crashing.ts'

const [, , diesAt = '', url = '', key = '', partnerId = '', now = ''] = process.argv
const { point, wrapDatabase, passed } = createFate(Number(diesAt))
const masterKey = Buffer.from(key, 'hex')
const { db, clock, log, eventOutbox, close } = await createHooks({ url, key: masterKey, now: new Date(now) })
const mortal = wrapDatabase(db)
const webhooks = createDeliveryEngine({
  ...{ db: mortal, clock, eventOutbox, sealer: createSealer([masterKey]), cursors: createCursors(masterKey) },
  urlRules: { allowHttpLoopback: true },
})
const loop = startDelivery({
  ...{ db: mortal, clock, log, allowLoopback: true, idleMs: 5 },
  webhooks: {
    ...webhooks,
    createQueueWorker: (...given) => {
      const worker = webhooks.createQueueWorker(...given)
      return {
        ...worker,
        // The endpoint has answered, and nobody knows it yet.
        recordResult: (claim, result) => {
          point()
          return worker.recordResult(claim, result)
        },
      }
    },
  },
})
const waiting = () =>
  db.row<{ count: bigint }>(sql`select
    (select count(*) from events.pending where partner_id = ${partnerId})
    + (select count(*) from delivery.queue where partner_id = ${partnerId}) as count`)
while ((await waiting())?.count !== 0n) await pause(5)
await loop.stop()
await close()
process.stdout.write(String(passed()))
