/**
 * A recovery worker as a process: `node recovery-child.ts <crash at> <database url> <key> <partner> <now>`. Runs until no
 * recovery is left and prints how many crash points it passed, or crashes at the given point.
 */
import { createCursors } from '../../service/src/kernel/api/index.ts'
import { createSealer } from '../../service/src/kernel/index.ts'
import { createDeliveryEngine } from '../../service/src/webhooks/index.ts'
import { createHooks } from '../support/webhooks.ts'
import { createCrashPoints } from './crashing.ts'

const [, , crashAt = '', url = '', key = '', , now = ''] = process.argv
const { wrapDatabase, passed } = createCrashPoints(Number(crashAt))
const masterKey = Buffer.from(key, 'hex')
const { db, clock, eventOutbox, alerts, close } = await createHooks({ url, key: masterKey, now: new Date(now) })
const webhooks = createDeliveryEngine({
  db: wrapDatabase(db),
  clock,
  eventOutbox,
  sealer: createSealer([masterKey]),
  cursors: createCursors(masterKey),
  urlRules: { allowHttpLoopback: true },
  alerts,
})
while ((await webhooks.recoverStep()) > 0);
await close()
process.stdout.write(String(passed()))
