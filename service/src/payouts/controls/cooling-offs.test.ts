/** Cooling-off, fees, and controls that partners read. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, suite, test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import {
  addPartner,
  balanceOf,
  createTestService,
  ip,
  pay,
  type Service,
  stepMsDefault,
  type TestPartner,
} from '../../../../test/support/composition.ts'
import { Refusal } from '../../kernel/api/index.ts'
import { dayMs, hourMs, newId } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import { checkLedger } from '../../../../test/model/ledger-audit.ts'
import { addTrader, quote } from '../../../../test/support/fx.ts'
import { useModules } from '../../../../test/support/fixture.ts'
import { outcomeCode, refusalOf } from '../../../../test/support/refusals.ts'
import { processBankNotifications, submitDuePayouts } from '../../banks/settlement/index.ts'
import { payoutFee, type FeeRule } from './rules.ts'
import { instructionIdOf } from '../index.ts'
import { payoutsRoutes } from '../routes.ts'
import type { NewFeeRule, NewLimit } from './service.ts'

suite('cooling-off', async () => {
  const service = await useModules()
  // As another process.
  const other = await service.anotherProcess()

  const setHours = ({ partnerId }: TestPartner, hours: number, currency: 'EUR' | 'USD' = 'EUR') =>
    service.db.transaction((tx) => service.payoutControls.coolingOffs.set(tx, { partnerId, currency, hours }))
  const advance = (ms: number) => {
    service.clock.advance(ms)
    other.clock.advance(ms)
  }
  const timeAfter = (ms: number) => new Date(service.clock.now().getTime() + ms).toISOString()
  const rename = ({ partnerId, beneficiary }: TestPartner, name: string) =>
    service.beneficiaries.update(partnerId, { id: beneficiary.id, name })

  test('a payout to a new beneficiary is refused until the time that the refusal states', async () => {
    const partner = await addPartner(service, 100_00n)
    await setHours(partner, 24)
    const from = timeAfter(24 * hourMs)
    const idempotencyKey = newId()
    const refusal = await refusalOf(pay(service, partner, '1.00', { idempotencyKey }))
    assert.equal(refusal.code, 'beneficiary_cooling_off')
    assert.match(refusal.detail, new RegExp(`It can be paid from ${from}\\.$`))
    assert.deepEqual(refusal.errors, [
      { pointer: '/beneficiaryId', code: 'invalid_value', message: `can be paid from ${from}` },
    ])
    assert.equal((await balanceOf(service, partner.partnerId)).reserved, 0n)
    advance(24 * hourMs - 1)
    assert.equal(await outcomeCode(pay(other, partner, '1.00', { idempotencyKey })), 'beneficiary_cooling_off')
    advance(1)
    assert.equal(await outcomeCode(pay(service, partner, '1.00', { idempotencyKey })), 'done')
  })

  test('a new name restarts the cooling-off, but a new alias or the same name does not', async () => {
    const partner = await addPartner(service, 100_00n)
    const { partnerId, beneficiary } = partner
    await setHours(partner, 2)
    advance(2 * hourMs)
    await service.beneficiaries.update(partnerId, { id: beneficiary.id, alias: 'grace' })
    await rename(partner, beneficiary.name)
    assert.equal(await outcomeCode(pay(service, partner, '1.00')), 'done')
    await rename(partner, 'Mallory')
    assert.match((await refusalOf(pay(service, partner, '1.00'))).detail, new RegExp(timeAfter(2 * hourMs)))
    advance(hourMs)
    await rename(partner, beneficiary.name)
    advance(hourMs)
    assert.equal(await outcomeCode(pay(service, partner, '1.00')), 'beneficiary_cooling_off')
    advance(hourMs)
    assert.equal(await outcomeCode(pay(service, partner, '1.00')), 'done')
  })

  test('a cooling-off rule applies to one partner and currency, and its change or removal takes effect at once', async () => {
    const [partner, stranger] = [await addPartner(service, 100_00n), await addPartner(service, 100_00n)]
    const { partnerId } = partner
    const balances = () =>
      service.db.rows(sql`select currency, controlled from ledger.accounts
      where partner_id = ${partnerId} and name = 'balance' order by currency`)
    const dollars = await setHours(partner, 5, 'USD')
    assert.equal(await outcomeCode(pay(service, partner, '1.00')), 'done')
    const rule = await setHours(partner, 5)
    assert.equal(await outcomeCode(pay(service, partner, '1.00')), 'beneficiary_cooling_off')
    assert.equal(await outcomeCode(pay(service, stranger, '1.00')), 'done')
    assert.equal((await setHours(partner, 1)).id, rule.id)
    advance(hourMs)
    assert.equal(await outcomeCode(pay(service, partner, '1.00')), 'done')
    const { coolingOffs } = service.payoutControls
    assert.deepEqual(await coolingOffs.list(service.db, partnerId), [{ ...rule, hours: 1 }, dollars])
    const remove = (id: string) => service.db.transaction((tx) => coolingOffs.remove(tx, partnerId, id))
    await remove(rule.id)
    assert.equal((await refusalOf(remove(rule.id))).code, 'not_found')
    assert.equal(
      (await refusalOf(service.db.transaction((tx) => coolingOffs.remove(tx, stranger.partnerId, dollars.id)))).code,
      'not_found',
    )
    assert.deepEqual(await balances(), [
      { currency: 'EUR', controlled: false },
      { currency: 'USD', controlled: true },
    ])
  })

  test('the preview has a cooling-off verdict, and still has those of the other rules', async () => {
    const partner = await addPartner(service, 1_00n)
    await setHours(partner, 3)
    const verdicts = async () => {
      const body = { amount: rawNumber('1.00'), currency: 'EUR', beneficiaryId: partner.beneficiary.id }
      const preview = await service.payouts.preview(partner.caller, body, ip)
      return Object.fromEntries(preview.verdicts.map((verdict) => [verdict.rule, verdict]))
    }
    const young = await verdicts()
    assert.deepEqual(young.coolingOff, {
      rule: 'coolingOff',
      verdict: 'failed',
      code: 'beneficiary_cooling_off',
      detail: `can be paid from ${timeAfter(3 * hourMs)}`,
      hold: { kind: 'coolingOff', by: new Date(timeAfter(3 * hourMs)) },
    })
    assert.equal(young.funds?.verdict, 'passed')
    advance(3 * hourMs)
    assert.deepEqual((await verdicts()).coolingOff, { rule: 'coolingOff', verdict: 'passed' })
  })

  test('a refused payout does not count towards a limit and does not affect other payouts in its batch', async () => {
    const partner = await addPartner(service, 100_00n)
    const { partnerId } = partner
    await setHours(partner, 1)
    advance(hourMs)
    const young = await service.beneficiaries.create(partnerId, {
      name: 'Hedy Lamarr',
      iban: 'NL91ABNA0417164300',
      currency: 'EUR',
    })
    await service.db.transaction((tx) =>
      service.payoutControls.limits.set(tx, {
        partnerId,
        scope: 'partner',
        period: 'day',
        amount: 10_00n,
        currency: 'EUR',
      }),
    )
    const outcomes = await Promise.all([
      outcomeCode(pay(service, partner, '10.00', { beneficiaryId: young.id })),
      outcomeCode(pay(service, partner, '10.00')),
    ])
    assert.deepEqual(outcomes, ['beneficiary_cooling_off', 'done'])
  })

  test('an all-or-nothing bulk marks the item with the new beneficiary as refused, and creates no payout', async () => {
    const partner = await addPartner(service, 100_00n)
    const { partnerId, caller } = partner
    await setHours(partner, 1)
    advance(hourMs)
    await rename(partner, 'Mallory')
    const item = (beneficiaryId: string) => ({
      amount: rawNumber('1.00'),
      currency: 'EUR',
      beneficiaryId,
      idempotencyKey: newId(),
    })
    const payouts = [item(partner.ownBeneficiary.id), item(partner.beneficiary.id)]
    const body = { mode: 'AllOrNothing' as const, idempotencyKey: newId(), payouts }
    const { bulk } = await service.bulkPayouts.create(caller, body, ip)
    while ((await service.bulkPayouts.step()) > 0);
    const items = await service.bulkPayouts.items(partnerId, bulk.id, undefined)
    assert.deepEqual(
      items.map(({ status, problemCode }) => [status, problemCode]),
      [
        ['NotMade', null],
        ['Refused', 'beneficiary_cooling_off'],
      ],
    )
    assert.equal((await balanceOf(service, partnerId)).reserved, 0n)
  })

  test('a cooling-off does not apply to a simulated withdrawal, which has no beneficiary', async () => {
    const partner = await addPartner(service, 100_00n)
    await setHours(partner, 24)
    const request = { customerRef: partner.customer.id, amount: 100n, currency: 'EUR', outcome: 'sent' } as const
    assert.equal(
      await outcomeCode(service.payouts.simulate(partner.caller, { ...request, idempotencyKey: null }, ip)),
      'done',
    )
  })

  test('payouts of two processes during a change of name are accepted with the old name or refused', async () => {
    const partner = await addPartner(service, 100_00n)
    const { partnerId, beneficiary } = partner
    await setHours(partner, 1)
    advance(hourMs)
    const paying = Array.from({ length: 20 }, (_, index) =>
      outcomeCode(pay(index % 2 === 0 ? service : other, partner, '1.00')),
    )
    const [outcomes] = await Promise.all([Promise.all(paying), rename(partner, 'Mallory')])
    const later = await outcomeCode(pay(other, partner, '1.00'))
    assert.equal(later, 'beneficiary_cooling_off')
    const names = await service.db.rows<{ name: string }>(sql`
    select creditor_name as name from payouts.payouts where partner_id = ${partnerId}`)
    assert.deepEqual(new Set(names.map(({ name }) => name)), new Set(names.length === 0 ? [] : [beneficiary.name]))
    assert.equal(names.length, outcomes.filter((outcome) => outcome === 'done').length)
    assert.ok(outcomes.every((outcome) => ['done', 'beneficiary_cooling_off'].includes(outcome)))
  })
})

suite('fees', async () => {
  const service = await useModules()

  const ruleOf = (fields: Partial<FeeRule> = {}): FeeRule => ({
    partnerId: 'partner',
    id: newId(),
    currency: 'EUR',
    rail: 'any',
    fixedAmount: 0n,
    basisPoints: 0,
    minAmount: 0n,
    maxAmount: null,
    validFrom: new Date('2026-01-01T00:00:00Z'),
    ...fields,
  })
  const noon = new Date('2026-01-01T12:00:00Z')
  const charge = (rules: readonly FeeRule[], amount = 100_00n, now = noon) =>
    payoutFee(rules, { partnerId: 'partner', currency: 'EUR', rail: 'Sepa', amount }, now)

  test('a fee is a fixed part plus a share that is rounded up, within the bounds of the rule', () => {
    assert.equal(charge([ruleOf({ fixedAmount: 20n, basisPoints: 25 })]), 45n)
    assert.equal(charge([ruleOf({ basisPoints: 1 })], 1n), 1n)
    assert.equal(charge([ruleOf({ basisPoints: 1 })], 10_000n), 1n)
    assert.equal(charge([ruleOf({ basisPoints: 1 })], 10_001n), 2n)
    const bounded = ruleOf({ basisPoints: 100, minAmount: 50n, maxAmount: 75n })
    assert.deepEqual(
      [1_00n, 60_00n, 100_00n].map((amount) => charge([bounded], amount)),
      [50n, 60n, 75n],
    )
  })

  test('the newest current rule of the rail applies before rules for any rail', () => {
    const any = ruleOf({ fixedAmount: 1n, validFrom: new Date('2026-01-01T10:00:00Z') })
    const sepa = ruleOf({ fixedAmount: 2n, rail: 'Sepa' })
    const newer = ruleOf({ fixedAmount: 3n, rail: 'Sepa', validFrom: noon })
    const later = ruleOf({ fixedAmount: 4n, rail: 'Sepa', validFrom: new Date('2026-01-01T12:00:00.001Z') })
    const others = [
      ruleOf({ fixedAmount: 5n, rail: 'Swift' }),
      ruleOf({ fixedAmount: 6n, currency: 'USD' }),
      ruleOf({ fixedAmount: 7n, partnerId: 'other' }),
    ]
    assert.equal(charge([later, newer, sepa, any, ...others]), 3n)
    assert.equal(charge([any, sepa, later]), 2n)
    assert.equal(charge([later, any]), 1n)
    assert.equal(charge([later, ...others]), 0n)
    assert.equal(charge([]), 0n)
  })

  const setFee = ({ partnerId }: TestPartner, fields: Partial<FeeRule>) =>
    service.db.transaction((tx) => service.payoutControls.fees.set(tx, { ...ruleOf(fields), partnerId }))

  const feesOf = async (partnerId: string, currency = 'EUR') =>
    (await checkLedger(service.db, partnerId)).find(({ name, currency: code }) => name === 'fees' && code === currency)
      ?.posted ?? 0n

  async function settle(steps = 3): Promise<void> {
    await submitDuePayouts(service.settlement)
    for (let step = 0; step < steps; step += 1) {
      service.clock.advance(stepMsDefault)
      await processBankNotifications(service.settlement)
    }
  }

  test('a fee is reserved and posted with its payout, and is not included in the amount of the payout', async () => {
    const partner = await addPartner(service, 100_00n)
    const { partnerId, caller } = partner
    await setFee(partner, { fixedAmount: 50n })
    const { payout } = await pay(service, partner, '10.00')
    assert.deepEqual([payout.amount, payout.feeAmount], [10_00n, 50n])
    assert.deepEqual(await balanceOf(service, partnerId), { posted: 100_00n, reserved: 10_50n, available: 89_50n })
    const routes = payoutsRoutes(service.payouts)
    const call = { caller, query: undefined, body: undefined, requestId: newId(), ip }
    const { body } = await routes.getPayout({ ...call, params: { id: payout.id } })
    assert.equal(JSON.stringify(body.fee), '0.50')
    await settle()
    assert.equal((await service.payouts.get(partnerId, payout.id)).status, 'Completed')
    assert.deepEqual(await balanceOf(service, partnerId), { posted: 89_50n, reserved: 0n, available: 89_50n })
    assert.equal(await feesOf(partnerId), 50n)
    const { row } = await service.transactions.get(partnerId, payout.reference)
    assert.equal(row.amount, 10_00n)
  })

  test('a cancelled payout has no fee, and a payout that is returned after its settlement keeps its fee', async () => {
    const partner = await addPartner(service, 100_00n)
    const { partnerId } = partner
    await setFee(partner, { basisPoints: 100 })
    const { payout: cancelled } = await pay(service, partner, '20.00')
    await service.payouts.cancel(partnerId, cancelled.id)
    assert.deepEqual(await balanceOf(service, partnerId), { posted: 100_00n, reserved: 0n, available: 100_00n })
    const { payout } = await pay(service, partner, '20.00')
    await settle()
    const report = { connector: 'sandbox', notificationId: newId() }
    const failure = { errorKey: 'InvalidAccountDetails', details: 'The account is closed.' } as const
    await service.payoutLife.returned({ partnerId, instructionId: instructionIdOf(payout), report }, failure)
    assert.equal((await service.payouts.get(partnerId, payout.id)).status, 'Returned')
    assert.deepEqual(await balanceOf(service, partnerId), { posted: 99_80n, reserved: 0n, available: 99_80n })
    assert.equal(await feesOf(partnerId), 20n)
  })

  test('the balance must cover amount and fee, also for concurrent payouts', async () => {
    const partner = await addPartner(service, 31_49n)
    const { partnerId } = partner
    await setFee(partner, { fixedAmount: 50n })
    const outcomes = await Promise.allSettled(Array.from({ length: 6 }, () => pay(service, partner, '10.00')))
    const refused = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as unknown] : []))
    assert.equal(refused.length, 4)
    for (const error of refused) {
      assert.ok(error instanceof Refusal)
      assert.deepEqual(
        [error.code, error.detail],
        [
          'insufficient_funds',
          'The available EUR balance is smaller than the amount and its fee of 0.50 EUR. 10.49 EUR is available.',
        ],
      )
    }
    assert.equal((await balanceOf(service, partnerId)).reserved, 21_00n)
    await checkLedger(service.db, partnerId)
  })

  test('a payout by quote is charged the fee of the debited balance and the fee of its quote', async () => {
    await service.rates.setByHand({ pair: { base: 'EUR', quote: 'USD', rate: { digits: 125n, scale: 2 } } })
    const trader = await addTrader(service)
    const { partnerId, customer, caller } = trader
    await setFee(trader, { fixedAmount: 50n, currency: 'USD' })
    await setFee(trader, { fixedAmount: 70n, currency: 'EUR', rail: 'Swift' })
    const input = { name: 'Grace Hopper', iban: 'DE89370400440532013000', currency: 'USD', customerId: customer.id }
    const { id: beneficiaryId } = await service.beneficiaries.create(partnerId, input)
    const { row } = await quote(service, trader)
    const { payout } = await service.payouts.createFx(
      caller,
      { quoteId: row.id, beneficiaryId, idempotencyKey: newId() },
      ip,
    )
    assert.equal(payout.feeAmount, 70n)
    assert.equal((await balanceOf(service, partnerId)).reserved, row.sellAmount + 70n)
    await settle()
    assert.equal((await service.payouts.get(partnerId, payout.id)).status, 'Completed')
    assert.equal(await feesOf(partnerId), row.feeAmount + 70n)
    assert.equal(await feesOf(partnerId, 'USD'), 0n)
  })

  test('a fee rule applies from its start until it is replaced or removed, and to one partner only', async () => {
    const partner = await addPartner(service, 100_00n)
    const { partnerId } = partner
    const from = new Date(service.clock.now().getTime() + dayMs)
    const first = await setFee(partner, { fixedAmount: 10n, validFrom: from })
    assert.equal((await pay(service, partner, '1.00')).payout.feeAmount, null)
    service.clock.advance(dayMs)
    assert.equal((await pay(service, partner, '1.00')).payout.feeAmount, 10n)
    assert.equal((await setFee(partner, { fixedAmount: 30n, validFrom: from })).id, first.id)
    const { payout } = await pay(service, partner, '1.00')
    assert.equal(payout.feeAmount, 30n)
    assert.deepEqual(
      (await service.payoutControls.fees.list(service.db, partnerId)).map(({ id, fixedAmount }) => [id, fixedAmount]),
      [[first.id, 30n]],
    )
    const remove = (id: string, of = partnerId) =>
      service.db.transaction((tx) => service.payoutControls.fees.remove(tx, of, id))
    const other = await addPartner(service, 100_00n)
    await assert.rejects(remove(first.id, other.partnerId), { code: 'not_found' })
    assert.equal((await pay(service, other, '1.00')).payout.feeAmount, null)
    await remove(first.id)
    assert.equal((await pay(service, partner, '1.00')).payout.feeAmount, null)
    assert.equal((await service.payouts.get(partnerId, payout.id)).feeAmount, 30n)
  })
})

suite('controls that partners read', () => {
  let service: Service
  let partner: TestPartner
  beforeEach(async () => {
    service = await createTestService({ now: new Date('2026-01-31T10:00:00Z') })
    partner = await addPartner(service, 1_000_00n)
  })
  afterEach(() => service.close())

  const setLimit = (limit: Omit<NewLimit, 'partnerId' | 'currency'>, { partnerId }: TestPartner = partner) =>
    service.db.transaction((tx) => service.payoutControls.limits.set(tx, { partnerId, currency: 'EUR', ...limit }))
  const limits = async (
    query: Parameters<Service['payoutControls']['currentLimits']>[1] = {},
    by: TestPartner = partner,
  ) =>
    (await service.payoutControls.currentLimits(by.partnerId, query)).data
      .map(({ scope, period, holder, now }) => [`${scope}.${period}`, holder, now?.used, now?.left])
      .toReversed()
  const notFound = (pointer: string) => (error: unknown) => {
    assert.ok(error instanceof Refusal, String(error))
    assert.deepEqual([error.code, error.errors[0]?.pointer], ['not_found', pointer])
    return true
  }

  test('each limit shows the used and remaining amount, and a new period begins at zero', async () => {
    const { customer, beneficiary } = partner
    await setLimit({ scope: 'partner', period: 'day', amount: 50_00n })
    await setLimit({ scope: 'partner', period: 'month', amount: 100_00n })
    await setLimit({ scope: 'customer', period: 'payment', amount: 30_00n })
    await setLimit({ scope: 'customer', scopeRef: customer.serviceId, period: 'day', amount: 40_00n })
    await setLimit({ scope: 'beneficiary', scopeRef: beneficiary.id, period: 'day', amount: 15_00n })
    await pay(service, partner, '10.00')
    assert.deepEqual(await limits(), [
      ['partner.day', null, 10_00n, 40_00n],
      ['partner.month', null, 10_00n, 90_00n],
      ['customer.payment', null, undefined, undefined],
      ['customer.day', customer.id, 10_00n, 30_00n],
      ['beneficiary.day', beneficiary.id, 10_00n, 5_00n],
    ])
    // A limit below what is used leaves nothing.
    await setLimit({ scope: 'partner', period: 'day', amount: 8_00n })
    assert.deepEqual((await limits({ scope: 'partner' }))[0], ['partner.day', null, 10_00n, 0n])
    const [month, day] = (await service.payoutControls.currentLimits(partner.partnerId, { scope: 'partner' })).data
    assert.deepEqual([day?.now?.startsOn, day?.now?.resetsAt.toISOString()], ['2026-01-31', '2026-02-01T00:00:00.000Z'])
    assert.deepEqual(
      [month?.now?.startsOn, month?.now?.resetsAt.toISOString()],
      ['2026-01-01', '2026-02-01T00:00:00.000Z'],
    )
    service.clock.advance(dayMs)
    assert.deepEqual(await limits({ scope: 'partner' }), [
      ['partner.day', null, 0n, 8_00n],
      ['partner.month', null, 0n, 100_00n],
    ])
  })

  test('a list by customer or beneficiary has the limits that apply to it, and its own limit replaces the general one', async () => {
    const { partnerId, customer, beneficiary } = partner
    const other = await service.customers.create(partnerId, { email: 'b@c.de' })
    await setLimit({ scope: 'customer', period: 'day', amount: 50_00n })
    await setLimit({ scope: 'customer', period: 'month', amount: 60_00n })
    await setLimit({ scope: 'customer', scopeRef: other.id, period: 'day', amount: 20_00n })
    await setLimit({ scope: 'beneficiary', period: 'day', amount: 30_00n })
    await setLimit({ scope: 'partner', period: 'day', amount: 70_00n })
    await pay(service, partner, '10.00')
    assert.deepEqual(await limits({ customerId: other.serviceId }), [
      ['customer.month', other.id, 0n, 60_00n],
      ['customer.day', other.id, 0n, 20_00n],
      ['partner.day', null, 10_00n, 60_00n],
    ])
    assert.deepEqual(await limits({ customerId: customer.id, beneficiaryId: beneficiary.id }), [
      ['customer.day', customer.id, 10_00n, 40_00n],
      ['customer.month', customer.id, 10_00n, 50_00n],
      ['beneficiary.day', beneficiary.id, 10_00n, 20_00n],
      ['partner.day', null, 10_00n, 60_00n],
    ])
    assert.deepEqual(await limits({ customerId: customer.id, scope: 'beneficiary' }), [])
    assert.deepEqual(await limits({ currency: 'GBP' }), [])
    assert.deepEqual(await limits({ scope: 'beneficiary' }), [['beneficiary.day', null, undefined, undefined]])
  })

  test('the limit for a state of verification applies to a customer until the state changes', async () => {
    const { partnerId, customer } = partner
    const incomplete = await service.customers.create(partnerId, { email: 'i@example.com' })
    await setLimit({ scope: 'customer', period: 'day', amount: 50_00n })
    await setLimit({ scope: 'customer', verificationState: 'Incomplete', period: 'day', amount: 20_00n })
    await setLimit({ scope: 'customer', verificationState: 'Invalid', period: 'payment', amount: 1_00n })
    await setLimit({ scope: 'customer', scopeRef: incomplete.id, period: 'day', amount: 30_00n })
    const ofState = () => limits({ customerId: customer.id })
    // Its own limit comes before that of the state, and that before the one of each customer.
    assert.deepEqual(await limits({ customerId: incomplete.id }), [['customer.day', incomplete.id, 0n, 30_00n]])
    assert.deepEqual(await ofState(), [['customer.day', customer.id, 0n, 20_00n]])
    await pay(service, partner, '15.00')
    await assert.rejects(pay(service, partner, '5.01'), { code: 'limit_exceeded' })
    assert.deepEqual(await ofState(), [['customer.day', customer.id, 15_00n, 5_00n]])
    await service.customers.update(partnerId, customer.id, {
      kyc: { dateOfBirth: '1990-12-10', addressLine1: '12 St James Square', city: 'London' },
    })
    // The same counter: the day's payments count on.
    assert.deepEqual(await ofState(), [['customer.day', customer.id, 15_00n, 35_00n]])
    await pay(service, partner, '35.00')
    await assert.rejects(pay(service, partner, '0.01'), { code: 'limit_exceeded' })
    assert.equal((await limits()).length, 4)
  })

  test('404 for a customer or beneficiary of another partner, whose limits are not shown either', async () => {
    const other = await addPartner(service)
    await setLimit({ scope: 'partner', period: 'day', amount: 1n }, other)
    assert.deepEqual(await limits(), [])
    await assert.rejects(limits({ customerId: other.customer.id }), notFound('/query/customerId'))
    await assert.rejects(limits({ beneficiaryId: other.beneficiary.id }), notFound('/query/beneficiaryId'))
  })

  test('the pages of the list together contain all limits', async () => {
    for (const [at, scope] of (['partner', 'customer', 'beneficiary'] as const).entries())
      for (const period of ['payment', 'day', 'month'] as const)
        await setLimit({ scope, period, amount: BigInt(at + 1) })
    const seen: string[] = []
    let cursor: string | undefined
    do {
      const query = { limit: '4', ...(cursor === undefined ? {} : { cursor }) }
      const page = await service.payoutControls.currentLimits(partner.partnerId, query)
      seen.push(...page.data.map(({ id }) => id))
      cursor = page.nextCursor ?? undefined
    } while (cursor !== undefined)
    assert.deepEqual([seen.length, new Set(seen).size], [9, 9])
  })

  test('the list of fees contains current and future fees, each with its end', async () => {
    const { partnerId } = partner
    const set = (rule: Partial<NewFeeRule>) =>
      service.db.transaction((tx) => {
        const base = {
          partnerId,
          currency: 'EUR',
          rail: 'any',
          fixedAmount: 20n,
          basisPoints: 0,
          minAmount: 0n,
        } as const
        return service.payoutControls.fees.set(tx, { ...base, maxAmount: null, ...rule })
      })
    const fees = async (query: Parameters<Service['payoutControls']['currentFees']>[1] = {}) =>
      (await service.payoutControls.currentFees(partnerId, query)).map(
        ({ rule: { currency, rail, fixedAmount }, ...rest }) => [
          ...[currency, rail, fixedAmount],
          ...[rest.isInForce, rest.validUntil?.toISOString()],
        ],
      )
    await set({})
    service.clock.advance(dayMs)
    await set({ fixedAmount: 30n })
    await set({ fixedAmount: 40n, validFrom: new Date('2026-03-01T00:00:00Z') })
    await set({ fixedAmount: 15n, rail: 'Sepa' })
    await set({ fixedAmount: 50n, currency: 'GBP' })
    const ofEuros = [
      ['EUR', 'Sepa', 15n, true, undefined],
      ['EUR', 'any', 30n, true, '2026-03-01T00:00:00.000Z'],
      ['EUR', 'any', 40n, false, undefined],
    ]
    assert.deepEqual(await fees(), [...ofEuros, ['GBP', 'any', 50n, true, undefined]])
    assert.deepEqual(await fees({ currency: 'EUR' }), ofEuros)
    assert.deepEqual(await service.payoutControls.currentFees((await addPartner(service)).partnerId, {}), [])
  })
})
