/**
 * A worker of identity verifications, as a process: `node identity-child.ts <crash at> <database url> <now> <address of the provider>`.
 * Runs until nothing is due and prints how many crash points it passed, or crashes at the given point.
 */
import { createTestService } from '../support/composition.ts'
import { providerAt } from '../support/identity-service.ts'
import { createCrashPoints } from './crashing.ts'

const [, , crashAt = '', url = '', now = '', origin = ''] = process.argv
const { wrapDatabase, passed } = createCrashPoints(Number(crashAt))
const service = await createTestService({ url, now: new Date(now), wrapDatabase, identityProvider: providerAt(origin) })
while ((await service.identityChecks.step()) > 0);
while ((await service.identityChecks.expireStep()) > 0);
await service.close()
process.stdout.write(String(passed()))
