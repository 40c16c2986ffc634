/** Fees: what they are, and how they are booked with their payout on a real ledger. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { checkLedger } from '../../../../test/model/ledger-audit.ts'
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
import { addTrader, quote } from '../../../../test/support/fx.ts'
import { Refusal } from '../../kernel/api/index.ts'
import { dayMs, newId } from '../../kernel/index.ts'
import { processBankNotifications, submitDuePayouts } from '../../banks/settlement/index.ts'
import { type FeeRule, feeOf } from './fee-rules.ts'
import { instructionIdOf } from '../index.ts'
import { payoutsRoutes } from '../routes.ts'

let service: Service
before(async () => {
  service = await createTestService()
})
after(() => service.close())

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
  feeOf(rules, { partnerId: 'partner', currency: 'EUR', rail: 'Sepa', amount }, now)

test('a fee is a fixed part and a share that is rounded up, within its bounds', () => {
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

test('the newest rule of the rail that holds counts, before those of any rail', () => {
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

test('a fee is reserved and posted with its payout, and the documented answer does not change', async () => {
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

test('a payout that is cancelled costs nothing, and one that comes back after its settlement keeps its fee', async () => {
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

test('a payout by quote has the fee of the balance that pays, besides that of its quote', async () => {
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

test('a rule holds from its time on, is replaced and removed, and other partners do not have it', async () => {
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
