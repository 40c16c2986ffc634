/**
 * A worker that gives recalls to the sandbox bank and expires them, as a process: `node recalls-child.ts <crash at> <database url> <now>`.
 * Runs until nothing is due and prints how many crash points it passed, or crashes at the given point. The points of the bank count too: it is in
 * the same database.
 */
import { sendDueRecalls } from '../../service/src/banks/settlement/index.ts'
import { createSandboxBank } from '../../service/src/banks/sandbox/index.ts'
import { createTestService, stepMsDefault } from '../support/composition.ts'
import { createCrashPoints } from './crashing.ts'

const [, , crashAt = '', url = '', now = ''] = process.argv
const { wrapDatabase, passed } = createCrashPoints(Number(crashAt))
const service = await createTestService({ url, now: new Date(now), wrapDatabase })
const bank = createSandboxBank({ db: wrapDatabase(service.db), clock: service.clock, stepMs: stepMsDefault })
while ((await sendDueRecalls(service.settlement, bank)) > 0);
while ((await service.recalls.expireStep()) > 0);
await service.close()
process.stdout.write(String(passed()))
