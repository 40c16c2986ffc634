/** SIGKILL of the worker of recalls before and after each commit, its own and the bank's; another worker ends its work once. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dayMs, present, secondMs } from '../../service/src/kernel/index.ts'
import { sql } from '../../service/src/postgres/index.ts'
import { processBankNotifications, sendDueRecalls, submitDuePayouts } from '../../service/src/banks/settlement/index.ts'
import { addPartner, pay, stepMsDefault } from '../support/composition.ts'
import { killAtCrashPoints } from '../support/crash-points.ts'
import { useModules } from '../support/fixture.ts'

/** Recalls whose answers are overdue, or that wait for the bank. */
const overdue = 2
const waiting = 3
/** Payment whose recall is not answered. */
const amount = '4001.12'

const service = await useModules()

test('after a kill at any point, the bank has received each recall once, with one step and one event of each kind', async (t) => {
  await killAtCrashPoints(t, { worker: 'recalls', pointsMin: 4 * waiting }, async (runWorker) => {
    const partner = await addPartner(service, 30_000_00n)
    const { partnerId, caller } = partner
    const paid = await Promise.all(Array.from({ length: overdue + waiting }, () => pay(service, partner, amount)))
    await submitDuePayouts(service.settlement)
    service.clock.advance(stepMsDefault)
    await processBankNotifications(service.settlement)
    const request = ({ payout }: (typeof paid)[number]) => service.recalls.create(caller, payout.id, { reason: 'FRAD' })
    for (const each of paid.slice(0, overdue)) await request(each)
    await sendDueRecalls(service.settlement, service.bank)
    service.clock.advance(30 * dayMs)
    for (const each of paid.slice(overdue)) await request(each)
    await runWorker(service, {})
    // The leases of the dead worker end.
    service.clock.advance(20 * secondMs)
    await sendDueRecalls(service.settlement, service.bank)
    await service.recalls.expireStep()
    for (const [index, { payout }] of paid.entries()) {
      const [recall] = await service.recalls.list(partnerId, payout.id)
      const { timeline } = await service.transactions.get(partnerId, payout.reference)
      const steps = timeline.map(({ step }) => step).filter((step) => step.startsWith('Recall'))
      const isOverdue = index < overdue
      assert.equal(recall?.status, isOverdue ? 'Expired' : 'Sent')
      assert.deepEqual(steps, ['RecallRequested', 'RecallSent', ...(isOverdue ? ['RecallExpired'] : [])])
      const { events } = present(
        await service.db.row<{ readonly events: bigint }>(sql`
          select count(*) as events from events.events where partner_id = ${partnerId}
            and type = 'payout.recall.updated' and data like ${`%${recall?.id}%`}`),
        'a count',
      )
      assert.equal(Number(events), steps.length)
    }
    const { requests } = present(
      await service.db.row<{ readonly requests: bigint }>(sql`
        select count(*) as requests from rails.sandbox_recalls where partner_id = ${partnerId}`),
      'a count',
    )
    assert.equal(Number(requests), overdue + waiting)
  })
})
