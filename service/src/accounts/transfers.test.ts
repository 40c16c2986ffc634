/** Transfers between the parties of a balance, over the route. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type BodyOf, decimalText, rawNumber } from '@partner-payments/wire'
import { checkLedger } from '../../../test/model/ledger-audit.ts'
import {
  addPartner,
  createTestService,
  pay,
  type Service,
  type TestPartner,
} from '../../../test/support/composition.ts'
import { findingsOf } from '../../../test/support/integrity.ts'
import { Refusal } from '../kernel/api/index.ts'
import { newId } from '../kernel/index.ts'
import { accountsRoutes } from './index.ts'

let service: Service
before(async () => {
  service = await createTestService({ connectionsMax: 12 })
})
after(() => service.close())

type Fields = Partial<Omit<BodyOf<'createAccountTransfer'>, 'amount'>>
const routes = () => accountsRoutes(service.accounts, service.idempotency)
const callOf = ({ caller }: TestPartner) => ({ caller, requestId: newId(), ip: '192.0.2.1', params: {} })
const transfer = async (partner: TestPartner, amount: string, fields: Fields, idempotencyKey?: string) => {
  const body = { amount: rawNumber(amount), currency: 'EUR' as const, ...fields }
  const call = {
    ...callOf(partner),
    query: undefined,
    body,
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  }
  return (await routes().createAccountTransfer(call)).body
}
const balance = async (partner: TestPartner) => {
  const { data } = (await routes().listAccounts({ ...callOf(partner), query: {}, body: undefined })).body
  const [{ available, segregated, own } = { available: rawNumber('0'), segregated: false, own: undefined }] = data
  return [decimalText(available), segregated, own && decimalText(own.available)]
}
const entriesOf = async (partner: TestPartner, id: string) => {
  const call = { ...callOf(partner), query: {}, body: undefined, params: { id, currency: 'EUR' } }
  const { data } = (await routes().listCustomerAccountEntries(call)).body
  return data.map(({ direction, amount, counterAccount }) => `${direction} ${decimalText(amount)} ${counterAccount}`)
}
const refused = (code: string, pointer?: string) => (error: unknown) => {
  assert(error instanceof Refusal, String(error))
  assert.deepEqual([error.code, error.errors?.[0]?.pointer], [code, pointer])
  return true
}
const segregate = (partnerId: string) =>
  service.db.transaction(async (tx) => assert.deepEqual(await service.ledger.segregate(tx, partnerId, 'EUR'), []))
/** Runs both audits: of the ledger, and of everything that knows of money. */
async function checkAll({ partnerId }: TestPartner): Promise<void> {
  await checkLedger(service.db, partnerId)
  assert.deepEqual(await findingsOf(service.db, partnerId), [])
}

test('money moves between the partner and its customers, as two linked transactions', async () => {
  const partner = await addPartner(service, 100_00n)
  const { partnerId, customer } = partner
  await segregate(partnerId)
  const bonus = await transfer(partner, '30.00', { toCustomerId: customer.id, reference: 'bonus-1' })
  assert.deepEqual(
    [bonus.outwardReference, bonus.toCustomerId, bonus.fromCustomerId],
    ['bonus-1', customer.id, undefined],
  )
  await transfer(partner, '4.50', { fromCustomerId: customer.serviceId })
  assert.deepEqual(await balance(partner), ['100.00', true, '74.50'])
  assert.deepEqual(await entriesOf(partner, customer.id), ['Outward 4.50 Transfers', 'Inward 30.00 Transfers'])
  const { transactions } = service
  const [outward, inward] = await Promise.all(
    [bonus.outwardReference, bonus.inwardReference].map((reference) => transactions.get(partnerId, reference)),
  ).then((views) => views.map(({ row }) => row))
  assert.deepEqual([outward?.type, outward?.status, outward?.customerId], ['PartnerWithdraw', 'Completed', null])
  assert.deepEqual(
    [inward?.type, inward?.status, inward?.customerId],
    ['PartnerCustomerDeposit', 'Completed', customer.id],
  )
  assert.equal(inward?.originatingReference, 'bonus-1')
  await pay(service, partner, '25.50')
  await checkAll(partner)
})

test('nobody gives more than its part, in a pooled balance neither', async () => {
  const partner = await addPartner(service, 10_00n)
  const { customer } = partner
  for (const segregated of [false, true]) {
    if (segregated) await segregate(partner.partnerId)
    await assert.rejects(transfer(partner, '10.01', { toCustomerId: customer.id }), refused('insufficient_funds'))
    await assert.rejects(transfer(partner, '0.01', { fromCustomerId: customer.id }), refused('insufficient_funds'))
  }
  await transfer(partner, '10.00', { toCustomerId: customer.id })
  const back = Array.from({ length: 8 }, () => transfer(partner, '3.00', { fromCustomerId: customer.id }))
  const outcomes = await Promise.allSettled(back)
  assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 3)
  await checkAll(partner)
})

test('a key moves the money once', async () => {
  const partner = await addPartner(service, 10_00n)
  const key = newId()
  const once = await transfer(partner, '4.00', { toCustomerId: partner.customer.id }, key)
  assert.deepEqual(await transfer(partner, '4.00', { toCustomerId: partner.customer.id }, key), once)
  await assert.rejects(
    transfer(partner, '5.00', { toCustomerId: partner.customer.id }, key),
    refused('idempotency_key_reused', '/headers/Idempotency-Key'),
  )
  assert.deepEqual(await entriesOf(partner, partner.customer.id), ['Inward 4.00 Transfers'])
})

test('wrong parties are refused with their field, and nothing moves', async () => {
  const partner = await addPartner(service, 10_00n)
  const other = await addPartner(service)
  const { customer } = partner
  const cases: readonly (readonly [Fields, code: string, pointer: string])[] = [
    [{}, 'validation_failed', '/fromCustomerId'],
    [{ fromCustomerId: customer.id, toCustomerId: customer.serviceId }, 'validation_failed', '/toCustomerId'],
    [{ toCustomerId: other.customer.id }, 'not_found', '/toCustomerId'],
    [{ fromCustomerId: newId(), toCustomerId: customer.id }, 'not_found', '/fromCustomerId'],
  ]
  for (const [fields, code, pointer] of cases)
    await assert.rejects(transfer(partner, '1.00', fields), refused(code, pointer))
  assert.deepEqual(await entriesOf(partner, customer.id), [])
})

test('gates and blocks of customers hold', async () => {
  const partner = await addPartner(service, 10_00n)
  const { partnerId, customer } = partner
  const gate = (allowed: readonly ('Pay' | 'Receive')[]) =>
    service.db.transaction((tx) => service.customers.gates.set(tx, { partnerId, state: 'Incomplete', allowed }))
  await gate(['Pay'])
  await assert.rejects(
    transfer(partner, '1.00', { toCustomerId: customer.id }),
    refused('customer_not_verified', '/toCustomerId'),
  )
  await gate(['Receive'])
  await transfer(partner, '1.00', { toCustomerId: customer.id })
  await assert.rejects(
    transfer(partner, '1.00', { fromCustomerId: customer.id }),
    refused('customer_not_verified', '/fromCustomerId'),
  )
  await gate(['Pay', 'Receive'])
  const account = { customerRef: customer.id }
  const blocked = { partnerId, account, state: 'BlockedOutbound', reason: 'Fraud', note: '', staff: 'Ann' } as const
  await service.db.transaction((tx) => service.accounts.changeState(tx, blocked))
  await assert.rejects(transfer(partner, '1.00', { fromCustomerId: customer.id }), refused('account_blocked'))
  await transfer(partner, '1.00', { toCustomerId: customer.id })
  await checkAll(partner)
})
