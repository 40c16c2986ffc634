/**
 * The workers of screening and settlement as a process: `node screening-child.ts <crash at> <database url> <partner> <now> <outcome>`.
 * Credits what has come in, compares the names, decides and looks, and prints how many crash points it passed, or crashes at the given
 * point.
 */
import { minuteMs } from '../../service/src/kernel/index.ts'
import { processBankNotifications } from '../../service/src/banks/settlement/index.ts'
import { createTestService } from '../support/composition.ts'
import { decideAll, screenAll } from '../support/screening/held.ts'
import { createCrashPoints } from './crashing.ts'

const [, , crashAt = '', url = '', partnerId = '', now = '', outcome = ''] = process.argv
const { wrapDatabase, passed } = createCrashPoints(Number(crashAt))

const service = await createTestService({ url, now: new Date(now), stepMs: 0, wrapDatabase })
await screenAll(service)
await processBankNotifications(service.settlement)
await screenAll(service)
await decideAll(service, partnerId, outcome === 'clear' ? 'clear' : 'confirm')
service.clock.advance(minuteMs)
await service.deposits.screenDue(100)
await service.close()
process.stdout.write(String(passed()))
