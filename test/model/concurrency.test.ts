/** Concurrent requests on one balance or one key: exactly as many are accepted as the balance allows, each once. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Refusal } from '../../service/src/kernel/api/index.ts'
import { newId } from '../../service/src/kernel/index.ts'
import { submitDuePayouts, processBankNotifications } from '../../service/src/banks/settlement/index.ts'
import { addPartner, balanceOf, ip, pay, stepMsDefault } from '../support/composition.ts'
import { checkPayments } from './payments.ts'
import { useModules } from '../support/fixture.ts'

const service = await useModules({ connectionsMax: 20 })

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

test('exactly 20 of 50 concurrent payouts are accepted if the balance covers 20', async () => {
  const partner = await addPartner(service, 20_000n)
  const { partnerId } = partner
  const answers = await times(50, () => accepted(pay(service, partner, '10.00')))
  assert.equal(answers.filter(Boolean).length, 20)
  assert.deepEqual(await balanceOf(service, partnerId), { posted: 20_000n, reserved: 20_000n, available: 0n })
  await checkPayments(service.db, partnerId, new Map())
  assert.equal((await service.payouts.list(partnerId, { limit: '100' })).data.length, 20)
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

test('twenty concurrent simulated deposits under one key create one deposit', async () => {
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

test('concurrent workers send each payout to the bank exactly once', async () => {
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
