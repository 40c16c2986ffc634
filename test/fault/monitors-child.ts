/**
 * A worker of monitors as a process: `node monitors-child.ts <crash at> <database url> <now>`. Runs until all balances are judged
 * and prints how many crash points it passed, or crashes at the given point.
 */
import { createTestService } from '../support/composition.ts'
import { monitorSettings } from '../support/monitors.ts'
import { createCrashPoints } from './crashing.ts'

const [, , crashAt = '', url = '', now = ''] = process.argv
const { wrapDatabase, passed } = createCrashPoints(Number(crashAt))
const service = await createTestService({ url, now: new Date(now), settings: monitorSettings, wrapDatabase })
while ((await service.monitors.monitorStep()) > 0);
await service.close()
process.stdout.write(String(passed()))
