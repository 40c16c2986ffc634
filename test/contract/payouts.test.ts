/** Fiat payouts. Interface document, Fiat payout; contract page, payout `reference`, payout `status`. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { type JsonObject, success, textAt } from '../support/client.ts'
import { assertShape, dateTime, fiatPayout, transaction as transactionShape } from '../support/documented.ts'
import { useSharedService } from '../support/fixture.ts'
import { assertCommonHeaders, assertProblem, indistinct } from '../support/problem.ts'
import { otherPartner } from '../support/service.ts'
import {
  balanceOf,
  createBeneficiary,
  createCustomer,
  finalTransaction,
  ibans,
  listAll,
  payoutText,
  transactionOf,
} from '../support/world.ts'

const service = await useSharedService()
const { client } = service
const stranger = await otherPartner(service)
const customer = textAt(await createCustomer(client), 'guid')
const beneficiary = textAt(await createBeneficiary(client, { customerId: customer, alias: 'grace' }), 'id')

const pay = (amount: string, fields: JsonObject = {}, to = beneficiary) =>
  client.post('/v1/payouts/fiat', payoutText(to, amount, fields))

test('200 to a payout: exactly the documented fields, Location, and the given reference', async () => {
  const idempotencyKey = randomUUID()
  const reference = `Invoice ${randomUUID()}`
  const answer = await pay('12.50', { idempotencyKey, reference })
  const payout = success(answer)
  assertCommonHeaders(answer)
  assertShape(fiatPayout, payout)
  assert.deepEqual(
    { ...answer.literals, status: '' },
    {
      amount: answer.literals.amount ?? null,
      beneficiaryAccount: ibans.DE,
      beneficiaryName: 'Grace Hopper',
      currency: 'EUR',
      idempotencyKey,
      reference,
      status: '',
    },
  )
  assert.equal(Number(answer.literals.amount), 12.5)
  const location = String(answer.headers.location)
  assert.equal(location, `/v1/transactions/${encodeURIComponent(reference)}`)
  assert.equal(success(await client.get(location)).reference, reference)
})

test('400 with a pointer when the reference is "." or "..", which no URL can name', async () => {
  for (const reference of ['.', '..']) {
    const problem = assertProblem(await pay('1.00', { reference }), { status: 400, pointer: '/reference' })
    assert.match(textAt(problem, 'detail'), /neither "\." nor "\.\."/)
  }
  for (const reference of ['...', `.${randomUUID()}`]) {
    const location = String((await pay('1.00', { reference })).headers.location)
    assert.equal(success(await client.get(location)).reference, reference)
  }
})

test('200 with a generated reference when the request has no reference', async () => {
  const first = textAt(success(await pay('1.00')), 'reference')
  const second = textAt(success(await pay('1.00')), 'reference')
  assert.notEqual(first, second)
  assert.ok(!Object.hasOwn(await transactionOf(client, first), 'userReference'))
})

test('200 with a generated reference when the given one is used, and the given one becomes userReference', async () => {
  const reference = randomUUID()
  success(await pay('1.00', { reference }))
  const second = success(await pay('1.00', { reference }))
  assert.notEqual(second.reference, reference)
  const transaction = await transactionOf(client, textAt(second, 'reference'))
  assert.equal(transaction.userReference, reference)
  const theirs = textAt(await createBeneficiary(stranger), 'id')
  const other = await stranger.post('/v1/payouts/fiat', payoutText(theirs, '1.00', { reference }))
  assert.equal(success(other).reference, reference, 'another partner can use the same reference')
})

test('200 to twenty concurrent payouts with one reference: one has it, and the others have generated references', async () => {
  const reference = randomUUID()
  const answers = await Promise.all(Array.from({ length: 20 }, () => pay('1.00', { reference })))
  const references = answers.map((answer) => textAt(success(answer), 'reference'))
  assert.equal(references.filter((each) => each === reference).length, 1)
  assert.equal(new Set(references).size, 20)
  const transactions = await Promise.all(references.map((each) => transactionOf(client, each)))
  for (const transaction of transactions)
    assert.equal(transaction.userReference ?? transaction.reference, reference, 'each keeps the text of the partner')
})

test("200 and the transaction of a payout to a customer's beneficiary, from Pending to Completed", async () => {
  const idempotencyKey = randomUUID()
  const reference = textAt(success(await pay('3.10', { idempotencyKey })), 'reference')
  const final = await finalTransaction(client, reference)
  assertShape(transactionShape, final)
  const expected = {
    reference,
    amount: 3.1,
    currency: 'EUR',
    category: 'Withdrawal',
    direction: 'Outward',
    method: 'Fiat',
    partyType: 'Customer',
    status: 'Completed',
    type: 'PartnerCustomerWithdraw',
    rail: 'Sepa',
    hasFx: false,
    idempotencyKey,
    beneficiaryId: beneficiary,
    beneficiaryAlias: 'grace',
  }
  for (const [name, value] of Object.entries(expected)) assert.deepEqual(final[name], value, name)
  const creditor = final.creditorDetails as JsonObject
  assert.equal(creditor.iban, ibans.DE)
  assert.equal(creditor.accountHolderName, 'Grace Hopper')
})

test("200 and the transaction of a payout to the partner's own beneficiary: PartnerWithdraw", async () => {
  const own = textAt(await createBeneficiary(client, { iban: ibans.FR }), 'id')
  const final = await finalTransaction(client, textAt(success(await pay('1.00', {}, own)), 'reference'))
  assert.deepEqual([final.type, final.partyType], ['PartnerWithdraw', 'Partner'])
})

test('200 to a payout by id and in the list, with the same fields', async () => {
  const reference = textAt(success(await pay('4.00')), 'reference')
  await finalTransaction(client, reference)
  const listed = (await listAll(client, '/v1/payouts', `&beneficiaryId=${beneficiary}`)).find(
    (each) => each.reference === reference,
  )
  assert.ok(listed)
  const read = success(await client.get(`/v1/payouts/${textAt(listed, 'id')}`))
  assert.deepEqual(read, listed)
  assert.equal(read.status, 'Completed')
  assert.equal(read.customerId, customer)
  for (const field of ['createdAt', 'updatedAt']) assertShape(dateTime, read[field] ?? null)
})

test("404, the same for an unknown beneficiary and for another partner's, and no money moves", async () => {
  const before = await balanceOf(client)
  const theirs = textAt(await createBeneficiary(stranger), 'id')
  const foreign = await pay('1.00', {}, theirs)
  assertProblem(foreign, { status: 404, code: 'not_found' })
  assert.deepEqual(indistinct(foreign), indistinct(await pay('1.00', {}, randomUUID())))
  assert.deepEqual(await balanceOf(client), before)
})

test('422 beneficiary_currency_mismatch when the beneficiary has another currency', async () => {
  const currencies = (await client.get('/v1/accounts')).text.match(/"currency":"[A-Z]{3}"/g) ?? []
  const other = currencies.map((text) => text.slice(12, 15)).find((currency) => currency !== 'EUR')
  assert.ok(other, 'the sandbox has a second currency')
  assertProblem(await pay('1.00', { currency: other }), { status: 422, code: 'beneficiary_currency_mismatch' })
})

test('422 insufficient_funds when the balance is too small, and nothing is stored', async () => {
  const { available } = await balanceOf(client)
  for (let left = available; left >= 100_000_000n; { available: left } = await balanceOf(client))
    success(await pay('1000000.00'))
  const before = await balanceOf(client)
  const idempotencyKey = randomUUID()
  assertProblem(await pay('9000000.00', { idempotencyKey }), { status: 422, code: 'insufficient_funds' })
  assert.deepEqual(await listAll(client, '/v1/payouts', `&idempotencyKey=${idempotencyKey}`), [])
  assert.equal((await balanceOf(client)).available, before.available)
})
