/**
 * SIGKILL of a process before and after each commit while it accepts and returns late money. The shop repeats both choices, and another worker goes
 * on: one sum is a payment, the other has gone back once, and suspense is empty.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { minuteMs } from '../../service/src/kernel/index.ts'
import { sql } from '../../service/src/postgres/index.ts'
import { processBankNotifications, sendDueReturns } from '../../service/src/banks/settlement/index.ts'
import { createSessionsInParts } from '../support/checkout.ts'
import { killAtCrashPoints } from '../support/crash-points.ts'
import { useModules } from '../support/fixture.ts'
import { pluck } from '../support/pluck.ts'

/** Two for each choice, and those of the return. Fewer points mean that something is not counted. */
const pointsMin = 2 * 2 + 4

const service = await useModules({ stepMs: 0 })
const { open, send, settle, stateOf } = createSessionsInParts(() => service)

test('after a kill at any point, accepted late money is one payment and returned late money is one return', async (t) => {
  await killAtCrashPoints(t, { worker: 'latePayments', pointsMin }, async (runWorker) => {
    const opened = await open()
    const { partnerId } = opened.partner
    const sessionId = opened.session.id
    await service.checkout.expire(partnerId, sessionId)
    for (const amount of ['49.90', '20.00']) {
      await send(opened, amount)
      await settle()
    }
    const ids = (await service.checkout.get(partnerId, sessionId)).latePayments.map(({ id }) => id)
    const [accept = '', giveBack = ''] = ids
    await runWorker(service, { partnerId, sessionId, accept, giveBack })
    await service.checkout.acceptLate(partnerId, sessionId, accept)
    await service.checkout.returnLate(partnerId, sessionId, giveBack)
    // The lease of the dead process ends.
    service.clock.advance(2 * minuteMs)
    for (let did = 1; did > 0;) {
      did = await processBankNotifications(service.settlement)
      for (const connector of service.connectors) did += await sendDueReturns(service.settlement, connector)
    }
    const { latePayments } = await service.checkout.get(partnerId, sessionId)
    assert.deepEqual(pluck(latePayments, 'status'), ['Accepted', 'Returned'])
    const { balance, suspense } = await stateOf(opened)
    assert.deepEqual([balance, suspense], [4990n, 0n])
    const received = await service.db.rows<{ timesReceived: number }>(sql`
      select times_received from rails.sandbox_instructions where partner_id = ${partnerId}`)
    assert.equal(received.length, 1)
  })
})
