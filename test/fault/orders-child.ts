/**
 * A worker of standing orders as a process: `node orders-child.ts <crash at> <database url> <now>`. Runs until no order is due
 * and prints how many crash points it passed, or crashes at the given point.
 */
import { createTestService } from '../support/composition.ts'
import { createCrashPoints } from './crashing.ts'

const [, , crashAt = '', url = '', now = ''] = process.argv
const { wrapDatabase, passed } = createCrashPoints(Number(crashAt))
const service = await createTestService({ url, now: new Date(now), wrapDatabase })
while ((await service.standingOrders.step()) > 0);
await service.close()
process.stdout.write(String(passed()))
