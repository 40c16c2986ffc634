/**
 * A process that applies credits of a session in parts: `node parts-child.ts <crash at> <database url> <now>`. Prints how many crash points it
 * passed, or crashes at the given point.
 */
import { processBankNotifications } from '../../service/src/banks/settlement/index.ts'
import { createTestService } from '../support/composition.ts'
import { createCrashPoints } from './crashing.ts'

const [, , crashAt = '', url = '', now = ''] = process.argv
const { wrapDatabase, passed } = createCrashPoints(Number(crashAt))
const service = await createTestService({ url, now: new Date(now), stepMs: 0, wrapDatabase })
while ((await processBankNotifications(service.settlement)) > 0);
await service.close()
process.stdout.write(String(passed()))
