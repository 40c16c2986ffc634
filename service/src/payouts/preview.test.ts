/** The preview: it says what create does, rule by rule, and writes nothing. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import { addPartner, createTestService, ip, pay, type Service } from '../../../test/support/composition.ts'
import { Refusal } from '../kernel/api/index.ts'
import { newId } from '../kernel/index.ts'
import { sql } from '../postgres/index.ts'
import { submitDuePayouts } from '../banks/settlement/index.ts'
import { instructionIdOf } from './rules.ts'
import type { TestPartner } from '../../../test/support/composition.ts'

let service: Service
before(async () => {
  service = await createTestService()
})
after(() => service.close())

type Fields = { readonly amount?: string; readonly [name: string]: unknown }
const bodyOf = (partner: TestPartner, { amount = '10.00', ...fields }: Fields = {}) => ({
  amount: rawNumber(amount),
  currency: 'EUR',
  beneficiaryId: partner.beneficiary.id,
  ...fields,
})
const previewOf = (partner: TestPartner, fields: Fields = {}) =>
  service.payouts.preview(partner.caller, bodyOf(partner, fields), ip)
const verdictsOf = async (partner: TestPartner, fields: Fields = {}) => {
  const { verdicts } = await previewOf(partner, fields)
  return Object.fromEntries(verdicts.map(({ rule, verdict, code }) => [rule, code ?? verdict]))
}
const passed = {
  idempotencyKey: 'notApplicable',
  currency: 'passed',
  connection: 'passed',
  beneficiary: 'passed',
  beneficiaryCurrency: 'passed',
  beneficiaryAccount: 'passed',
  beneficiaryBank: 'notApplicable',
  qrReference: 'notApplicable',
  requirements: 'passed',
  country: 'passed',
  customer: 'passed',
  account: 'passed',
  payer: 'notApplicable',
  walletOwnership: 'notApplicable',
  coolingOff: 'notApplicable',
  limits: 'notApplicable',
  approval: 'notApplicable',
  funds: 'passed',
  reach: 'passed',
  payeeCheck: 'notApplicable',
}

/** Everything that a payout could write, as one text. */
const stateOf = async (partnerId: string): Promise<string> =>
  JSON.stringify(
    await Promise.all([
      service.db.rows(sql`select * from ledger.accounts where partner_id = ${partnerId} order by id`),
      service.db.rows(sql`select id from ledger.transfers where partner_id = ${partnerId} order by id`),
      service.db.rows(sql`select id from payouts.payouts where partner_id = ${partnerId} order by id`),
      service.db.rows(sql`select id from transactions.transactions where partner_id = ${partnerId} order by id`),
      service.db.rows(sql`select * from payouts.limit_counters where partner_id = ${partnerId} order by scope, period`),
    ]),
    (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value),
  )

test('a payout that would be accepted passes every rule, with its rail, days and total', async () => {
  const partner = await addPartner(service, 10_00n)
  const { partnerId } = partner
  await service.db.transaction((tx) =>
    service.payoutControls.fees.set(tx, {
      partnerId,
      currency: 'EUR',
      rail: 'any',
      fixedAmount: 25n,
      basisPoints: 0,
      minAmount: 0n,
      maxAmount: null,
    }),
  )
  const before = await stateOf(partnerId)
  assert.deepEqual(await verdictsOf(partner, { amount: '9.75' }), passed)
  const { payout, forecast } = await previewOf(partner, { amount: '9.75' })
  assert.equal(payout?.fee, 25n)
  const now = service.clock.now()
  assert.deepEqual(forecast, {
    possible: true,
    method: 'SepaCreditTransfer',
    cutOffAt: null,
    submitsAt: now,
    valueDate: now.toISOString().slice(0, 10),
    arrivesOn: now.toISOString().slice(0, 10),
  })
  assert.deepEqual(await verdictsOf(partner, { amount: '9.76' }), { ...passed, funds: 'insufficient_funds' })
  assert.equal(await stateOf(partnerId), before)
})

test('each limit has its own verdict, by what is counted at the time', async () => {
  const partner = await addPartner(service, 1000_00n)
  const { partnerId } = partner
  const set = (scope: 'partner' | 'customer', period: 'payment' | 'day', amount: bigint) =>
    service.db.transaction((tx) =>
      service.payoutControls.limits.set(tx, { partnerId, scope, period, amount, currency: 'EUR' }),
    )
  await set('partner', 'day', 15_00n)
  await set('partner', 'payment', 12_00n)
  await set('customer', 'day', 100_00n)
  const { limits: _none, ...rest } = passed
  const ofLimits = { 'limit.partner.payment': 'passed', 'limit.partner.day': 'passed', 'limit.customer.day': 'passed' }
  assert.deepEqual(await verdictsOf(partner), { ...rest, ...ofLimits })
  await pay(service, partner, '10.00')
  const before = await stateOf(partnerId)
  assert.deepEqual(await verdictsOf(partner), { ...rest, ...ofLimits, 'limit.partner.day': 'limit_exceeded' })
  const { verdicts } = await previewOf(partner)
  assert.match(verdicts.find(({ verdict }) => verdict === 'failed')?.detail ?? '', /5\.00 EUR is left until 2026-01-02/)
  assert.equal(await stateOf(partnerId), before)
})

test('the first rule that fails is the refusal of create', async () => {
  const partner = await addPartner(service, 5_00n)
  const { partnerId, caller } = partner
  const pounds = await service.beneficiaries.create(partnerId, {
    name: 'Joan',
    iban: 'GB29NWBK60161331926819',
    currency: 'GBP',
  })
  const other = await addPartner(service)
  const idempotencyKey = newId()
  await pay(service, partner, '1.00', { idempotencyKey })
  const cases: readonly Fields[] = [
    { currency: 'USDC' },
    { beneficiaryId: newId() },
    { beneficiaryId: other.beneficiary.id },
    { beneficiaryId: pounds.id },
    { beneficiaryId: pounds.id, currency: 'GBP' },
    { amount: '4.01' },
    { idempotencyKey },
  ]
  for (const fields of cases) {
    const { verdicts } = await previewOf(partner, fields)
    const failed = verdicts.find(({ verdict }) => verdict === 'failed')
    const created = service.payouts.create(caller, { idempotencyKey: newId(), ...bodyOf(partner, fields) }, ip)
    await assert.rejects(created, (error) => {
      assert.ok(error instanceof Refusal)
      assert.equal(failed?.code, error.code, JSON.stringify(fields))
      return true
    })
  }
})

test('an amount or a currency that no payout may have is refused as at create', async () => {
  const partner = await addPartner(service)
  await assert.rejects(previewOf(partner, { amount: '0.001' }), { code: 'validation_failed' })
  await assert.rejects(previewOf(partner, { currency: 'JPY' }), { code: 'currency_not_supported' })
})

test('a key is free, or names the payout that the same request would repeat', async () => {
  const partner = await addPartner(service, 10_00n)
  const idempotencyKey = newId()
  assert.equal((await verdictsOf(partner, { idempotencyKey }))['idempotencyKey'], 'passed')
  const { payout } = await pay(service, partner, '10.00', { idempotencyKey })
  const { verdicts } = await previewOf(partner, { idempotencyKey })
  const [ofKey] = verdicts
  assert.deepEqual([ofKey?.rule, ofKey?.verdict], ['idempotencyKey', 'passed'])
  assert.match(ofKey?.detail ?? '', new RegExp(payout.reference))
})

test('the last result for the name and the account of the payee is told, refuses nothing, and is of this partner', async () => {
  const [partner, stranger] = [await addPartner(service, 1_000_00n), await addPartner(service, 1_000_00n)]
  const { partnerId, beneficiary } = partner
  const checked = async (payee: 'match' | 'close_match' | 'no_match' | 'unchecked') => {
    const { payout } = await pay(service, partner, '1.00')
    await submitDuePayouts(service.settlement)
    const reported = { partnerId, instructionId: instructionIdOf(payout) }
    assert.equal(await service.payoutLife.payeeChecked(reported, payee), true)
  }
  const told = async (each: TestPartner) => (await verdictsOf(each))['payeeCheck']
  assert.equal(await told(partner), 'notApplicable')
  for (const [payee, verdict] of [
    ['no_match', 'InvalidAccountDetails'],
    ['close_match', 'InvalidAccountDetails'],
    ['unchecked', 'InvalidAccountDetails'],
    ['match', 'passed'],
    ['no_match', 'InvalidAccountDetails'],
  ] as const) {
    await checked(payee)
    assert.equal(await told(partner), verdict, payee)
  }
  assert.equal(await told(stranger), 'notApplicable')
  await service.beneficiaries.update(partnerId, { id: beneficiary.id, name: 'Grace B. Hopper' })
  assert.equal(await told(partner), 'notApplicable', 'another name was not checked')
})

test('the rule of the funds says whose money pays: of all in a pooled balance, of its customer in a segregated one', async () => {
  const partner = await addPartner(service, 10_00n)
  const detail = async () => (await previewOf(partner)).verdicts.find(({ rule }) => rule === 'funds')?.detail ?? ''
  assert.match(await detail(), /money of all customers and yours/)
  await service.db.transaction((tx) => service.ledger.segregate(tx, partner.partnerId, 'EUR'))
  const { customerId } = partner.beneficiary
  const whose =
    customerId === null ? /Only your own money pays/ : new RegExp(`Only the money of the customer ${customerId} pays`)
  assert.match(await detail(), whose)
})
