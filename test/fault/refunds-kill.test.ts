/**
 * SIGKILL of a process before and after each commit while it makes refunds, and while their payouts end. The shop repeats its requests, and
 * another worker goes on: each request has made one refund, which the bank has once and of which each step is told once.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import { minuteMs } from '../../service/src/kernel/index.ts'
import { sql } from '../../service/src/postgres/index.ts'
import { processBankNotifications, submitDuePayouts } from '../../service/src/banks/settlement/index.ts'
import { checkLedger } from '../model/ledger-audit.ts'
import { createSessions, type OpenedSession } from '../support/checkout.ts'
import { balanceOf, ip } from '../support/composition.ts'
import { killAtCrashPoints } from '../support/crash-points.ts'
import { useModules } from '../support/fixture.ts'
import { checkRefunds } from '../support/hostile-checkout.ts'
import { pluck } from '../support/pluck.ts'

/** The amount selects how the sandbox bank ends the payout. */
const ends = { '1000.00': 'Completed', '2000.01': 'Completed', '4001.01': 'Failed', '4001.05': 'Returned' } as const
const paid = '12000.00'
/** Refunds of an accepted late payment of the session. */
const ofLate: readonly string[] = ['2000.01', '4001.05']
const sent = { session: 1000_00n, late: 2000_01n }
/** Two for each refund, and those of the worker. Fewer points mean that something is not counted. */
const pointsMin = 2 * 4 + 4

const service = await useModules({ stepMs: 0 })
const { open, settle, statusOf } = createSessions(() => service)

/** Money that comes to the session and does not fit it, and that its shop accepts. */
async function acceptLate({ partner: { partnerId }, session }: OpenedSession): Promise<string> {
  await service.checkout.simulate(partnerId, session.id, { step: 'credit' }, ip)
  await settle()
  const { latePayments } = await service.checkout.get(partnerId, session.id)
  const { id } = latePayments[0] ?? assert.fail('no late payment')
  await service.checkout.acceptLate(partnerId, session.id, id)
  return id
}

test('after a kill at any point, each request has one refund, which ends exactly once', async (t) => {
  await killAtCrashPoints(t, { worker: 'refunds', pointsMin }, async (runWorker) => {
    const opened = await open({ amount: rawNumber(paid) })
    const { partner, session } = opened
    const { partnerId, caller } = partner
    await service.checkout.simulate(partnerId, session.id, { step: 'credit' }, ip)
    await settle()
    assert.equal(await statusOf(opened), 'Completed')
    const latePaymentId = await acceptLate(opened)
    const refunds = Object.keys(ends).map((amount) => ({
      ...{ amount, idempotencyKey: `refund of ${amount}` },
      ...(ofLate.includes(amount) && { latePaymentId }),
    }))
    await runWorker(service, { caller, sessionId: session.id, refunds })
    const repeated = await Promise.all(
      refunds.map(({ amount, ...body }) =>
        service.checkout.refund(caller, session.id, { amount: rawNumber(amount), ...body }, ip),
      ),
    )
    assert.equal(new Set(repeated.map(({ row }) => row.id)).size, refunds.length)
    // The leases of the dead process end.
    service.clock.advance(2 * minuteMs)
    for (let did = 1; did > 0;)
      did = (await submitDuePayouts(service.settlement)) + (await processBankNotifications(service.settlement))
    const { data } = await service.checkout.listRefunds(partnerId, session.id, {})
    assert.deepEqual(
      new Map(data.map(({ payout }) => [payout.idempotencyKey, payout.status])),
      new Map(Object.entries(ends).map(([amount, end]) => [`refund of ${amount}`, end])),
    )
    assert.equal(data.length, refunds.length)
    const received = await service.db.rows<{ timesReceived: number }>(sql`
      select times_received from rails.sandbox_instructions where partner_id = ${partnerId}`)
    assert.deepEqual(
      pluck(received, 'timesReceived'),
      refunds.map(() => 1),
    )
    const { refundedAmount, latePayments } = await service.checkout.get(partnerId, session.id)
    assert.deepEqual([refundedAmount, latePayments[0]?.refundedAmount], [sent.session, sent.late])
    const left = 2n * session.amount - sent.session - sent.late
    assert.deepEqual(await balanceOf(service, partnerId), { posted: left, reserved: 0n, available: left })
    assert.equal(await checkRefunds(service.db, partnerId), refunds.length)
    await checkLedger(service.db, partnerId)
  })
})

for (const isLate of [false, true])
  test(`after a kill while a bank reverses ${isLate ? 'late money' : 'a payment'}, the pending refund is cancelled exactly once`, async (t) => {
    await killAtCrashPoints(t, { worker: 'refunds', pointsMin: 2 }, async (runWorker) => {
      const opened = await open()
      const { partner, session } = opened
      const { partnerId, caller } = partner
      if (isLate) await service.checkout.expire(partnerId, session.id)
      else await service.checkout.simulate(partnerId, session.id, { step: 'credit' }, ip)
      await settle()
      const named = isLate ? { latePaymentId: await acceptLate(opened) } : {}
      const body = { amount: rawNumber('40.00'), idempotencyKey: 'waits', ...named }
      const { row } = await service.checkout.refund(caller, session.id, body, ip)
      // No worker takes it before the bank's claim comes.
      await service.db.run(
        sql`update payouts.payouts set due_at = due_at + interval '1 day' where partner_id = ${partnerId}`,
      )
      await service.checkout.simulate(partnerId, session.id, { step: 'reverse' }, ip)
      await runWorker(service, { caller, sessionId: session.id, refunds: [] })
      service.clock.advance(2 * minuteMs)
      while ((await processBankNotifications(service.settlement)) > 0);
      assert.equal((await service.payouts.get(partnerId, row.id)).status, 'Cancelled')
      assert.deepEqual(await balanceOf(service, partnerId), { posted: 0n, reserved: 0n, available: 0n })
      const cases = (await service.cases.list(undefined, 1000)).filter((found) => found.partnerId === partnerId)
      assert.deepEqual(
        cases.map(({ kind, booked }) => [kind, booked]),
        [['credit_reversed', null]],
      )
      await checkLedger(service.db, partnerId)
    })
  })
