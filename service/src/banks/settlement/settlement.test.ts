/** A worker that is killed after the bank accepted the instruction and before it recorded the acknowledgement. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addPartner, balanceOf, pay, stepMsDefault } from '../../../../test/support/composition.ts'
import { useModules } from '../../../../test/support/fixture.ts'
import { sql } from '../../postgres/index.ts'
import { processBankNotifications, submitDuePayouts } from './index.ts'

const leaseMsMax = 60_000
const service = await useModules({ now: new Date('2026-03-01T12:00:00.000Z') })
const { bank, clock, db, payoutLife: life, settlement } = service

/** A payout that the bank has accepted, still Processing under the lease of the killed worker. */
async function payoutOfKilledWorker(amount: string) {
  const partner = await addPartner(service, 1_000_000n)
  const { partnerId } = partner
  const { payout } = await pay(service, partner, amount)
  const [claimed] = await life.claim(bank.id, [partnerId], 1)
  assert.ok(claimed)
  const claim = await life.begin(claimed)
  assert.ok(claim)
  assert.deepEqual(await bank.instruct([claim]), [{ accepted: true }])
  const status = async () => (await service.payouts.get(partnerId, payout.id)).status
  assert.equal(await status(), 'Processing')
  return { partnerId, payout, claim, status }
}

async function eventsOf(partnerId: string, reference: string): Promise<readonly string[]> {
  const rows = await db.rows<{ type: string }>(sql`
    select type from events.events where partner_id = ${partnerId} and reference = ${reference} order by id`)
  return rows.map(({ type }) => type.split('.').at(-1) ?? '')
}

async function timesReceived(partnerId: string, id: string): Promise<number | undefined> {
  const row = await db.row<{ timesReceived: number }>(sql`
    select times_received from rails.sandbox_instructions where partner_id = ${partnerId} and id = ${id}`)
  return row?.timesReceived
}

const endings = [
  {
    outcome: 'settled',
    amount: '10.00',
    finalStatus: 'Completed',
    events: ['requested', 'accepted', 'sent', 'changed'],
    posted: 999_000n,
  },
  {
    outcome: 'rejected',
    amount: '4001.01',
    finalStatus: 'Failed',
    events: ['requested', 'accepted', 'sent', 'failed', 'changed'],
    posted: 1_000_000n,
  },
  {
    outcome: 'returned',
    amount: '4001.05',
    finalStatus: 'Returned',
    events: ['requested', 'accepted', 'sent', 'changed'],
    posted: 1_000_000n,
  },
] as const

for (const { outcome, amount, finalStatus, events, posted } of endings)
  test(`a payout whose acknowledgement was never recorded ends when the bank notifies that it is ${outcome}`, async () => {
    const { partnerId, payout, claim, status } = await payoutOfKilledWorker(amount)
    clock.advance(2 * stepMsDefault)
    while ((await processBankNotifications(settlement)) > 0);
    assert.equal(await status(), finalStatus)
    assert.deepEqual(await eventsOf(partnerId, payout.reference), events)
    assert.deepEqual(await balanceOf(service, partnerId), { posted, reserved: 0n, available: posted })
    // Neither a late acknowledgement of the old worker nor the end of its lease changes anything.
    await life.answered(claim, { accepted: true })
    clock.advance(leaseMsMax)
    assert.equal(await submitDuePayouts(settlement), 0)
    assert.equal(await status(), finalStatus)
    assert.deepEqual(await eventsOf(partnerId, payout.reference), events)
    assert.equal(await timesReceived(partnerId, payout.id), 1)
  })
