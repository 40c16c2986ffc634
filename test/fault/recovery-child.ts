/**
 * A worker of recoveries as a process: `node recovery-child.ts <dies at> <database url> <key> <partner> <now>`. Works until
 * none runs and says how many points it passed, or dies at the given one.
 */
import { createCursors } from '../../service/src/api/index.ts'
import { createSealer } from '../../service/src/kernel/index.ts'
import { createDeliveryEngine } from '../../service/src/delivery/index.ts'
import { createHooks } from '../support/webhooks.ts'
import { createFate } from './crashing.ts'

const [, , diesAt = '', url = '', key = '', , now = ''] = process.argv
const { wrapDatabase, passed } = createFate(Number(diesAt))
const masterKey = Buffer.from(key, 'hex')
const { db, clock, eventOutbox, alerts, close } = await createHooks({ url, key: masterKey, now: new Date(now) })
const webhooks = createDeliveryEngine({
  ...{ db: wrapDatabase(db), clock, eventOutbox, sealer: createSealer([masterKey]), cursors: createCursors(masterKey) },
  urlRules: { allowHttpLoopback: true },
  alerts,
})
while ((await webhooks.recoverStep()) > 0);
await close()
process.stdout.write(String(passed()))
