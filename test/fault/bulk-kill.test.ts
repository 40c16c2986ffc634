/** SIGKILL of the worker of bulks before and after each of its commits; another worker makes each payout once. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import { minuteMs, newId } from '../../service/src/kernel/index.ts'
import { addPartner, balanceOf, ip } from '../support/composition.ts'
import { killAtCrashPoints } from '../support/crash-points.ts'
import { useModules } from '../support/fixture.ts'

/** More than one part of a bulk. */
const payouts = 300

const service = await useModules()

// All or nothing is one transaction, which has two points.
for (const [mode, shares] of [
  ['BestEffort', 7],
  ['AllOrNothing', 1],
] as const)
  test(`after a kill at any point, each payout of a bulk is created once: ${mode}`, async (t) => {
    await killAtCrashPoints(t, { worker: 'bulks', pointsMin: 2, shares }, async (runWorker) => {
      const { partnerId, caller, beneficiary } = await addPartner(service, 10_000_00n)
      const item = () => ({ amount: rawNumber('1.00'), currency: 'EUR' as const, beneficiaryId: beneficiary.id })
      const items = Array.from({ length: payouts }, () => ({ ...item(), idempotencyKey: newId() }))
      const { bulk } = await service.bulkPayouts.create(caller, { mode, idempotencyKey: newId(), payouts: items }, ip)
      await runWorker(service, {})
      // The lease of the dead worker ends.
      service.clock.advance(10 * minuteMs)
      while ((await service.bulkPayouts.step()) > 0);
      const { status, accepted, refused } = await service.bulkPayouts.get(partnerId, bulk.id)
      assert.deepEqual([status, accepted, refused], ['Completed', payouts, 0])
      const results = await service.bulkPayouts.items(partnerId, bulk.id, undefined)
      const made = new Set(results.map(({ payoutId }) => payoutId))
      assert.equal(made.size, payouts)
      assert.ok(!made.has(null), 'each item names its payout')
      assert.equal((await balanceOf(service, partnerId)).reserved, BigInt(payouts * 100))
    })
  })
