/**
 * An erasure as a process: `node erasure-child.ts <crash at> <database url> <partner> <customer> <now>`. Requests it, works on all of
 * its pages, waits until the time of retention is over and works on the rest. Prints how many crash points it passed, or crashes
 * at the given point.
 */
import { dayMs } from '../../service/src/kernel/index.ts'
import { createTestService } from '../support/composition.ts'
import { createCrashPoints } from './crashing.ts'

const [, , crashAt = '', url = '', partnerId = '', customerId = '', now = ''] = process.argv
const { wrapDatabase, passed } = createCrashPoints(Number(crashAt))

const service = await createTestService({ url, now: new Date(now), wrapDatabase })
const { erasures } = service.personalData
await erasures.erase(partnerId, customerId, true)
for (const days of [0, 6 * 366]) {
  service.clock.advance(days * dayMs)
  while ((await erasures.step()) > 0) service.clock.advance(1)
}
await service.close()
process.stdout.write(String(passed()))
