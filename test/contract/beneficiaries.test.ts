/** Beneficiaries. Interface document, Beneficiary update request; contract page, beneficiary update and Extensions. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { success, textAt } from '../support/client.ts'
import { assertShape, beneficiary as beneficiaryShape } from '../support/documented.ts'
import { useSharedService } from '../support/fixture.ts'
import { assertProblem, indistinct } from '../support/problem.ts'
import { otherPartner } from '../support/service.ts'
import { createBeneficiary, createCustomer, ibans, listAll, payoutText } from '../support/world.ts'

const service = await useSharedService()
const { client } = service
const stranger = await otherPartner(service)

test('200 to create for a customer and for the partner itself: the given fields only', async () => {
  const customer = await createCustomer(client)
  const guid = textAt(customer, 'guid')
  const own = await createBeneficiary(client)
  assertShape(beneficiaryShape, own)
  assert.ok(!Object.hasOwn(own, 'customerId') && !Object.hasOwn(own, 'alias'))
  assert.equal(own.iban, ibans.DE)
  for (const customerId of [guid, textAt(customer, 'serviceId')]) {
    const created = await createBeneficiary(client, { customerId, alias: 'Ämie', bic: 'COBADEFFXXX', country: 'DE' })
    assertShape(beneficiaryShape, created)
    assert.equal(created.customerId, guid)
    assert.equal(created.alias, 'Ämie')
    assert.equal(created.country, 'DE')
    assert.deepEqual(success(await client.get(`/v1/beneficiaries/${textAt(created, 'id')}`)), created)
  }
})

test('400 with a pointer when the country contradicts the IBAN', async () => {
  const body = { name: 'Grace Hopper', iban: ibans.DE, country: 'FR', currency: 'EUR' }
  const problem = assertProblem(await client.post('/v1/beneficiaries', body), { status: 400, pointer: '/country' })
  assert.match(textAt(problem, 'detail'), /must be DE, or omitted$/)
  const overseas = await createBeneficiary(client, { iban: ibans.FR, country: 'MQ' })
  assert.equal(overseas.country, 'MQ')
})

test('200 to an IBAN with spaces, stored in its electronic form', async () => {
  const spaced = await createBeneficiary(client, { iban: 'NL91 ABNA 0417 1643 00' })
  assert.equal(spaced.iban, ibans.NL)
})

const malformed: Readonly<Record<string, readonly string[]>> = {
  iban: [
    'DE89370400440532013001',
    'DE00370400440532013000',
    'XX89370400440532013000',
    'DE8937040044053201300',
    'nope',
    '12',
  ],
  bic: ['X', 'COBADEF', 'COBADEFFXX', '12345678', 'COBAXXFF'],
  country: ['XX', 'ZZ', 'de', 'DEU'],
  currency: ['eur', 'EURO12', '12'],
}
for (const [field, values] of Object.entries(malformed))
  test(`400 with /${field} when its format is invalid`, async () => {
    const count = (await listAll(client, '/v1/beneficiaries')).length
    for (const value of values) {
      const body = { name: 'Grace', iban: ibans.DE, currency: 'EUR', [field]: value }
      assertProblem(await client.post('/v1/beneficiaries', body), { status: 400, pointer: `/${field}` })
    }
    assert.equal((await listAll(client, '/v1/beneficiaries')).length, count)
  })

test('400 when neither an IBAN nor a wallet address is given', async () => {
  assertProblem(await client.post('/v1/beneficiaries', { name: 'Grace', currency: 'EUR' }), { status: 400 })
})

test('422 currency_not_supported when the service does not support the currency', async () => {
  for (const currency of ['CHF', 'JPY']) {
    const body = { name: 'Grace', iban: ibans.DE, currency }
    assertProblem(await client.post('/v1/beneficiaries', body), { status: 422, code: 'currency_not_supported' })
  }
})

test("404, the same for an unknown customer and for another partner's", async () => {
  const theirs = textAt(await createCustomer(stranger), 'guid')
  const body = (customerId: string) => ({ customerId, name: 'Grace', iban: ibans.DE, currency: 'EUR' })
  const foreign = await client.post('/v1/beneficiaries', body(theirs))
  assertProblem(foreign, { status: 404, code: 'not_found' })
  assert.deepEqual(indistinct(foreign), indistinct(await client.post('/v1/beneficiaries', body(randomUUID()))))
})

test('200 to an update of alias, of name, or of both: the beneficiary, with other fields unchanged', async () => {
  let before = await createBeneficiary(client, { alias: 'old' })
  const id = textAt(before, 'id')
  for (const change of [
    { alias: 'new' },
    { name: 'Grace B. Hopper' },
    { alias: 'x'.repeat(70), name: 'y'.repeat(140) },
  ]) {
    const updated = success(await client.put('/v1/beneficiaries', { id, ...change }))
    assertShape(beneficiaryShape, updated)
    assert.deepEqual(updated, { ...before, ...change, updatedAt: textAt(updated, 'updatedAt') })
    assert.ok(textAt(updated, 'updatedAt') > textAt(before, 'updatedAt'))
    assert.deepEqual(success(await client.get(`/v1/beneficiaries/${id}`)), updated)
    before = updated
  }
})

test('200 to an alias of 70 and a name of 140 code points outside the basic plane', async () => {
  const id = textAt(await createBeneficiary(client), 'id')
  const [alias, name] = ['\u{1f680}'.repeat(70), '\u{1f680}'.repeat(140)]
  const updated = success(await client.put('/v1/beneficiaries', { id, alias, name }))
  assert.deepEqual([updated.alias, updated.name], [alias, name])
})

test('400 when an update names neither alias nor name', async () => {
  const id = textAt(await createBeneficiary(client), 'id')
  assertProblem(await client.put('/v1/beneficiaries', { id }), { status: 400, code: 'validation_failed' })
})

test('400 with /id when the id is not a UUID', async () => {
  for (const id of ['nope', '1', `${randomUUID()}0`])
    assertProblem(await client.put('/v1/beneficiaries', { id, alias: 'x' }), { status: 400, pointer: '/id' })
})

test("404, the same for an unknown beneficiary and for another partner's, which does not change", async () => {
  const theirs = await createBeneficiary(stranger)
  const id = textAt(theirs, 'id')
  const foreign = await client.put('/v1/beneficiaries', { id, alias: 'mine' })
  assertProblem(foreign, { status: 404, code: 'not_found' })
  assert.deepEqual(
    indistinct(foreign),
    indistinct(await client.put('/v1/beneficiaries', { id: randomUUID(), alias: 'x' })),
  )
  assert.deepEqual(success(await stranger.get(`/v1/beneficiaries/${id}`)), theirs)
})

test('204 to a delete, then 404 to every operation, and payouts accepted before continue', async () => {
  const id = textAt(await createBeneficiary(client), 'id')
  const paid = success(await client.post('/v1/payouts/fiat', payoutText(id, '2.00')))
  const gone = await client.delete(`/v1/beneficiaries/${id}`)
  assert.equal(gone.status, 204)
  assert.equal(gone.text, '')
  const expected = { status: 404, code: 'not_found' }
  assertProblem(await client.get(`/v1/beneficiaries/${id}`), expected)
  assertProblem(await client.delete(`/v1/beneficiaries/${id}`), expected)
  assertProblem(await client.put('/v1/beneficiaries', { id, alias: 'x' }), expected)
  assertProblem(await client.post('/v1/payouts/fiat', payoutText(id, '2.00')), expected)
  assert.ok((await listAll(client, '/v1/beneficiaries')).every((item) => item.id !== id))
  success(await client.get(`/v1/transactions/${textAt(paid, 'reference')}`))
})

test('200 to the list with each filter', async () => {
  const customer = textAt(await createCustomer(client), 'guid')
  const created = await createBeneficiary(client, { customerId: customer })
  assert.deepEqual(await listAll(client, '/v1/beneficiaries', `&customerId=${customer}`), [created])
  assert.deepEqual(await listAll(client, '/v1/beneficiaries', `&customerId=${customer}&currency=USD`), [])
  for (const item of await listAll(client, '/v1/beneficiaries')) assertShape(beneficiaryShape, item)
})
