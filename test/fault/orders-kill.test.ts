/** SIGKILL of the worker of standing orders before and after each of its commits; another worker pays each date once. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import { dayMs, present } from '../../service/src/kernel/index.ts'
import { addPartner, balanceOf, ip } from '../support/composition.ts'
import { killAtCrashPoints } from '../support/crash-points.ts'
import { useModules } from '../support/fixture.ts'
import { pluck } from '../support/pluck.ts'

const orders = 5
const dates = 3

const service = await useModules()

test('after a kill at any point, each date of a standing order has one payout and one execution', async (t) => {
  await killAtCrashPoints(t, { worker: 'orders', pointsMin: 2 * dates }, async (runWorker) => {
    const partner = await addPartner(service, 1_000_00n)
    const { partnerId, caller, beneficiary } = partner
    const startsOn = new Date(service.clock.now().getTime() + dayMs).toISOString().slice(0, 10)
    const schedule = { frequency: 'Daily', startsOn, count: dates, businessDays: 'None' } as const
    const body = { beneficiaryId: beneficiary.id, amount: rawNumber('1.00'), currency: 'EUR', schedule }
    const created = []
    for (let made = 0; made < orders; made += 1) created.push(await service.standingOrders.create(caller, body, ip))
    service.clock.advance((dates + 1) * dayMs)
    await runWorker(service, {})
    while ((await service.standingOrders.step()) > 0);
    const payouts = new Set((await service.payouts.list(partnerId, { limit: '100' })).data.map(({ id }) => id))
    assert.equal(payouts.size, orders * dates)
    for (const { id } of created) {
      const { data } = await service.standingOrders.executions(partnerId, id, {})
      assert.deepEqual(
        pluck(data, 'status'),
        Array.from({ length: dates }, () => 'Made'),
      )
      for (const { payoutId } of data) assert.ok(payouts.delete(present(payoutId, 'a payout is made')))
      assert.equal((await service.standingOrders.get(partnerId, id)).endReason, 'Completed')
    }
    assert.equal((await balanceOf(service, partnerId)).reserved, BigInt(orders * dates * 100))
  })
})
