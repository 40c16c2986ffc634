/** Standing orders on a real database: each date once, short funds, outages, deleted beneficiaries, races, two workers, the bound. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, suite, test } from 'node:test'
import { type BodyOf, rawNumber } from '@partner-payments/wire'
import {
  addPartner,
  balanceOf,
  createTestService,
  ip,
  pay,
  type Service,
  type TestPartner,
} from '../../../../test/support/composition.ts'
import { outcomeCode, refused } from '../../../../test/support/refusals.ts'
import { setApprovalRule } from '../../../../test/support/approvals.ts'
import { Refusal } from '../../kernel/api/index.ts'
import { dayMs, hourMs, minuteMs, newId } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import { ordersDue } from './store.ts'

suite('orders', () => {
  let service: Service
  let partner: TestPartner
  beforeEach(async () => {
    // A Thursday. TARGET is open on the days that follow, except for the weekends.
    service = await createTestService({ now: new Date('2026-01-08T00:00:00Z') })
    partner = await addPartner(service, 1_000_00n)
  })
  afterEach(() => service.close())

  type Body = BodyOf<'createStandingOrder'>
  const daily = { frequency: 'Daily', startsOn: '2026-01-08', businessDays: 'None' } as const
  const create = (schedule: Partial<Body['schedule']> = {}, fields: Partial<Body> = {}, by: TestPartner = partner) =>
    service.standingOrders.create(
      by.caller,
      {
        beneficiaryId: by.beneficiary.id,
        amount: rawNumber('10.00'),
        currency: 'EUR',
        schedule: { ...daily, ...schedule },
        ...fields,
      },
      ip,
    )
  const work = async (on: Service = service) => {
    while ((await on.standingOrders.step()) > 0);
  }
  const once = (startsOn: string) => ({ frequency: 'Once', startsOn, businessDays: 'None' }) as const
  const payment = () => ({ beneficiaryId: partner.beneficiary.id, amount: rawNumber('11.00'), currency: 'EUR' })
  const orderOf = (id: string, by: TestPartner = partner) => service.standingOrders.get(by.partnerId, id)
  const executionsOf = async (id: string, by: TestPartner = partner) =>
    (await service.standingOrders.executions(by.partnerId, id, { limit: '100' })).data.toReversed()
  const statusesOf = async (id: string) =>
    (await executionsOf(id)).map(({ occursOn, status }) => `${occursOn} ${status}`)
  const payoutsOf = async ({ partnerId }: TestPartner = partner) =>
    (await service.payouts.list(partnerId, { limit: '100' })).data
  const eventsOf = async () =>
    (
      await service.db.rows<{ readonly type: string; readonly data: string }>(sql`
      select type, data from events.events where partner_id = ${partner.partnerId} and type like 'standing%' order by id`)
    ).map(({ type, data }) => ({
      type,
      ...(JSON.parse(data) as { readonly status?: string; readonly endReason?: string }),
    }))

  test('each date has one payout, under the rules of all payouts, until the last date', async () => {
    const order = await create({ count: 3 }, { reference: 'Rent' })
    await work()
    assert.equal((await payoutsOf()).length, 0)
    for (let days = 0; days < 5; days += 1) {
      service.clock.advance(days === 0 ? 6 * hourMs : dayMs)
      await work()
    }
    assert.deepEqual(await statusesOf(order.id), ['2026-01-08 Made', '2026-01-09 Made', '2026-01-10 Made'])
    const { status, endReason, payoutsMade, endedAt } = await orderOf(order.id)
    assert.deepEqual([status, endReason, payoutsMade], ['Ended', 'Completed', 3])
    assert.equal(endedAt?.toISOString(), '2026-01-10T06:00:00.000Z')
    const payouts = await payoutsOf()
    assert.deepEqual(
      payouts.map(({ amount, remittance, idempotencyKey }) => [amount, remittance, idempotencyKey]),
      ['2026-01-10', '2026-01-09', '2026-01-08'].map((date) => [1000n, 'Rent', `standing-order ${order.id} ${date}`]),
    )
    const [made] = await executionsOf(order.id)
    assert.equal(made?.payoutId, payouts.at(-1)?.id)
    assert.equal((await balanceOf(service, partner.partnerId)).reserved, 3000n)
    assert.deepEqual(
      (await eventsOf()).map(({ type, endReason: reason }) => [type, reason]),
      [['standing.order.ended', 'Completed']],
    )
  })

  test('payouts have the note of their order, and are not duplicates of each other', async () => {
    const order = await create({ count: 2 }, { reference: 'Rent', note: 'Ask Joan first.', onDuplicate: 'Refuse' })
    for (let days = 0; days < 2; days += 1) {
      service.clock.advance(days === 0 ? 6 * hourMs : dayMs)
      await work()
    }
    assert.deepEqual(await statusesOf(order.id), ['2026-01-08 Made', '2026-01-09 Made'])
    const notes = await Promise.all(
      (await payoutsOf()).map(async ({ id }) => (await service.payouts.note(partner.partnerId, id)).row?.note),
    )
    assert.deepEqual(notes, ['Ask Joan first.', 'Ask Joan first.'])
  })

  test('a date whose payout may duplicate a payout outside the order fails, and the order continues', async () => {
    const refusing = await create({ count: 2 }, { reference: 'INV-1', onDuplicate: 'Refuse' })
    const allowing = await create(once('2026-01-08'), { reference: 'INV-2' })
    await pay(service, partner, '10.00', { reference: 'inv 1' })
    service.clock.advance(6 * hourMs)
    await work()
    const [failed] = await executionsOf(refusing.id)
    assert.deepEqual([failed?.status, failed?.problemCode], ['Failed', 'possible_duplicate'])
    assert.equal((await orderOf(refusing.id)).status, 'Active')
    assert.deepEqual(await statusesOf(allowing.id), ['2026-01-08 Made'])
  })

  test('of two orders for one invoice, or an order and a concurrent payout, only one is accepted', async () => {
    const orders = [1, 2, 3].map(() =>
      outcomeCode(create(once('2026-01-20'), { reference: 'INV-3', onDuplicate: 'Refuse' })),
    )
    assert.deepEqual((await Promise.all(orders)).toSorted(), ['done', 'possible_duplicate', 'possible_duplicate'])
    const payNow = () =>
      service.payouts.create(
        partner.caller,
        { ...payment(), reference: 'INV-4', onDuplicate: 'Refuse', idempotencyKey: newId() },
        ip,
      )
    const payLater = () => create(once('2026-01-20'), { ...payment(), reference: 'INV 4', onDuplicate: 'Refuse' })
    const both = [payNow(), payLater(), payNow(), payLater()].map((each: Promise<unknown>) => outcomeCode(each))
    assert.equal((await Promise.all(both)).filter((outcome) => outcome === 'done').length, 1)
  })

  /** The orders that a payout now, or an order on a day, may repeat. */
  const scheduledFor = async (reference: string, payOn?: string) => {
    const body = { ...payment(), reference, ...(payOn === undefined ? {} : { payOn }) }
    const { verdicts } = await service.payouts.preview(partner.caller, body, ip)
    const found = verdicts.find(({ rule }) => rule === 'duplicate')
    return [found?.verdict, found?.repeated?.scheduled.map(({ id, because }) => `${id} ${because}`) ?? []]
  }

  test('an order counts as an earlier payment: by its reference within a year, or within a few days', async () => {
    const { id } = await create(once('2026-03-01'), { ...payment(), reference: 'INV-7' })
    assert.deepEqual(await scheduledFor('inv 7'), ['warning', [`${id} reference`]])
    assert.deepEqual(await scheduledFor('INV-8'), ['passed', []])
    assert.deepEqual(await scheduledFor('INV-8', '2026-02-16'), ['warning', [`${id} days`]])
    assert.deepEqual(await scheduledFor('INV-8', '2026-03-15'), ['warning', [`${id} days`]])
    assert.deepEqual(await scheduledFor('INV-8', '2026-03-16'), ['passed', []])
    const far = await create(once('2027-02-01'), { ...payment(), reference: 'INV-9' })
    assert.deepEqual(await scheduledFor('INV-9'), ['passed', []])
    assert.deepEqual(await scheduledFor('INV-9', '2026-02-16'), ['warning', [`${far.id} reference`, `${id} days`]])
    await service.standingOrders.pause(partner.partnerId, id)
    assert.deepEqual(await scheduledFor('INV-7'), ['passed', []])
    await service.standingOrders.resume(partner.partnerId, id)
    await service.standingOrders.cancel(partner.partnerId, far.id)
    assert.deepEqual(await scheduledFor('INV-9'), ['passed', []])
  })

  test('an order to another payee with the same account is found, but not one with another amount, currency or partner', async () => {
    const other = await addPartner(service, 100_00n)
    await create(once('2026-01-20'), { ...payment(), beneficiaryId: other.beneficiary.id, reference: 'INV-7' }, other)
    await create(once('2026-01-20'), { ...payment(), amount: rawNumber('11.01'), reference: 'INV-7' })
    assert.deepEqual(await scheduledFor('INV-7'), ['passed', []])
    const { id } = await create(once('2026-01-20'), {
      ...payment(),
      beneficiaryId: partner.ownBeneficiary.id,
      reference: 'INV-7',
    })
    assert.deepEqual(await scheduledFor('INV-7'), ['warning', [`${id} reference`]])
  })

  test('a refused duplicate payout names the order, and a refused order names the payout', async () => {
    const order = await create(once('2026-01-20'), { ...payment(), reference: 'INV-7', onDuplicate: 'Refuse' })
    const refusing = { ...payment(), reference: 'INV-7', onDuplicate: 'Refuse' } as const
    const payNow = () => service.payouts.create(partner.caller, { ...refusing, idempotencyKey: newId() }, ip)
    await assert.rejects(payNow(), refused('possible_duplicate', new RegExp(order.id)))
    await service.standingOrders.cancel(partner.partnerId, order.id)
    const { payout } = await payNow()
    await assert.rejects(create(once('2026-01-20'), refusing), refused('possible_duplicate', new RegExp(payout.id)))
    await assert.rejects(
      create(once('2026-01-20'), { ...refusing, onDuplicate: 'RefuseFirst' }),
      refused('possible_duplicate'),
    )
    // After the days another invoice of the amount is no repetition.
    await create(once('2026-03-20'), { ...refusing, reference: 'INV-8' })
  })

  test('RefuseFirst refuses only the order, not its payouts', async () => {
    const order = await create(once('2026-01-20'), { ...payment(), reference: 'INV-7', onDuplicate: 'RefuseFirst' })
    await pay(service, partner, '11.00', { reference: 'INV-7' })
    service.clock.advance(12 * dayMs + 6 * hourMs)
    await work()
    assert.deepEqual(await statusesOf(order.id), ['2026-01-20 Made'])
  })

  test('of two orders for one invoice the first order pays, and an order does not repeat its own payout', async () => {
    const first = await create(once('2026-01-20'), { ...payment(), reference: 'INV-7', onDuplicate: 'Refuse' })
    const second = await create(once('2026-01-20'), { ...payment(), reference: 'INV-7' })
    service.clock.advance(12 * dayMs + 6 * hourMs)
    await work()
    assert.deepEqual(await statusesOf(first.id), ['2026-01-20 Made'])
    assert.deepEqual(await statusesOf(second.id), ['2026-01-20 Made'])
    const shown = async (id: string) => {
      const [execution] = await executionsOf(id)
      const { earlier, scheduled } = await service.payouts.possibleDuplicates(
        partner.partnerId,
        execution?.payoutId ?? '',
      )
      return [earlier.length, scheduled.length]
    }
    const counts = [await shown(first.id), await shown(second.id)]
    assert.deepEqual(counts.toSorted(), [
      [0, 0],
      [1, 0],
    ])
  })

  test('the approver of a payout sees an order created before the payout, but not an order created after it', async () => {
    const order = await create(once('2026-01-20'), { ...payment(), reference: 'INV-7' })
    const { payout } = await pay(service, partner, '11.00', { reference: 'INV-7' })
    await create(once('2026-01-21'), { ...payment(), reference: 'INV-7' })
    const { scheduled } = await service.payouts.possibleDuplicates(partner.partnerId, payout.id)
    assert.deepEqual(
      scheduled.map(({ id, creditorName }) => [id, creditorName]),
      [[order.id, partner.beneficiary.name]],
    )
    assert.equal((await payoutsOf()).length, 1)
  })

  test('insufficient funds: the worker retries every 15 minutes until the balance covers the payout', async () => {
    const order = await create({ count: 2 }, { amount: rawNumber('1500.00') })
    service.clock.advance(6 * hourMs)
    await work()
    service.clock.advance(15 * minuteMs)
    await work()
    const [execution] = await executionsOf(order.id)
    assert.deepEqual(
      [execution?.status, execution?.attempts, execution?.problemCode],
      ['Retrying', 2, 'insufficient_funds'],
    )
    assert.equal((await orderOf(order.id)).dueAt?.toISOString(), '2026-01-08T06:30:00.000Z')
    const float = { debit: 'settlement.sandbox' as const, currency: 'EUR' as const, amount: 1_000_00n }
    await service.db.transaction((tx) => service.deposits.creditPartner(tx, partner.partnerId, float))
    service.clock.advance(15 * minuteMs)
    await work()
    const [made, ...others] = await executionsOf(order.id)
    assert.deepEqual([made?.id, made?.status, made?.attempts, made?.problemCode], [execution?.id, 'Made', 3, null])
    assert.equal(others.length, 0)
    assert.equal((await orderOf(order.id)).dueAt?.toISOString(), '2026-01-09T06:00:00.000Z')
    // The first refused attempt is told, and no other one.
    assert.deepEqual(
      (await eventsOf()).map(({ type, status }) => [type, status]),
      [['standing.order.failed', 'Retrying']],
    )
  })

  test('insufficient funds until midnight: the date fails, and the order continues', async () => {
    const order = await create({ count: 2 }, { amount: rawNumber('1500.00') })
    for (let quarters = 0; quarters <= 24 * 4; quarters += 1) {
      await work()
      service.clock.advance(15 * minuteMs)
    }
    const [execution, ...others] = await executionsOf(order.id)
    // From 06:00 to 23:45.
    assert.deepEqual(
      [execution?.status, execution?.attempts, execution?.problemCode],
      ['Failed', 18 * 4, 'insufficient_funds'],
    )
    assert.equal(others.length, 0)
    const { status, dueAt, retryUntil } = await orderOf(order.id)
    assert.deepEqual([status, dueAt?.toISOString(), retryUntil], ['Active', '2026-01-09T06:00:00.000Z', null])
    assert.deepEqual(
      (await eventsOf()).map(({ status: told }) => told),
      ['Retrying', 'Failed'],
    )
  })

  test('after an outage a date is paid up to three days late, and an older date is skipped', async () => {
    const order = await create({ count: 6 })
    service.clock.advance(5 * dayMs + 6 * hourMs)
    await work()
    assert.deepEqual(await statusesOf(order.id), [
      '2026-01-08 Skipped',
      '2026-01-09 Skipped',
      '2026-01-10 Made',
      '2026-01-11 Made',
      '2026-01-12 Made',
      '2026-01-13 Made',
    ])
    assert.equal((await payoutsOf()).length, 4)
    assert.deepEqual(
      (await eventsOf()).map(({ status, endReason }) => status ?? endReason),
      ['Skipped', 'Skipped', 'Completed'],
    )
  })

  test('a deleted beneficiary ends the order', async () => {
    const order = await create()
    await service.beneficiaries.remove(partner.partnerId, partner.beneficiary.id)
    service.clock.advance(6 * hourMs)
    await work()
    const { status, endReason, dueAt } = await orderOf(order.id)
    assert.deepEqual([status, endReason, dueAt], ['Ended', 'BeneficiaryDeleted', null])
    const [execution] = await executionsOf(order.id)
    assert.deepEqual([execution?.status, execution?.problemCode], ['Failed', 'not_found'])
    assert.equal(execution?.problemDetail, '/beneficiaryId: no such beneficiary')
    await assert.rejects(service.standingOrders.resume(partner.partnerId, order.id), refused('standing_order_ended'))
  })

  test('limits and approvals apply to the payouts of an order', async () => {
    const { partnerId } = partner
    await service.db.transaction(async (tx) => {
      const limit = { partnerId, scope: 'partner', period: 'day', currency: 'EUR', amount: 1500n } as const
      await service.payoutControls.limits.set(tx, limit)
    })
    await setApprovalRule(service, partnerId, { aboveAmount: 500n })
    const orders = [await create({ count: 2 }), await create({ count: 2, time: '07:00' })]
    service.clock.advance(7 * hourMs)
    await work()
    const codes = await Promise.all(orders.map(async ({ id }) => (await executionsOf(id))[0]?.problemCode ?? 'made'))
    assert.deepEqual(codes, ['made', 'limit_exceeded'])
    const [payout] = await payoutsOf()
    assert.equal(payout?.status, 'PendingApproval')
    assert.equal((await orderOf(orders[1]?.id ?? '')).status, 'Active')
  })

  test('a paused order creates no payout, and resumes after the dates of the pause', async () => {
    const { partnerId } = partner
    const order = await create({ count: 5 })
    await service.standingOrders.pause(partnerId, order.id)
    service.clock.advance(dayMs + 7 * hourMs)
    await work()
    assert.deepEqual(await statusesOf(order.id), [])
    assert.equal((await service.standingOrders.pause(partnerId, order.id)).status, 'Paused')
    const resumed = await service.standingOrders.resume(partnerId, order.id)
    assert.equal(resumed.dueAt?.toISOString(), '2026-01-10T06:00:00.000Z')
    assert.deepEqual(
      service.standingOrders.datesAhead(resumed).map(({ date }) => date),
      ['2026-01-10', '2026-01-11', '2026-01-12'],
    )
    assert.deepEqual(await service.standingOrders.resume(partnerId, order.id), resumed)
    service.clock.advance(30 * dayMs)
    await service.standingOrders.pause(partnerId, order.id)
    assert.equal((await service.standingOrders.resume(partnerId, order.id)).endReason, 'Completed')
  })

  test('a pause and a cancellation end the retries of a date', async () => {
    const { partnerId } = partner
    const orders = [await create(), await create()].map(({ id }) => id)
    await service.db.run(sql`
    update payouts.standing_orders set amount = 999999999 where partner_id = ${partnerId}`)
    service.clock.advance(6 * hourMs)
    await work()
    await service.standingOrders.pause(partnerId, orders[0] ?? '')
    await service.standingOrders.cancel(partnerId, orders[1] ?? '')
    service.clock.advance(hourMs)
    await work()
    for (const id of orders) {
      const [execution, ...others] = await executionsOf(id)
      assert.deepEqual([execution?.status, execution?.attempts, others.length], ['Skipped', 1, 0])
    }
    const resumed = await service.standingOrders.resume(partnerId, orders[0] ?? '')
    assert.equal(resumed.dueAt?.toISOString(), '2026-01-09T06:00:00.000Z')
    assert.equal((await service.standingOrders.cancel(partnerId, orders[1] ?? '')).endReason, 'Cancelled')
    await assert.rejects(service.standingOrders.pause(partnerId, orders[1] ?? ''), refused('standing_order_ended'))
  })

  test('two workers of two processes pay each date of many partners exactly once', async () => {
    const second = await createTestService({ url: service.url, now: service.clock.now() })
    const partners = [partner, await addPartner(service, 1_000_00n), await addPartner(service, 1_000_00n)]
    const ids = (
      await Promise.all(
        partners.map((by) =>
          Promise.all(Array.from({ length: 20 }, () => create({ count: 2 }, { amount: rawNumber('1.00') }, by))),
        ),
      )
    ).flat()
    for (const each of [service, second]) each.clock.advance(dayMs + 6 * hourMs)
    await Promise.all([work(), work(second), work(), work(second)])
    await work()
    assert.equal(ids.length, 60)
    for (const by of partners) {
      assert.equal((await payoutsOf(by)).length, 40)
      assert.equal((await balanceOf(service, by.partnerId)).reserved, 4000n)
    }
    await second.close()
  })

  test('one step creates the payouts of many partners, and refused payouts do not affect the others', async () => {
    const partners = await Promise.all(Array.from({ length: 40 }, () => addPartner(service, 5_00n)))
    // Every tenth asks for more than its float, and one has lost its beneficiary.
    const amountOf = (at: number) => rawNumber(at % 10 === 0 ? '6.00' : '5.00')
    const orders = await Promise.all(partners.map((by, at) => create({ count: 1 }, { amount: amountOf(at) }, by)))
    await service.beneficiaries.remove(partners[1]?.partnerId ?? '', partners[1]?.beneficiary.id ?? '')
    service.clock.advance(6 * hourMs)
    assert.equal(await service.standingOrders.step(), 40)
    for (const [at, by] of partners.entries()) {
      const [execution, ...others] = await executionsOf(orders[at]?.id ?? '', by)
      const expected = at === 1 ? 'not_found' : at % 10 === 0 ? 'insufficient_funds' : null
      assert.deepEqual([execution?.problemCode, others.length], [expected, 0])
      assert.equal((await balanceOf(service, by.partnerId)).reserved, expected === null ? 500n : 0n)
    }
    assert.equal(await service.standingOrders.step(), 0)
  })

  test('a partner with many orders does not delay another partner', async () => {
    const small = await addPartner(service, 1_000_00n)
    const order = await create()
    // As many as fill every look of the worker, of the partner that comes first.
    await service.db.run(sql`
    insert into payouts.standing_orders
    select (jsonb_populate_record(standing, jsonb_build_object('id', gen_random_uuid()))).*
    from payouts.standing_orders as standing, generate_series(1, 600)
    where standing.partner_id = ${partner.partnerId} and standing.id = ${order.id}`)
    const rare = await create({}, {}, small)
    service.clock.advance(6 * hourMs)
    for (let steps = 0; steps < 2; steps += 1) await service.standingOrders.step()
    assert.equal((await executionsOf(rare.id, small)).length, 1)
  })

  test('a payout of a cancelled order was created before the cancellation or is never created', async () => {
    const outcomes = new Set<string>()
    for (let round = 0; round < 24; round += 1) {
      const startsOn = service.clock.now().toISOString().slice(0, 10)
      const order = await create({ startsOn, count: 1 }, { amount: rawNumber('1.00') })
      service.clock.advance(6 * hourMs)
      const working = service.standingOrders.step()
      // Each round begins the cancellation a few round trips later, from before the worker's lock to behind its commit.
      for (let trips = 0; trips < round / 2; trips += 1) await service.db.row(sql`select 1 as one`)
      const [cancelled] = await Promise.allSettled([
        service.standingOrders.cancel(partner.partnerId, order.id),
        working,
      ])
      const { endReason, payoutsMade } = await orderOf(order.id)
      const payouts = (await payoutsOf()).filter(({ idempotencyKey }) => idempotencyKey?.includes(order.id) === true)
      assert.equal(payouts.length, payoutsMade)
      // A cancellation of the last date comes too late once its payout is made.
      assert.deepEqual(
        [cancelled.status, endReason],
        payoutsMade === 0 ? ['fulfilled', 'Cancelled'] : ['rejected', 'Completed'],
      )
      outcomes.add(endReason ?? '')
      service.clock.advance(18 * hourMs)
      await work()
      assert.equal((await orderOf(order.id)).payoutsMade, payoutsMade)
    }
    assert.deepEqual([...outcomes].toSorted(), ['Cancelled', 'Completed'])
  })

  test('an order that fails is postponed and does not delay others', async () => {
    const [broken, sound] = [await create({ count: 1 }), await create({ count: 1 })]
    // A date that its execution denies, as after a repair by hand.
    await service.db.run(sql`
    insert into payouts.standing_executions (partner_id, id, order_id, occurs_on, executes_at, status, attempts, created_at,
      updated_at)
    values (${partner.partnerId}, ${newId()}, ${broken.id}, '2026-01-08', now(), 'Skipped', 0, now(), now())`)
    service.clock.advance(6 * hourMs)
    await work()
    assert.equal((await orderOf(sound.id)).endReason, 'Completed')
    const { status, dueAt } = await orderOf(broken.id)
    assert.deepEqual([status, dueAt?.toISOString()], ['Active', '2026-01-08T06:01:00.000Z'])
    assert.equal((await payoutsOf()).length, 1)
  })

  test('wrong requests are refused with a pointer, and another partner cannot find the order', async () => {
    const other = await addPartner(service)
    const order = await create()
    await assert.rejects(create({ endsOn: '2026-01-07' }), refused('validation_failed', '/schedule/endsOn'))
    await assert.rejects(create({}, { amount: rawNumber('1.001') }), refused('validation_failed', '/amount'))
    await assert.rejects(create({}, { currency: 'USDC' }), refused('currency_not_supported', '/currency'))
    await assert.rejects(create({}, { currency: 'USD' }), refused('beneficiary_currency_mismatch', '/currency'))
    const foreign = { beneficiaryId: other.beneficiary.id }
    await assert.rejects(create({}, foreign), refused('not_found', '/beneficiaryId'))
    const { get, pause, resume, cancel } = service.standingOrders
    for (const verb of [get, pause, resume, cancel])
      await assert.rejects(verb(other.partnerId, order.id), refused('not_found'))
    await assert.rejects(service.standingOrders.executions(other.partnerId, order.id, {}), refused('not_found'))
    assert.equal((await service.standingOrders.list(other.partnerId, {})).data.length, 0)
    const ended = await service.standingOrders.list(partner.partnerId, { status: 'Ended' })
    assert.deepEqual(
      [ended.data.length, (await service.standingOrders.list(partner.partnerId, {})).data.length],
      [0, 1],
    )
  })

  test('the store returns the time at which the next order is due', async () => {
    await create()
    const due = await service.db.row<{ readonly dueAt: Date }>(ordersDue(new Date(0)))
    assert.equal(due?.dueAt.toISOString(), '2026-01-08T06:00:00.000Z')
  })
})

suite('the maximum of active orders', () => {
  const settings = { STANDING_ORDERS_MAX: '5' }
  let services: readonly [Service, Service]
  let partner: TestPartner
  beforeEach(async () => {
    const first = await createTestService({ settings, connectionsMax: 12 })
    services = [first, await createTestService({ settings, url: first.url, connectionsMax: 12 })]
    partner = await addPartner(first)
  })
  afterEach(async () => {
    await services[1].close()
    await services[0].close()
  })

  const create = (on: Service, by: TestPartner = partner) =>
    on.standingOrders.create(
      by.caller,
      {
        beneficiaryId: by.beneficiary.id,
        amount: rawNumber('10.00'),
        currency: 'EUR',
        schedule: { frequency: 'Daily', startsOn: '2026-01-05' },
      },
      ip,
    )
  const refused = (pointer: string) => (error: unknown) => {
    assert.ok(error instanceof Refusal, String(error))
    assert.deepEqual([error.code, error.errors[0]?.pointer], ['standing_order_limit_reached', pointer])
    return true
  }
  const activeOf = async () =>
    (await services[0].standingOrders.list(partner.partnerId, { status: 'Active', limit: '100' })).data

  test('of 20 concurrent creations in two processes, as many are accepted as the maximum permits', async () => {
    const outcomes = await Promise.allSettled(
      Array.from({ length: 20 }, (_, at) => create(at % 2 === 0 ? services[0] : services[1])),
    )
    for (const outcome of outcomes) if (outcome.status === 'rejected') assert.ok(refused('/schedule')(outcome.reason))
    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 5)
    assert.equal((await activeOf()).length, 5)
    // Another partner has a bound of its own.
    await create(services[0], await addPartner(services[0]))
  })

  test('a paused, cancelled or ended order frees a place, and only one of a concurrent creation and resumption takes the last place', async () => {
    const [service, other] = services
    const { partnerId } = partner
    const orders = []
    for (let made = 0; made < 5; made += 1) orders.push(await create(service))
    const [first, second] = orders
    await assert.rejects(create(service), refused('/schedule'))
    await service.standingOrders.cancel(partnerId, second?.id ?? '')
    await create(service)
    for (let round = 0; round < 8; round += 1) {
      await service.standingOrders.pause(partnerId, first?.id ?? '')
      const [resumed, created] = await Promise.allSettled([
        service.standingOrders.resume(partnerId, first?.id ?? ''),
        create(other),
      ])
      assert.equal((await activeOf()).length, 5)
      assert.equal(new Set([resumed.status, created.status]).size, 2)
      if (resumed.status === 'rejected') assert.ok(refused('')(resumed.reason))
      if (created.status === 'rejected') assert.ok(refused('/schedule')(created.reason))
      if (created.status === 'fulfilled') await service.standingOrders.cancel(partnerId, created.value.id)
      if (created.status === 'fulfilled') await service.standingOrders.resume(partnerId, first?.id ?? '')
    }
  })
})
