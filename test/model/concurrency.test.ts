/** Concurrent requests for one balance and one key: exactly as many are accepted as the balance allows, once each. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Refusal } from '../../service/src/kernel/api/index.ts'
import { newId } from '../../service/src/kernel/index.ts'
import { submitDuePayouts, processBankNotifications } from '../../service/src/banks/settlement/index.ts'
import {
  addPartner,
  balanceOf,
  createTestService,
  type Service,
  ip,
  pay,
  stepMsDefault,
} from '../support/composition.ts'
import { checkPayments } from './payments.ts'

let service: Service
before(async () => {
  service = await createTestService({ connectionsMax: 20 })
})
after(() => service.close())

const times = <T>(count: number, work: (index: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, index) => work(index)))

/** True when the request was accepted, false for insufficient funds. */
const accepted = (request: Promise<unknown>): Promise<boolean> =>
  request.then(
    () => true,
    (error: unknown) => {
      assert.ok(error instanceof Refusal && error.code === 'insufficient_funds', String(error))
      return false
    },
  )

test('of 50 concurrent payouts against a balance for 20 exactly 20 are accepted', async () => {
  const partner = await addPartner(service, 20_000n)
  const { partnerId } = partner
  const answers = await times(50, () => accepted(pay(service, partner, '10.00')))
  assert.equal(answers.filter(Boolean).length, 20)
  assert.deepEqual(await balanceOf(service, partnerId), { posted: 20_000n, reserved: 20_000n, available: 0n })
  await checkPayments(service.db, partnerId, new Map())
  assert.equal((await service.payouts.list(partnerId, { limit: '100' })).data.length, 20)
})

test('30 concurrent duplicates under one key: one payout, thirty equal answers', async () => {
  const partner = await addPartner(service, 100_000n)
  const request = { idempotencyKey: newId(), reference: 'INV-1' }
  const answers = await times(30, () => pay(service, partner, '10.00', request))
  assert.equal(answers.filter(({ replayed }) => !replayed).length, 1)
  for (const { payout } of answers) assert.deepEqual(payout, answers[0]?.payout)
  assert.equal((await balanceOf(service, partner.partnerId)).reserved, 1000n)
  await checkPayments(service.db, partner.partnerId, new Map())
})

test('concurrent different requests under one key: one is paid, the others are refused', async () => {
  const partner = await addPartner(service, 100_000n)
  const idempotencyKey = newId()
  const outcomes = await times(10, (index) =>
    pay(service, partner, `${index + 1}.00`, { idempotencyKey }).then(
      () => 'paid',
      (error: unknown) => (error instanceof Refusal ? error.code : String(error)),
    ),
  )
  const expected = ['paid', ...Array.from({ length: 9 }, () => 'idempotency_key_reused')]
  assert.deepEqual(outcomes.toSorted(), expected.toSorted())
  await checkPayments(service.db, partner.partnerId, new Map())
})

test('concurrent payouts that request one reference: each has its own transaction', async () => {
  const partner = await addPartner(service, 100_000n)
  const answers = await times(10, () => pay(service, partner, '1.00', { reference: 'RENT' }))
  const references = new Set(answers.map(({ payout }) => payout.reference))
  assert.equal(references.size, 10)
  assert.ok(references.has('RENT'))
  const views = await Promise.all([...references].map((one) => service.transactions.get(partner.partnerId, one)))
  const texts = views.map(({ row }) => row.userReference ?? row.reference)
  assert.deepEqual(new Set(texts), new Set(['RENT']), 'each transaction keeps the text of the partner')
})

test('a key refused for insufficient funds stays free: the same request passes once the balance covers it', async () => {
  const partner = await addPartner(service)
  const request = { idempotencyKey: newId() }
  assert.equal(await accepted(pay(service, partner, '10.00', request)), false)
  const money = { debit: 'settlement.sandbox' as const, currency: 'EUR', amount: 1000n } as const
  await service.db.transaction((tx) => service.deposits.creditPartner(tx, partner.partnerId, money))
  const { replayed } = await pay(service, partner, '10.00', request)
  assert.equal(replayed, false)
})

test('two partners may use the same key and the same reference', async () => {
  const [one, other] = [await addPartner(service, 10_000n), await addPartner(service, 10_000n)]
  const request = { idempotencyKey: newId(), reference: 'SHARED' }
  const answers = await times(12, (index) => pay(service, index % 2 ? other : one, '10.00', request))
  assert.equal(answers.filter(({ replayed }) => !replayed).length, 2)
  for (const { payout } of answers) assert.equal(payout.reference, 'SHARED')
  for (const { partnerId } of [one, other]) {
    assert.equal((await balanceOf(service, partnerId)).reserved, 1000n)
    await checkPayments(service.db, partnerId, new Map())
  }
})

test("another partner's beneficiary is not found, even while its owner pays it in the same batch", async () => {
  const [owner, other] = [await addPartner(service, 100_000n), await addPartner(service, 100_000n)]
  for (const { id: beneficiaryId } of [owner.beneficiary, owner.ownBeneficiary]) {
    const codes = await times(12, (index) =>
      pay(service, index % 2 ? other : owner, '1.00', { beneficiaryId }).then(
        () => 'paid',
        (error: unknown) => (error instanceof Refusal ? error.code : String(error)),
      ),
    )
    assert.deepEqual(
      codes,
      codes.map((_code, index) => (index % 2 ? 'not_found' : 'paid')),
    )
  }
  assert.deepEqual((await service.payouts.list(other.partnerId, {})).data, [])
  assert.equal((await balanceOf(service, other.partnerId)).reserved, 0n)
  for (const { partnerId } of [owner, other]) await checkPayments(service.db, partnerId, new Map())
})

test('twenty concurrent simulated deposits under one key are one deposit', async () => {
  const { partnerId, caller, customer } = await addPartner(service)
  const body = {
    customerId: customer.id,
    amount: 5,
    currency: 'EUR',
    outcome: 'completed',
    idempotencyKey: 'D',
  } as const
  const answers = await times(20, () => service.simulations.deposit(caller, body, ip))
  assert.equal(answers.filter(({ replayed }) => !replayed).length, 1)
  assert.equal(new Set(answers.map(({ reference }) => reference)).size, 1)
  service.clock.advance(4 * stepMsDefault)
  await Promise.all([
    processBankNotifications(service.settlement),
    processBankNotifications(service.settlement),
    processBankNotifications(service.settlement),
  ])
  assert.equal((await balanceOf(service, partnerId)).posted, 500n, 'credited once, by whichever worker')
  await checkPayments(service.db, partnerId, new Map())
})

test('concurrent workers send each payout to the bank once', async () => {
  const partner = await addPartner(service, 100_000n)
  await times(25, () => pay(service, partner, '1.00'))
  await times(5, () => submitDuePayouts(service.settlement))
  service.clock.advance(stepMsDefault)
  await times(5, () => processBankNotifications(service.settlement))
  await processBankNotifications(service.settlement)
  const { data } = await service.payouts.list(partner.partnerId, { status: 'Completed', limit: '100' })
  assert.equal(data.length, 25)
  assert.ok(data.every(({ sendAttempts }) => sendAttempts === 1))
  await checkPayments(service.db, partner.partnerId, new Map())
})
