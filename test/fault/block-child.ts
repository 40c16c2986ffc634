/**
 * The command that blocks a balance, as a process: `node block-child.ts <crash at> <database url> <now> <partner id>`. Prints how many
 * crash points it passed, or crashes at the given point.
 */
import { createTestService } from '../support/composition.ts'
import { createCrashPoints } from './crashing.ts'

const [, , crashAt = '', url = '', now = '', partnerId = ''] = process.argv
const { wrapDatabase, passed } = createCrashPoints(Number(crashAt))
const service = await createTestService({ url, now: new Date(now), wrapDatabase })
const block = { state: 'Blocked', reason: 'CourtOrder', note: '', staff: 'Ada' } as const
await wrapDatabase(service.db).transaction((tx) =>
  service.accounts.changeState(tx, { partnerId, account: { currency: 'EUR' }, ...block }),
)
await service.cancellations.finish(partnerId, { currency: 'EUR', customerId: null })
await service.close()
process.stdout.write(String(passed()))
