/**
 * A process that makes refunds of a session and then settles them: `node refunds-child.ts <crash at> <database url> <now> <request>`. `request` is
 * the JSON of the caller, the session and the refunds. Prints how many crash points it passed, or crashes at the given point.
 */
import { rawNumber } from '@partner-payments/wire'
import type { Caller } from '../../service/src/kernel/api/index.ts'
import { processBankNotifications, submitDuePayouts } from '../../service/src/banks/settlement/index.ts'
import { createTestService, ip } from '../support/composition.ts'
import { createCrashPoints } from './crashing.ts'

export type RefundsRequest = {
  readonly caller: Caller
  readonly sessionId: string
  readonly refunds: readonly { readonly amount: string; readonly idempotencyKey: string }[]
}

const [, , crashAt = '', url = '', now = '', request = ''] = process.argv
const { caller, sessionId, refunds } = JSON.parse(request) as RefundsRequest
const { wrapDatabase, passed } = createCrashPoints(Number(crashAt))
const service = await createTestService({ url, now: new Date(now), stepMs: 0, wrapDatabase })
for (const { amount, idempotencyKey } of refunds)
  await service.checkout.refund(caller, sessionId, { amount: rawNumber(amount), idempotencyKey }, ip)
for (let did = 1; did > 0;)
  did = (await submitDuePayouts(service.settlement)) + (await processBankNotifications(service.settlement))
await service.close()
process.stdout.write(String(passed()))
