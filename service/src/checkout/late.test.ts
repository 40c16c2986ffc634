/** Late payments on a real database: money that did not fit its session, and the choice of its partner. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import { hasCode, createSessionsInParts, type OpenedSession } from '../../../test/support/checkout.ts'
import { addPartner, balanceOf, ip, type Service, stepMsDefault } from '../../../test/support/composition.ts'
import { useModules } from '../../../test/support/fixture.ts'
import { decideAll, listedName, sampleList, screenAll } from '../../../test/support/screening/held.ts'
import { checkLedger } from '../../../test/model/ledger-audit.ts'
import { checkRefunds } from '../../../test/support/hostile-checkout.ts'
import { dayMs, minuteMs, newId } from '../kernel/index.ts'
import { processBankNotifications, sendDueReturns, submitDuePayouts } from '../banks/settlement/index.ts'
import { sql } from '../postgres/index.ts'
import type { LatePayment } from './session.ts'

function createLateMoney(service: Service) {
  const { open, inParts, send, sendAll, settle, stateOf } = createSessionsInParts(() => service)
  const { checkout } = service

  const read = ({ partner, session }: OpenedSession) => checkout.get(partner.partnerId, session.id)
  const lateOf = async (opened: OpenedSession): Promise<LatePayment> => {
    const { latePayments } = await read(opened)
    assert.equal(latePayments.length, 1)
    return latePayments[0] as LatePayment
  }
  const accept = ({ partner, session }: OpenedSession, { id }: LatePayment) =>
    checkout.acceptLate(partner.partnerId, session.id, id)
  const giveBack = ({ partner, session }: OpenedSession, { id }: LatePayment) =>
    checkout.returnLate(partner.partnerId, session.id, id)

  /** A session that has ended, and the money that came after. */
  async function lateMoney(amount = '49.90', payer?: string): Promise<OpenedSession> {
    const opened = await open({ websiteReference: 'order 7', customFields: { order: 7 } })
    await checkout.expire(opened.partner.partnerId, opened.session.id)
    await send(opened, amount, payer)
    await settle()
    return opened
  }
  const eventsOf = async ({ partner: { partnerId } }: OpenedSession) => {
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

  test('money that arrives after the session ended is offered to the partner, accepted once, and becomes a payment of the order', async () => {
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
    await assert.rejects(giveBack(opened, late), hasCode('late_payment_decided'))
    assert.deepEqual(await eventsOf(opened), ['Waiting', 'Accepted'])
    assert.equal((await stateOf(opened)).balance, 4990n)
  })

  test('returned money leaves suspense once the bank has booked it, with two events', async () => {
    const opened = await lateMoney()
    const late = await lateOf(opened)
    assert.equal((await giveBack(opened, late)).status, 'Returning')
    assert.equal((await giveBack(opened, late)).status, 'Returning')
    await assert.rejects(accept(opened, late), hasCode('late_payment_decided'))
    for (const connector of service.connectors) await sendDueReturns(service.settlement, connector)
    await settle()
    assert.equal((await lateOf(opened)).status, 'Returned')
    const { balance, suspense } = await stateOf(opened)
    assert.deepEqual([balance, suspense], [0n, 0n])
    assert.deepEqual(await eventsOf(opened), ['Waiting', 'Returning', 'Returned'])
  })

  test('of two concurrent choices one takes effect, and the other is refused', async () => {
    for (let round = 0; round < 4; round += 1) {
      const opened = await lateMoney()
      const late = await lateOf(opened)
      const outcomes = await Promise.allSettled([accept(opened, late), giveBack(opened, late), accept(opened, late)])
      const refused = outcomes.filter((each) => each.status === 'rejected')
      assert.ok(refused.every(({ reason }) => hasCode('late_payment_decided')(reason)))
      assert.ok(refused.length === 1 || refused.length === 2)
      const { balance, suspense } = await stateOf(opened)
      const chosen = (await lateOf(opened)).status
      assert.deepEqual([balance, suspense], chosen === 'Accepted' ? [4990n, 0n] : [0n, 4990n])
    }
  })

  test('the partner cannot choose after the deadline or after a decision of the operator', async () => {
    const opened = await lateMoney()
    const late = await lateOf(opened)
    service.clock.advance(7 * dayMs)
    assert.equal((await lateOf(opened)).status, 'WithOperator')
    await assert.rejects(accept(opened, late), hasCode('late_payment_decided'))
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
    await assert.rejects(giveBack(other, found), hasCode('late_payment_decided'))
  })

  test('a different amount, a second payment, a surplus and a part of an ended session are offered to the partner', async () => {
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

  test('money in another currency can only be returned', async () => {
    const opened = await open()
    await send(opened, '49.90', 'Grace Hopper', 'USD')
    await settle()
    const late = await lateOf(opened)
    await assert.rejects(accept(opened, late), hasCode('currency_not_supported'))
    assert.equal((await giveBack(opened, late)).status, 'Returning')
  })

  test('a late payment is not found by another partner or under another session', async () => {
    const opened = await lateMoney()
    const late = await lateOf(opened)
    const stranger = await addPartner(service)
    await assert.rejects(checkout.acceptLate(stranger.partnerId, opened.session.id, late.id), hasCode('not_found'))
    const other = await open({}, opened.partner)
    await assert.rejects(checkout.acceptLate(opened.partner.partnerId, other.session.id, late.id), hasCode('not_found'))
  })

  test('the partner of a blocked customer cannot choose: the operator decides', async () => {
    const opened = await lateMoney()
    const late = await lateOf(opened)
    const { partnerId, customer } = opened.partner
    await service.db.transaction((tx) => service.customers.setAccountState(tx, partnerId, customer.id, 'Blocked'))
    await assert.rejects(accept(opened, late), hasCode('account_blocked'))
    await assert.rejects(giveBack(opened, late), hasCode('account_blocked'))
    assert.equal((await stateOf(opened)).suspense, 4990n)
    assert.equal((await balanceOf(service, partnerId)).posted, 0n)
  })
})

suite('refunds of accepted late payments', async () => {
  const service = await useModules()
  const { checkout } = service
  const { inParts, sendAll, send, settle, read, lateOf, accept, giveBack, lateMoney, open } = createLateMoney(service)
  type Body = Parameters<Service['checkout']['refund']>[2]

  const refund = ({ partner, session }: OpenedSession, amount: string, fields: Partial<Body> = {}) =>
    checkout.refund(partner.caller, session.id, { amount: rawNumber(amount), idempotencyKey: newId(), ...fields }, ip)
  const accepted = async (opened: OpenedSession): Promise<string> => (await accept(opened, await lateOf(opened))).id
  const take = async () => {
    while ((await processBankNotifications(service.settlement)) > 0);
  }
  async function work(): Promise<void> {
    for (let rounds = 0; rounds < 4; rounds += 1) {
      await submitDuePayouts(service.settlement)
      service.clock.advance(stepMsDefault)
      await take()
    }
  }
  async function reverse({ partner, session }: OpenedSession): Promise<void> {
    await checkout.simulate(partner.partnerId, session.id, { step: 'reverse' }, ip)
    service.clock.advance(stepMsDefault)
  }
  const statusesOf = async ({ partner, session }: OpenedSession) =>
    (await checkout.listRefunds(partner.partnerId, session.id, {})).data.map(({ payout }) => payout.status)

  test('a refund goes back to the account that paid, and counts separately from refunds of the payment of the session', async () => {
    const opened = await open()
    const { partner, session } = opened
    const { partnerId } = partner
    await send(opened, '49.90')
    await settle()
    await send(opened, '49.90', 'Joan Clarke')
    await settle()
    const latePaymentId = await accepted(opened)
    const own = await refund(opened, '49.90')
    const made = await refund(opened, '40.00', { latePaymentId: latePaymentId.toUpperCase() })
    assert.deepEqual([made.row.latePaymentId, made.row.partId, own.row.latePaymentId], [latePaymentId, null, null])
    await assert.rejects(refund(opened, '9.91', { latePaymentId }), hasCode('refund_exceeds_payment'))
    await assert.rejects(refund(opened, '0.01'), hasCode('refund_exceeds_payment'))
    const shown = await read(opened)
    assert.deepEqual([shown.refundedAmount, shown.latePayments[0]?.refundedAmount], [4990n, 4000n])
    assert.deepEqual(
      (await checkout.receipt(opened.token)).refunds.map(({ amount }) => amount),
      [4990n],
      'the receipt is about the payment of the session',
    )
    await work()
    const { row } = await service.transactions.get(partnerId, made.payout.reference)
    assert.deepEqual(
      [row.status, row.originatingReference, made.payout.creditorName],
      ['Completed', (await lateOf(opened)).acceptedReference, 'Joan Clarke'],
    )
    const { data } = await checkout.list(partnerId, {})
    assert.equal(data.find(({ id }) => id === session.id)?.latePayments[0]?.refundedAmount, 4000n)
    assert.equal((await balanceOf(service, partnerId)).posted, 990n)
    assert.equal(await checkRefunds(service.db, partnerId), 2)
  })

  test('ten concurrent refunds do not exceed the accepted amount, and one key creates one refund', async () => {
    const opened = await lateMoney()
    const { partnerId } = opened.partner
    const latePaymentId = await accepted(opened)
    await service.db.transaction((tx) =>
      service.deposits.creditPartner(tx, partnerId, { debit: 'settlement.sandbox', currency: 'EUR', amount: 1000_00n }),
    )
    const answers = await Promise.allSettled(
      Array.from({ length: 10 }, () => refund(opened, '10.00', { latePaymentId })),
    )
    const refused = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason as unknown] : []))
    assert.equal(refused.length, 6)
    for (const reason of refused) assert.ok(hasCode('refund_exceeds_payment')(reason), String(reason))
    const fields = { latePaymentId, idempotencyKey: newId() }
    const made = await Promise.all([1, 2, 3].map(() => refund(opened, '9.90', fields)))
    assert.equal(new Set(made.map(({ row }) => row.id)).size, 1)
    await assert.rejects(
      refund(opened, '9.90', { idempotencyKey: fields.idempotencyKey }),
      hasCode('idempotency_key_reused'),
    )
    await work()
    assert.equal((await balanceOf(service, partnerId)).posted, 1000_00n)
    assert.equal(await checkRefunds(service.db, partnerId), 5)
  })

  test('a refund of money that was not accepted, of another session, or together with a part is refused', async () => {
    const opened = await lateMoney()
    const { id: latePaymentId } = await lateOf(opened)
    await assert.rejects(refund(opened, '1.00', { latePaymentId }), hasCode('checkout_session_not_paid'))
    await assert.rejects(refund(opened, '1.00'), hasCode('checkout_session_not_paid'))
    const other = await open({}, opened.partner)
    for (const id of [latePaymentId, newId()])
      await assert.rejects(refund(other, '1.00', { latePaymentId: id }), hasCode('validation_failed'))
    await accept(opened, await lateOf(opened))
    await assert.rejects(refund(opened, '1.00', { latePaymentId, partId: newId() }), hasCode('validation_failed'))
    const stranger = await addPartner(service)
    await assert.rejects(refund({ ...opened, partner: stranger }, '1.00', { latePaymentId }), hasCode('not_found'))
    const returned = await lateMoney()
    const late = await giveBack(returned, await lateOf(returned))
    await assert.rejects(refund(returned, '1.00', { latePaymentId: late.id }), hasCode('checkout_session_not_paid'))
  })

  test('if a refund races a reversal of accepted money, the money leaves the balance exactly once', async () => {
    for (const isRefundFirst of [true, false]) {
      const opened = await lateMoney()
      const { partnerId } = opened.partner
      const latePaymentId = await accepted(opened)
      await reverse(opened)
      const ask = () => refund(opened, '49.90', { latePaymentId }).catch((error: unknown) => error)
      const [answer] = isRefundFirst
        ? await Promise.all([ask(), take()])
        : (await Promise.all([take(), ask()])).reverse()
      const isRefused = hasCode('checkout_session_not_paid')(answer) || hasCode('insufficient_funds')(answer)
      assert.deepEqual(await statusesOf(opened), isRefused ? [] : ['Cancelled'])
      await work()
      assert.equal((await balanceOf(service, partnerId)).posted, 0n)
      assert.equal((await lateOf(opened)).refundedAmount, 0n)
      await assert.rejects(refund(opened, '0.01', { latePaymentId }), hasCode('checkout_session_not_paid'))
      const found = (await service.cases.list(undefined, 1000)).filter((one) => one.partnerId === partnerId)
      assert.deepEqual(
        found.map(({ kind, booked }) => [kind, booked]),
        [['credit_reversed', null]],
      )
    }
  })

  for (const isLateFirst of [true, false])
    test(`a bank that reverses ${isLateFirst ? 'late money' : 'the payment'} cancels only its refunds`, async () => {
      const opened = await (isLateFirst ? inParts() : open())
      const { partnerId } = opened.partner
      await sendAll(opened, '49.90')
      await send(opened, '20.00')
      await settle()
      const latePaymentId = await accepted(opened)
      await refund(opened, '5.00')
      await refund(opened, '6.00', { latePaymentId })
      const deposit = await service.db.row<{ creditId: string }>(sql`
        select credit_id from deposits.deposits where partner_id = ${partnerId} and operation = 'credit'`)
      const taken = { money: { currency: 'EUR', amount: 2000n }, details: 'Recalled.' } as const
      const takeLate = async () => {
        const { creditId } = deposit ?? assert.fail('no deposit of the late money')
        await service.db.transaction(async (tx) => service.bank.reverseCredit(tx, partnerId, creditId, taken))
        service.clock.advance(stepMsDefault)
      }
      const steps = [takeLate, () => reverse(opened)]
      for (const [at, step] of (isLateFirst ? steps : steps.toReversed()).entries()) {
        await step()
        await take()
        const ofLate = isLateFirst || at === 1 ? 'Cancelled' : 'Pending'
        const own = !isLateFirst || at === 1 ? 'Cancelled' : 'Pending'
        assert.deepEqual(await statusesOf(opened), [ofLate, own])
      }
      assert.equal((await balanceOf(service, partnerId)).posted, 0n)
    })

  test('if a bank reverses a payment whose surplus was accepted, the part and the surplus leave the balance exactly once each', async () => {
    const opened = await inParts()
    const { partner, session } = opened
    const { partnerId } = partner
    await sendAll(opened, '60.00')
    const latePaymentId = await accepted(opened)
    assert.equal((await balanceOf(service, partnerId)).posted, 6000n)
    await refund(opened, '5.00')
    await refund(opened, '6.00', { latePaymentId })
    const { creditId } =
      (await service.db.row<{ creditId: string }>(
        sql`select credit_id from deposits.parts where partner_id = ${partnerId}`,
      )) ?? assert.fail()
    const taken = { money: { currency: 'EUR', amount: 6000n }, details: 'Recalled.' } as const
    await service.db.transaction(async (tx) => service.bank.reverseCredit(tx, partnerId, creditId, taken))
    service.clock.advance(stepMsDefault)
    await Promise.all([take(), take()])
    assert.deepEqual(await statusesOf(opened), ['Cancelled', 'Cancelled'])
    const { parts } = await checkout.get(partnerId, session.id)
    assert.deepEqual(
      parts.map(({ status }) => status),
      ['Reversed'],
    )
    const found = (await service.cases.list(undefined, 1000)).filter((one) => one.partnerId === partnerId)
    assert.deepEqual(
      found.map(({ kind, booked }) => [kind, booked]),
      [1, 2].map(() => ['credit_reversed', null]),
    )
    assert.equal((await balanceOf(service, partnerId)).posted, 0n)
    await checkLedger(service.db, partnerId)
  })
})

suite('late payments of listed payers', async () => {
  const service = await useModules()
  await service.screening.lists.load(await sampleList(), 'Sam Staff')
  const { inParts, send, settle, lateMoney, lateOf, accept, giveBack, stateOf } = createLateMoney(service)

  test('money of a listed payer is not returned, and accepted money of a listed payer is held', async () => {
    const opened = await lateMoney('49.90', listedName)
    await screenAll(service)
    const late = await lateOf(opened)
    await assert.rejects(giveBack(opened, late), hasCode('account_blocked'))
    const accepted = await accept(opened, late)
    const { balance, suspense } = await stateOf(opened)
    assert.deepEqual([balance, suspense], [0n, 4990n])
    const { row } = await service.transactions.get(opened.partner.partnerId, accepted.acceptedReference ?? '')
    assert.equal(row.status, 'Pending')
  })

  test('a part whose payer was cleared is offered when the session ends before it is fully paid', async () => {
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
