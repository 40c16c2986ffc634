/** Limits on a real database: every scope and period, exact sums under races, and payouts that are subtracted again. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  addPartner,
  balanceOf,
  createTestService,
  ip,
  pay,
  type TestPartner,
} from '../../../../test/support/composition.ts'
import { accountsOf, addTrader, quote } from '../../../../test/support/fx.ts'
import { useModules } from '../../../../test/support/fixture.ts'
import { outcomeCode, refusalOf } from '../../../../test/support/refusals.ts'
import { dayMs, newId, present } from '../../kernel/index.ts'
import { type Sql, sql, type Tx } from '../../postgres/index.ts'
import { instructionIdOf } from '../index.ts'
import type { LimitPeriod, LimitScope } from './rules.ts'
const service = await useModules({ now: new Date('2026-03-31T12:00:00Z') })
// As another process: its own pool, batches and funds check.
const other = await service.anotherProcess()

const setLimit = (
  { partnerId }: Pick<TestPartner, 'partnerId'>,
  scope: LimitScope,
  period: LimitPeriod,
  amount: bigint,
  more: { readonly scopeRef?: string; readonly currency?: 'EUR' | 'USD'; readonly allCurrencies?: boolean } = {},
) =>
  service.db.transaction((tx) =>
    service.payoutControls.limits.set(tx, { partnerId, scope, period, amount, currency: 'EUR', ...more }),
  )

const usedOf = async (partnerId: string) =>
  service.db.rows<{ scope: string; period: string; startsOn: string; used: bigint }>(sql`
    select scope, period, starts_on::text, used from payouts.limit_counters where partner_id = ${partnerId}
    order by scope, period, starts_on`)

test('a payment beyond the limit is refused with the name of the limit, and writes nothing', async () => {
  const partner = await addPartner(service, 100_000n)
  await setLimit(partner, 'partner', 'payment', 50_00n)
  const before = await balanceOf(service, partner.partnerId)
  const refusal = await refusalOf(pay(service, partner, '50.01'))
  assert.equal(refusal.code, 'limit_exceeded')
  assert.equal(refusal.detail, 'The limit partner.payment is 50.00 EUR for one payout.')
  assert.deepEqual(refusal.errors, [
    { pointer: '/amount', code: 'out_of_range', message: 'must be at most 50.00 by the limit partner.payment' },
  ])
  assert.deepEqual(await balanceOf(service, partner.partnerId), before)
  assert.deepEqual(await usedOf(partner.partnerId), [])
  assert.equal(await outcomeCode(pay(service, partner, '50.00')), 'done')
})

test('days and months end in UTC, and a refusal states the remaining amount and the end of the period', async () => {
  const partner = await addPartner(service, 100_000n)
  await setLimit(partner, 'partner', 'day', 30_00n)
  await setLimit(partner, 'partner', 'month', 40_00n)
  await pay(service, partner, '25.00')
  const refusal = await refusalOf(pay(service, partner, '5.01'))
  assert.equal(refusal.detail, 'The limit partner.day is 30.00 EUR. 5.00 EUR is left until 2026-04-01T00:00:00.000Z.')
  await pay(service, partner, '5.00')
  assert.deepEqual(await usedOf(partner.partnerId), [
    { scope: 'partner', period: 'day', startsOn: '2026-03-31', used: 30_00n },
    { scope: 'partner', period: 'month', startsOn: '2026-03-01', used: 30_00n },
  ])
  const next = await createTestService({ url: service.url, now: new Date('2026-04-01T00:00:00Z') })
  await pay(next, partner, '30.00')
  const inApril = await refusalOf(pay(next, partner, '10.00'))
  assert.match(inApril.detail, /^The limit partner\.day .* until 2026-04-02T/)
  next.clock.advance(dayMs)
  const ofMonth = await refusalOf(pay(next, partner, '10.01'))
  assert.match(ofMonth.detail, /^The limit partner\.month .* 10\.00 EUR is left until 2026-05-01T00:00:00\.000Z\.$/)
  await next.close()
})

test('the payouts of each customer and beneficiary are counted separately, and its own limit replaces the general one', async () => {
  const partner = await addPartner(service, 100_000n)
  const { partnerId, beneficiary, ownBeneficiary, customer } = partner
  await setLimit(partner, 'beneficiary', 'day', 10_00n)
  await setLimit(partner, 'customer', 'day', 15_00n)
  await setLimit(partner, 'beneficiary', 'day', 20_00n, { scopeRef: ownBeneficiary.id })
  const to = (beneficiaryId: string, amount: string) => outcomeCode(pay(service, partner, amount, { beneficiaryId }))
  assert.equal(await to(beneficiary.id, '10.00'), 'done')
  assert.equal(await to(beneficiary.id, '0.01'), 'limit_exceeded')
  assert.equal(await to(ownBeneficiary.id, '20.00'), 'done')
  assert.equal(await to(ownBeneficiary.id, '0.01'), 'limit_exceeded')
  const second = await service.beneficiaries.create(partnerId, {
    iban: 'NL91ABNA0417164300',
    currency: 'EUR',
    name: 'Hedy Lamarr',
    customerId: customer.id,
  })
  const refusal = await refusalOf(pay(service, partner, '5.01', { beneficiaryId: second.id }))
  assert.match(refusal.detail, /^The limit customer\.day is 15\.00 EUR\. 5\.00 EUR is left/)
  await setLimit(partner, 'customer', 'day', 15_01n, { scopeRef: customer.serviceId })
  assert.equal(await to(second.id, '5.01'), 'done')
})

test('the limits of customers apply to a simulated withdrawal, those of beneficiaries do not', async () => {
  const partner = await addPartner(service, 100_000n)
  await setLimit(partner, 'beneficiary', 'payment', 1n)
  await setLimit(partner, 'customer', 'day', 10_00n)
  const simulate = (amount: bigint) =>
    service.payouts.simulate(
      partner.caller,
      { customerRef: partner.customer.id, amount, currency: 'EUR', outcome: 'sent', idempotencyKey: null },
      ip,
    )
  assert.equal(await outcomeCode(simulate(10_00n)), 'done')
  assert.equal(await outcomeCode(simulate(1n)), 'limit_exceeded')
})

test('a payout by quote counts towards the limits of the paid currency', async () => {
  await service.rates.setByHand({ pair: { base: 'EUR', quote: 'USD', rate: { digits: 125n, scale: 2 } } })
  const trader = await addTrader(service)
  const { partnerId, customer, caller } = trader
  await setLimit(trader, 'partner', 'day', 1n, { currency: 'USD' })
  const { id: beneficiaryId } = await service.beneficiaries.create(partnerId, {
    name: 'Grace Hopper',
    iban: 'DE89370400440532013000',
    currency: 'USD',
    customerId: customer.id,
  })
  const { row } = await quote(service, trader)
  const before = await accountsOf(service, trader)
  const body = { quoteId: row.id, beneficiaryId, idempotencyKey: newId() }
  assert.equal(await outcomeCode(service.payouts.createFx(caller, body, ip)), 'limit_exceeded')
  assert.deepEqual(await accountsOf(service, trader), before)
  await setLimit(trader, 'partner', 'day', row.buyAmount, { currency: 'USD' })
  assert.equal(await outcomeCode(service.payouts.createFx(caller, body, ip)), 'done')
  assert.deepEqual(
    (await usedOf(partnerId)).map(({ used }) => used),
    [row.buyAmount],
  )
})

test('concurrent payouts of two processes fill a limit exactly and never exceed it', async () => {
  const partner = await addPartner(service, 1_000_000n)
  const { partnerId } = partner
  await setLimit(partner, 'partner', 'day', 100_00n)
  await setLimit(partner, 'customer', 'month', 95_00n)
  const outcomes = await Promise.all(
    Array.from({ length: 40 }, (_, index) => outcomeCode(pay(index % 2 === 0 ? service : other, partner, '10.00'))),
  )
  assert.equal(outcomes.filter((outcome) => outcome === 'done').length, 9)
  assert.ok(outcomes.every((outcome) => outcome === 'done' || outcome === 'limit_exceeded'))
  assert.deepEqual(
    (await usedOf(partnerId)).map(({ used }) => used),
    [90_00n, 90_00n],
  )
  assert.equal((await balanceOf(service, partnerId)).reserved, 90_00n)
})

test('duplicates of one idempotency key in two processes are counted exactly once', async () => {
  const partner = await addPartner(service, 100_000n)
  await setLimit(partner, 'partner', 'day', 10_00n)
  const idempotencyKey = newId()
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, index) =>
      pay(index % 2 === 0 ? service : other, partner, '10.00', { idempotencyKey }),
    ),
  )
  assert.equal(new Set(answers.map(({ payout }) => payout.id)).size, 1)
  assert.equal(answers.filter(({ replayed }) => !replayed).length, 1)
  assert.deepEqual(
    (await usedOf(partner.partnerId)).map(({ used }) => used),
    [10_00n],
  )
})

test('a payout that the balance does not cover does not count, and other payouts of its batch are accepted', async () => {
  const partner = await addPartner(service, 15_00n)
  await setLimit(partner, 'partner', 'day', 20_00n)
  const outcomes = await Promise.all(['16.00', '10.00'].map((amount) => outcomeCode(pay(service, partner, amount))))
  assert.deepEqual(outcomes, ['insufficient_funds', 'done'])
  assert.deepEqual(
    (await usedOf(partner.partnerId)).map(({ used }) => used),
    [10_00n],
  )
})

async function leased(partnerId: string, id: string) {
  const row = await service.payouts.get(partnerId, id)
  const leaseId = newId()
  await service.db.run(
    sql`update payouts.payouts set lease_id = ${leaseId} where partner_id = ${partnerId} and id = ${id}`,
  )
  return { ...row, leaseId }
}
const failure = { errorKey: 'BankRejection', details: 'The bank says no.' } as const

test('a payout that ends before its settlement is subtracted from the period in which it was counted', async () => {
  const partner = await addPartner(service, 100_000n)
  const { partnerId } = partner
  await setLimit(partner, 'partner', 'day', 100_00n)
  await setLimit(partner, 'customer', 'month', 100_00n)
  const made = []
  for (const amount of ['1.00', '2.00', '4.00', '8.00', '16.00'])
    made.push((await pay(service, partner, amount)).payout)
  const [cancelled, refused, rejected, returned, settled] = made.map((payout) => present(payout, 'made'))
  assert.ok(cancelled && refused && rejected && returned && settled)
  const later = await createTestService({ url: service.url, now: new Date('2026-04-02T00:00:00Z') })
  await later.payouts.cancel(partnerId, cancelled.id)
  assert.equal((await usedOf(partnerId))[0]?.used, 30_00n)
  const begun = present(await later.payoutLife.begin(await leased(partnerId, refused.id)), 'begun')
  await later.payoutLife.answered(begun, { accepted: false, ...failure, reasonCode: null })
  assert.equal((await usedOf(partnerId))[0]?.used, 28_00n)
  for (const { id } of [rejected, returned, settled]) {
    const claim = present(await later.payoutLife.begin(await leased(partnerId, id)), 'begun')
    await later.payoutLife.answered(claim, { accepted: true })
  }
  const reporting = (payout: typeof settled) => ({
    partnerId,
    instructionId: instructionIdOf(payout),
    report: { connector: 'sandbox', notificationId: newId() },
  })
  await Promise.all([
    later.payoutLife.rejected(reporting(rejected), failure),
    later.payoutLife.returned(reporting(returned), failure),
    later.payoutLife.settled(reporting(settled)),
  ])
  assert.equal((await usedOf(partnerId))[0]?.used, 16_00n)
  await later.payoutLife.returned(reporting(settled), failure)
  assert.deepEqual(await usedOf(partnerId), [
    { scope: 'customer', period: 'month', startsOn: '2026-03-01', used: 16_00n },
    { scope: 'partner', period: 'day', startsOn: '2026-03-31', used: 16_00n },
  ])
  await later.close()
})

test('concurrent payouts and cancellations leave the counter at the reserved amount', async () => {
  const partner = await addPartner(service, 1_000_000n)
  const { partnerId } = partner
  await setLimit(partner, 'partner', 'day', 100_00n)
  const first = await Promise.all(Array.from({ length: 10 }, () => pay(service, partner, '10.00')))
  await Promise.all([
    ...first.map(({ payout }, index) => (index % 2 === 0 ? service : other).payouts.cancel(partnerId, payout.id)),
    ...Array.from({ length: 20 }, (_, index) => outcomeCode(pay(index % 2 === 0 ? service : other, partner, '10.00'))),
  ])
  const { reserved } = await balanceOf(service, partnerId)
  assert.deepEqual(
    (await usedOf(partnerId)).map(({ used }) => used),
    [reserved],
  )
  assert.ok(reserved <= 100_00n)
})

test('a limit can be set, changed and removed, and a balance without limits is not controlled', async () => {
  const partner = await addPartner(service, 100_000n)
  const { partnerId } = partner
  const first = await setLimit(partner, 'partner', 'day', 10_00n)
  assert.equal((await setLimit(partner, 'partner', 'day', 20_00n)).id, first.id)
  const second = await setLimit(partner, 'partner', 'month', 20_00n)
  const listed = await service.payoutControls.limits.list(service.db, partnerId)
  assert.deepEqual(
    listed.map(({ id, amount }) => [id, amount]),
    [first, second].map(({ id }) => [id, 20_00n]),
  )
  const remove = (id: string) => service.db.transaction((tx) => service.payoutControls.limits.remove(tx, partnerId, id))
  await remove(first.id)
  assert.equal(await outcomeCode(pay(service, partner, '20.01')), 'limit_exceeded')
  await remove(second.id)
  assert.equal(await outcomeCode(pay(service, partner, '20.01')), 'done')
  await assert.rejects(remove(second.id), { code: 'not_found' })
  const stranger = await addPartner(service)
  const foreign = { scopeRef: stranger.customer.id }
  await assert.rejects(setLimit(partner, 'customer', 'day', 1n, foreign), { code: 'not_found' })
  await assert.rejects(setLimit(partner, 'beneficiary', 'day', 1n, { scopeRef: stranger.beneficiary.id }), {
    code: 'not_found',
  })
})

test('payouts of a partner without rules send no SQL statement for them, and those of a partner with limits a few', async () => {
  const texts: string[] = []
  const note = (statement: Sql) => void texts.push(/\/\* ([\w.-]+) \*\//.exec(statement.parts[0] ?? '')?.[1] ?? '')
  const noting = (tx: Tx): Tx => ({
    ...tx,
    rows: (statement) => (note(statement), tx.rows(statement)),
    row: (statement) => (note(statement), tx.row(statement)),
    run: (statement) => (note(statement), tx.run(statement)),
    later: (statement, rowsExpected) => (note(statement), tx.later(statement, rowsExpected)),
  })
  const watched = await createTestService({
    url: service.url,
    now: service.clock.now(),
    wrapDatabase: (db) => ({
      ...db,
      transaction: (work, options = {}) => {
        const { before: reading, ...rest } = options
        return db.transaction((tx, read) => work(noting(tx), read), {
          ...rest,
          ...(reading ? { before: (tx: Tx) => reading(noting(tx)) } : {}),
        })
      },
    }),
  })
  const ofControls = () => texts.splice(0).filter((name) => /limit|counter|fee|control|rates/i.test(name))
  const partner = await addPartner(watched, 100_000n)
  const { payout } = await pay(watched, partner, '1.00')
  await watched.payouts.cancel(partner.partnerId, payout.id)
  assert.ok(texts.includes('payouts.insertPayouts'))
  assert.deepEqual(ofControls(), [])
  await setLimit(partner, 'partner', 'day', 10_00n)
  await pay(watched, partner, '1.00')
  assert.deepEqual(ofControls(), [
    'payout-controls.limitsFor',
    'payout-controls.readOwnLimits',
    'payout-controls.readFeeRules',
    'payout-controls.readControlRules',
    'payout-controls.readCounters',
    'payout-controls.addToCounters',
  ])
  await pay(watched, partner, '1.00')
  assert.deepEqual(
    ofControls(),
    ['payout-controls.readCounters', 'payout-controls.addToCounters'],
    'it keeps the rules that it has read',
  )
  await setLimit(partner, 'partner', 'payment', 10_00n, { allCurrencies: true })
  texts.splice(0)
  await pay(watched, partner, '1.00')
  await pay(watched, partner, '1.00')
  assert.deepEqual(ofControls().slice(-3), [
    'payout-controls.readCounters',
    'rates.newestSheet',
    'payout-controls.addToCounters',
  ])
  await watched.close()
})

test('a rule that one process changes applies to the next payout of every process', async () => {
  const partner = await addPartner(service, 100_000n)
  const limit = await setLimit(partner, 'partner', 'payment', 5_00n)
  assert.equal(await outcomeCode(pay(other, partner, '6.00')), 'limit_exceeded')
  await setLimit(partner, 'partner', 'payment', 7_00n)
  assert.equal(await outcomeCode(pay(other, partner, '6.00')), 'done')
  await setLimit(partner, 'beneficiary', 'day', 8_00n)
  assert.equal(await outcomeCode(pay(other, partner, '6.00')), 'done', 'it counts from when it was set')
  assert.equal(await outcomeCode(pay(other, partner, '6.00')), 'limit_exceeded')
  await service.db.transaction((tx) => service.payoutControls.limits.remove(tx, partner.partnerId, limit.id))
  assert.equal(await outcomeCode(pay(other, partner, '7.01')), 'limit_exceeded', 'the limit of the day is left')
  assert.equal(await outcomeCode(pay(other, partner, '2.00')), 'done')
})

test('limits apply even if a partner has more of them than a process caches', async () => {
  const partner = await addPartner(service, 100_000n)
  await setLimit(partner, 'beneficiary', 'day', 9_00n)
  await service.db.run(sql`
    insert into payouts.limits (partner_id, id, scope, scope_id, currency, period, amount, created_at, updated_at)
    select ${partner.partnerId}, gen_random_uuid(), 'beneficiary', gen_random_uuid(), 'EUR', 'day', 1, now(), now()
    from generate_series(1, 150)`)
  await setLimit(partner, 'beneficiary', 'payment', 4_00n, { scopeRef: partner.beneficiary.id })
  assert.equal(await outcomeCode(pay(service, partner, '4.01')), 'limit_exceeded')
  for (const expected of ['done', 'done', 'limit_exceeded'])
    assert.equal(await outcomeCode(pay(service, partner, '4.00')), expected, 'the limit of each one counts it too')
})

test('a batch that read its counters before another process filled the limit runs again and is refused', async () => {
  const partner = await addPartner(service, 100_000n)
  await setLimit(partner, 'partner', 'day', 10_00n)
  // Both processes have the rules, and read counters that cover each of these alone.
  await Promise.all([pay(service, partner, '0.50'), pay(other, partner, '0.50')])
  const outcomes = await Promise.all([service, other].map((each) => outcomeCode(pay(each, partner, '6.00'))))
  assert.deepEqual(outcomes.toSorted(), ['done', 'limit_exceeded'])
  const [counter] = await usedOf(partner.partnerId)
  assert.equal(counter?.used, 7_00n)
})
