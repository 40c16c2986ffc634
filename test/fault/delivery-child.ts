/**
 * The delivery worker as a process: `node delivery-child.ts <crash at> <database url> <key> <partner> <now>`. Runs until
 * every event of the partner is delivered and prints how many crash points it passed, or crashes at the given point.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { createCursors } from '../../service/src/kernel/api/index.ts'
import { createSealer } from '../../service/src/kernel/index.ts'
import { sql } from '../../service/src/postgres/index.ts'
import { createDeliveryEngine } from '../../service/src/webhooks/index.ts'
import { createHooks } from '../support/webhooks.ts'
import { startDelivery } from '../support/jobs.ts'
import { createCrashPoints } from './crashing.ts'

const [, , crashAt = '', url = '', key = '', partnerId = '', now = ''] = process.argv
const { point, wrapDatabase, passed } = createCrashPoints(Number(crashAt))
const masterKey = Buffer.from(key, 'hex')
const { db, clock, log, eventOutbox, alerts, close } = await createHooks({ url, key: masterKey, now: new Date(now) })
const crashingDb = wrapDatabase(db)
const webhooks = createDeliveryEngine({
  db: crashingDb,
  clock,
  eventOutbox,
  sealer: createSealer([masterKey]),
  cursors: createCursors(masterKey),
  urlRules: { allowHttpLoopback: true },
  alerts,
})
const loop = startDelivery({
  db: crashingDb,
  clock,
  log,
  allowLoopback: true,
  idleMs: 5,
  webhooks: {
    ...webhooks,
    createQueueWorker: (...given) => {
      const worker = webhooks.createQueueWorker(...given)
      return {
        ...worker,
        // The endpoint has answered, and no database records it.
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
