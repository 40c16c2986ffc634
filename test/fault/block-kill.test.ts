/** SIGKILL of the command that blocks a balance, before and after each of its commits; a worker cancels what it has left, once. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { secondMs } from '../../service/src/kernel/index.ts'
import { checkLedger } from '../model/ledger-audit.ts'
import { addPartner, balanceOf, pay } from '../support/composition.ts'
import { killAtCrashPoints } from '../support/crash-points.ts'
import { useModules } from '../support/fixture.ts'
import { pluck } from '../support/pluck.ts'

const payments = 130
const posted = 100_000n

const service = await useModules()

test('after a kill of the block command, either nothing is cancelled or each payout is cancelled exactly once', async (t) => {
  await killAtCrashPoints(t, { worker: 'block', pointsMin: 2 * (1 + 2 * 2 + 1) }, async (runWorker) => {
    const partner = await addPartner(service, posted)
    const { partnerId } = partner
    const paid = await Promise.all(Array.from({ length: payments }, () => pay(service, partner, '1.00')))
    await runWorker(service, { partnerId })
    // The lease of the dead command ends.
    service.clock.advance(10 * secondMs)
    while ((await service.cancellations.step()) > 0);
    const isBlocked = (await service.accounts.notActive(service.db, partnerId)).length > 0
    for (const { payout } of paid) {
      const { timeline } = await service.transactions.get(partnerId, payout.reference)
      assert.deepEqual(pluck(timeline, 'step'), ['Created', 'Reserved', ...(isBlocked ? ['Cancelled'] : [])])
    }
    const reserved = isBlocked ? 0n : BigInt(payments) * 100n
    assert.deepEqual(await balanceOf(service, partnerId), { posted, reserved, available: posted - reserved })
    await checkLedger(service.db, partnerId)
  })
  // The block, two pages and their cancellations, and the page that is empty, each with a point before and after.
})
