import { createMayPay } from '../people/users/index.ts'
import { createAcceptances } from '../fx/index.ts'
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import {
  addPartner,
  balanceOf,
  createTestService,
  type Service,
  ip,
  pay,
  type TestPartner,
} from '../../../test/support/composition.ts'
import { Refusal } from '../kernel/api/index.ts'
import { newId } from '../kernel/index.ts'
import { createPayouts } from './index.ts'

let service: Service
let partner: TestPartner
before(async () => {
  service = await createTestService()
  partner = await addPartner(service, 1_000_000n)
})
after(() => service.close())

const body = (fields: object = {}) => ({
  amount: rawNumber('10.00'),
  currency: 'EUR',
  beneficiaryId: partner.beneficiary.id,
  idempotencyKey: newId(),
  ...fields,
})
const refusal = (code: string, pointer?: string) => (error: unknown) => {
  assert.ok(error instanceof Refusal, String(error))
  assert.equal(error.code, code)
  if (pointer !== undefined) assert.equal(error.errors[0]?.pointer, pointer)
  return true
}

test('an accepted payout reserves its money, copies its creditor and has a transaction under its reference', async () => {
  const { payout, replayed } = await service.payouts.create(partner.caller, body({ reference: 'Invoice 7' }), ip)
  assert.deepEqual([payout.status, payout.reference, replayed], ['Pending', 'Invoice 7', false])
  assert.deepEqual([payout.creditorName, payout.creditorAccount], ['Grace Hopper', partner.beneficiary.iban])
  assert.equal((await balanceOf(service, partner.partnerId)).reserved, 1000n)
  const { row, timeline } = await service.transactions.get(partner.partnerId, 'Invoice 7')
  assert.deepEqual([row.type, row.status, row.rail], ['PartnerCustomerWithdraw', 'Pending', 'Sepa'])
  assert.deepEqual(
    timeline.map(({ step }) => step),
    ['Created', 'Reserved'],
  )
})

test('a taken reference still reaches the beneficiary, and the transaction gets its own reference', async () => {
  await pay(service, partner, '1.00', { reference: 'Rent' })
  const { payout } = await pay(service, partner, '1.00', { reference: 'Rent' })
  assert.match(payout.reference, /^txn_/)
  assert.equal(payout.remittance, 'Rent')
  const both = [payout.reference, 'Rent']
  assert.equal((await service.transactions.get(partner.partnerId, payout.reference)).row.userReference, 'Rent')
  const { data } = await service.transactions.list(partner.partnerId, { userReference: 'Rent' })
  assert.deepEqual(
    data.map(({ row }) => row.reference),
    both,
  )
  const payouts = async (reference: string) =>
    (await service.payouts.list(partner.partnerId, { reference })).data.map((row) => row.reference)
  assert.deepEqual([await payouts('Rent'), await payouts(payout.reference)], [both, [payout.reference]])
})

test('each refusal names its field and writes nothing', async () => {
  const other = await addPartner(service, 1000n)
  const pounds = await service.beneficiaries.create(partner.partnerId, {
    name: 'Joan',
    iban: 'GB29NWBK60161331926819',
    currency: 'GBP',
  })
  const wallet = await service.beneficiaries.create(partner.partnerId, {
    name: 'Ada',
    walletAddress: '0x52908400098527886E0F7030069857D2E4169EE7',
    currency: 'USDC',
  })
  const balance = await balanceOf(service, partner.partnerId)
  const count = async () => (await service.transactions.list(partner.partnerId, { limit: '100' })).data.length
  const before = await count()
  const cases: readonly { readonly fields: object; readonly code: string; readonly pointer?: string }[] = [
    { fields: { amount: rawNumber('0.001') }, code: 'validation_failed', pointer: '/amount' },
    { fields: { amount: 0 }, code: 'validation_failed', pointer: '/amount' },
    { fields: { currency: 'XXX' }, code: 'validation_failed', pointer: '/currency' },
    { fields: { currency: 'JPY' }, code: 'currency_not_supported', pointer: '/currency' },
    { fields: { beneficiaryId: wallet.id, currency: 'USDC' }, code: 'currency_not_supported', pointer: '/currency' },
    { fields: { beneficiaryId: newId() }, code: 'not_found', pointer: '/beneficiaryId' },
    { fields: { beneficiaryId: other.beneficiary.id }, code: 'not_found', pointer: '/beneficiaryId' },
    { fields: { beneficiaryId: pounds.id }, code: 'beneficiary_currency_mismatch', pointer: '/currency' },
    { fields: { beneficiaryId: pounds.id, currency: 'GBP' }, code: 'insufficient_funds' },
    { fields: { amount: rawNumber('10000000') }, code: 'insufficient_funds' },
  ]
  for (const { fields, code, pointer } of cases)
    await assert.rejects(service.payouts.create(partner.caller, body(fields), ip), refusal(code, pointer), code)
  assert.deepEqual(await balanceOf(service, partner.partnerId), balance)
  assert.equal(await count(), before)
})

test('without a bank connector every payout is refused', async () => {
  const { db, clock, cursors, ledger, eventOutbox, customers, beneficiaries, transactions } = service
  const { screening, payoutLife: life, rates } = service
  const deps = {
    db,
    clock,
    screening,
    life,
    rates,
    cursors,
    ledger,
    eventOutbox,
    customers,
    beneficiaries,
    transactions,
  }
  const payouts = createPayouts({
    ...deps,
    access: service.access,
    mayPay: createMayPay(service.access, screening),
    quotes: createAcceptances(service),
    chooseConnector: () => undefined,
    ownIbans: service.accounts.ownIbans,
    proofsMissing: service.wallets.ownership.areMissing,
    forecastOf: () => undefined,
    waitMsOf: () => 0,
  })
  await assert.rejects(payouts.create(partner.caller, body(), ip), refusal('currency_not_supported'))
})

test('a key replays `100` for `100.00`, and any spelling of the beneficiary id', async () => {
  const { idempotencyKey, ...rest } = body({ amount: 100 })
  const first = await service.payouts.create(partner.caller, { ...rest, idempotencyKey }, ip)
  const again = {
    ...rest,
    idempotencyKey,
    amount: rawNumber('100.00'),
    beneficiaryId: rest.beneficiaryId.toUpperCase(),
  }
  const second = await service.payouts.create(partner.caller, again, ip)
  assert.deepEqual([second.payout.id, second.replayed], [first.payout.id, true])
})

test('a removed beneficiary gets no new payout, and an earlier key still replays', async () => {
  const account = { iban: 'DE89370400440532013000', currency: 'EUR' }
  const { id } = await service.beneficiaries.create(partner.partnerId, { ...account, name: 'Short' })
  const request = body({ beneficiaryId: id })
  const { payout } = await service.payouts.create(partner.caller, request, ip)
  await service.beneficiaries.remove(partner.partnerId, id)
  assert.equal((await service.payouts.create(partner.caller, request, ip)).payout.id, payout.id)
  await assert.rejects(service.payouts.create(partner.caller, body({ beneficiaryId: id }), ip), refusal('not_found'))
})

test("another partner's payout is not found", async () => {
  const { payout } = await pay(service, partner, '1.00')
  const other = await addPartner(service)
  await assert.rejects(service.payouts.get(other.partnerId, payout.id), refusal('not_found'))
  assert.deepEqual((await service.payouts.list(other.partnerId, {})).data, [])
})
