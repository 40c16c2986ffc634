/** Late payments on a real database: money that did not fit its session, and the choice of its partner. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { code, createSessionsInParts, type Opened } from '../../../test/support/checkout.ts'
import { addPartner, balanceOf, type Service } from '../../../test/support/composition.ts'
import { useModules } from '../../../test/support/fixture.ts'
import { decideAll, listedName, sampleList, screenAll } from '../../../test/support/screening/held.ts'
import { dayMs, minuteMs } from '../kernel/index.ts'
import { sendDueReturns } from '../banks/settlement/index.ts'
import { sql } from '../postgres/index.ts'
import type { LatePayment } from './session.ts'

function createLateMoney(service: Service) {
  const { open, inParts, send, sendAll, settle, stateOf } = createSessionsInParts(() => service)
  const { checkout } = service

  const read = ({ partner, session }: Opened) => checkout.get(partner.partnerId, session.id)
  const lateOf = async (opened: Opened): Promise<LatePayment> => {
    const { latePayments } = await read(opened)
    assert.equal(latePayments.length, 1)
    return latePayments[0] as LatePayment
  }
  const accept = ({ partner, session }: Opened, { id }: LatePayment) =>
    checkout.acceptLate(partner.partnerId, session.id, id)
  const giveBack = ({ partner, session }: Opened, { id }: LatePayment) =>
    checkout.returnLate(partner.partnerId, session.id, id)

  /** A session that has ended, and the money that came after. */
  async function lateMoney(amount = '49.90', payer?: string): Promise<Opened> {
    const opened = await open({ websiteReference: 'order 7', customFields: { order: 7 } })
    await checkout.expire(opened.partner.partnerId, opened.session.id)
    await send(opened, amount, payer)
    await settle()
    return opened
  }
  const eventsOf = async ({ partner: { partnerId } }: Opened) => {
    const rows = await service.db.rows<{ data: string }>(sql`
      select data from events.events where partner_id = ${partnerId} and type = 'checkout.late.payment.updated' order by id`)
    return rows.map(({ data }) => (JSON.parse(data) as { status: string }).status)
  }
  return { open, inParts, send, sendAll, settle, stateOf, read, lateOf, accept, giveBack, lateMoney, eventsOf }
}

suite('late payments', async () => {
  const service = await useModules()
  const { checkout } = service
  const { open, inParts, send, sendAll, settle, stateOf, read, lateOf, accept, giveBack, lateMoney, eventsOf } =
    createLateMoney(service)

  test('money after the end is offered, accepted once, and becomes a payment of the order', async () => {
    const opened = await lateMoney()
    const late = await lateOf(opened)
    assert.deepEqual(
      [late.reason, late.status, late.debtorName, late.amount],
      ['AfterEnd', 'Waiting', 'Grace Hopper', 4990n],
    )
    assert.equal((await stateOf(opened)).suspense, 4990n)
    const accepted = await accept(opened, late)
    assert.equal(accepted.status, 'Accepted')
    const { balance, suspense, status } = await stateOf(opened)
    assert.deepEqual([balance, suspense, status], [4990n, 0n, 'Expired'])
    const { row } = await service.transactions.get(opened.partner.partnerId, accepted.acceptedReference ?? '')
    assert.deepEqual(
      [row.status, row.sessionId, row.websiteReference, row.amount],
      ['Completed', opened.session.id, 'order 7', 4990n],
    )
    assert.deepEqual(await accept(opened, late), accepted)
    await assert.rejects(giveBack(opened, late), code('late_payment_decided'))
    assert.deepEqual(await eventsOf(opened), ['Waiting', 'Accepted'])
    assert.equal((await stateOf(opened)).balance, 4990n)
  })

  test('money that is returned leaves suspense once the bank has booked it, and is told twice', async () => {
    const opened = await lateMoney()
    const late = await lateOf(opened)
    assert.equal((await giveBack(opened, late)).status, 'Returning')
    assert.equal((await giveBack(opened, late)).status, 'Returning')
    await assert.rejects(accept(opened, late), code('late_payment_decided'))
    for (const connector of service.connectors) await sendDueReturns(service.settlement, connector)
    await settle()
    assert.equal((await lateOf(opened)).status, 'Returned')
    const { balance, suspense } = await stateOf(opened)
    assert.deepEqual([balance, suspense], [0n, 0n])
    assert.deepEqual(await eventsOf(opened), ['Waiting', 'Returning', 'Returned'])
  })

  test('of two choices at once one counts, and the other is refused', async () => {
    for (let round = 0; round < 4; round += 1) {
      const opened = await lateMoney()
      const late = await lateOf(opened)
      const outcomes = await Promise.allSettled([accept(opened, late), giveBack(opened, late), accept(opened, late)])
      const refused = outcomes.filter((each) => each.status === 'rejected')
      assert.ok(refused.every(({ reason }) => code('late_payment_decided')(reason)))
      assert.ok(refused.length === 1 || refused.length === 2)
      const { balance, suspense } = await stateOf(opened)
      const chosen = (await lateOf(opened)).status
      assert.deepEqual([balance, suspense], chosen === 'Accepted' ? [4990n, 0n] : [0n, 4990n])
    }
  })

  test('after the time to choose, and after a decision of the operator, the partner cannot choose', async () => {
    const opened = await lateMoney()
    const late = await lateOf(opened)
    service.clock.advance(7 * dayMs)
    assert.equal((await lateOf(opened)).status, 'WithOperator')
    await assert.rejects(accept(opened, late), code('late_payment_decided'))
    const other = await lateMoney()
    const found = await lateOf(other)
    const key = { partnerId: other.partner.partnerId, id: found.id }
    await service.db.transaction((tx) =>
      service.decisions.propose(tx, { ...key, action: 'credit', staff: 'Ada', note: 'The partner gets it.' }),
    )
    // A proposal has moved nothing: the partner may still choose.
    assert.equal((await lateOf(other)).status, 'Waiting')
    await service.db.transaction((tx) => service.decisions.approve(tx, { ...key, staff: 'Grace' }))
    assert.equal((await lateOf(other)).status, 'Decided')
    await assert.rejects(giveBack(other, found), code('late_payment_decided'))
  })

  test('another amount, a second payment, a surplus and the part of an ended session are offered', async () => {
    const short = await open()
    await send(short, '49.89')
    await settle()
    assert.deepEqual([(await lateOf(short)).reason, (await read(short)).status], ['OtherAmount', 'Failed'])
    await accept(short, await lateOf(short))
    assert.equal((await stateOf(short)).balance, 4989n)

    const twice = await open()
    await send(twice, '49.90')
    await settle()
    await send(twice, '49.90')
    await settle()
    assert.equal((await lateOf(twice)).reason, 'SecondPayment')
    await giveBack(twice, await lateOf(twice))

    const surplus = await inParts()
    await sendAll(surplus, '20.00', '30.00')
    assert.deepEqual([(await lateOf(surplus)).reason, (await lateOf(surplus)).amount], ['Surplus', 10n])
    await accept(surplus, await lateOf(surplus))
    assert.equal((await stateOf(surplus)).balance, 5000n)

    const incomplete = await inParts()
    await sendAll(incomplete, '20.00')
    await checkout.expire(incomplete.partner.partnerId, incomplete.session.id)
    assert.deepEqual([(await lateOf(incomplete)).reason, (await lateOf(incomplete)).amount], ['Incomplete', 2000n])
    await accept(incomplete, await lateOf(incomplete))
    const { balance, suspense, waits } = await stateOf(incomplete)
    assert.deepEqual([balance, suspense, waits], [2000n, 0n, 0n])
  })

  test('another currency can only be returned', async () => {
    const opened = await open()
    await send(opened, '49.90', 'Grace Hopper', 'USD')
    await settle()
    const late = await lateOf(opened)
    await assert.rejects(accept(opened, late), code('currency_not_supported'))
    assert.equal((await giveBack(opened, late)).status, 'Returning')
  })

  test('another partner, and another session, does not find it', async () => {
    const opened = await lateMoney()
    const late = await lateOf(opened)
    const stranger = await addPartner(service)
    await assert.rejects(checkout.acceptLate(stranger.partnerId, opened.session.id, late.id), code('not_found'))
    const other = await open({}, opened.partner)
    await assert.rejects(checkout.acceptLate(opened.partner.partnerId, other.session.id, late.id), code('not_found'))
  })

  test('a blocked customer gets no choice: the operator decides', async () => {
    const opened = await lateMoney()
    const late = await lateOf(opened)
    const { partnerId, customer } = opened.partner
    await service.db.transaction((tx) => service.customers.setAccountState(tx, partnerId, customer.id, 'Blocked'))
    await assert.rejects(accept(opened, late), code('account_blocked'))
    await assert.rejects(giveBack(opened, late), code('account_blocked'))
    assert.equal((await stateOf(opened)).suspense, 4990n)
    assert.equal((await balanceOf(service, partnerId)).posted, 0n)
  })
})

suite('late payments of listed payers', async () => {
  const service = await useModules()
  await service.screening.lists.load(await sampleList(), 'Sam Staff')
  const { inParts, send, settle, lateMoney, lateOf, accept, giveBack, stateOf } = createLateMoney(service)

  test('money of a listed payer is not returned, and accepted money of one is held', async () => {
    const opened = await lateMoney('49.90', listedName)
    await screenAll(service)
    const late = await lateOf(opened)
    await assert.rejects(giveBack(opened, late), code('account_blocked'))
    const accepted = await accept(opened, late)
    const { balance, suspense } = await stateOf(opened)
    assert.deepEqual([balance, suspense], [0n, 4990n])
    const { row } = await service.transactions.get(opened.partner.partnerId, accepted.acceptedReference ?? '')
    assert.equal(row.status, 'Pending')
  })

  test('a part whose payer was cleared is offered when the session ends without the rest', async () => {
    const opened = await inParts()
    await screenAll(service)
    await send(opened, '20.00', listedName)
    await settle()
    const clear = async () => {
      await screenAll(service)
      await decideAll(service, opened.partner.partnerId, 'clear')
      service.clock.advance(minuteMs)
      await service.deposits.screenDue(10)
    }
    await clear()
    assert.equal((await stateOf(opened)).waits, 2000n)
    await service.checkout.expire(opened.partner.partnerId, opened.session.id)
    const late = await lateOf(opened)
    assert.deepEqual([late.reason, late.status, (await stateOf(opened)).suspense], ['Incomplete', 'Waiting', 2000n])
    // The decision was about the payer of another payment.
    await accept(opened, late)
    assert.equal((await stateOf(opened)).suspense, 2000n)
    await clear()
    assert.equal((await stateOf(opened)).balance, 2000n)
  })
})
