/**
 * SIGKILL of a process before and after each commit while it applies the parts of a session. The bank repeats what was not acknowledged: each
 * part counts once, and the session completes once.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import { processBankNotifications } from '../../service/src/banks/settlement/index.ts'
import { checkLedger } from '../model/ledger-audit.ts'
import { createSessions } from '../support/checkout.ts'
import { balanceOf, ip } from '../support/composition.ts'
import { killAtCrashPoints } from '../support/crash-points.ts'
import { useModules } from '../support/fixture.ts'

/** Crash points before and after the commits of two parts, at least. */
const pointsMin = 4

const service = await useModules({ stepMs: 0 })
const { open, statusOf, namesOf, casesOf } = createSessions(() => service)

test('after a kill between a part and the completion, each part counts exactly once and the session completes exactly once', async (t) => {
  await killAtCrashPoints(t, { worker: 'parts', pointsMin }, async (runWorker) => {
    const opened = await open({ partialPayments: true })
    const { partnerId } = opened.partner
    for (const amount of ['20.00', '29.90'])
      await service.checkout.simulate(partnerId, opened.session.id, { step: 'credit', amount: rawNumber(amount) }, ip)
    await runWorker(service, {})
    while ((await processBankNotifications(service.settlement)) > 0);
    assert.equal(await statusOf(opened), 'Completed')
    const names = await namesOf(opened)
    assert.equal(names.filter((name) => name === 'checkout.part.updated').length, 2, names.join())
    assert.equal(names.filter((name) => name === 'completed').length, 1, names.join())
    const { parts } = await service.checkout.get(partnerId, opened.session.id)
    assert.deepEqual(parts.map(({ amount, status }) => `${amount} ${status}`).toSorted(), [
      '2000 Credited',
      '2990 Credited',
    ])
    assert.equal((await balanceOf(service, partnerId)).posted, 4990n)
    assert.deepEqual(await casesOf(partnerId), [])
    await checkLedger(service.db, partnerId)
  })
})
