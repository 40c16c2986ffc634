/** The `partnerUser` of a transaction is the customer for whom it is. Interface document, Transaction; contract page, `partnerUser`. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type JsonObject, listAt, objectAt, success, textAt } from '../support/client.ts'
import { assertShape, transaction as transactionShape } from '../support/documented.ts'
import { useReceiver, useSharedService } from '../support/fixture.ts'
import { until } from '../support/until.ts'
import { createBeneficiary, createCustomer, createWorld, listAll, payoutText, transactionOf } from '../support/world.ts'

const service = await useSharedService()
const receiver = await useReceiver()
const { client } = service

const kyc = {
  legalName: 'Analytical Engines Ltd',
  addressLine1: '12 St James’s Square',
  postalCode: 'SW1Y 4JH',
  city: 'London',
  countryOfIncorporation: 'GB',
}
const email = 'books@engines.example'
await createWorld(client, receiver.url, service)
const customer = await createCustomer(client, { email, kyc })
const beneficiary = textAt(await createBeneficiary(client, { customerId: textAt(customer, 'guid') }), 'id')
const reference = textAt(success(await client.post('/v1/payouts/fiat', payoutText(beneficiary, '2.00'))), 'reference')
const transfer = { amount: 1, currency: 'EUR' }
success(await client.post('/v1/accounts/transfers', { ...transfer, toCustomerId: textAt(customer, 'guid') }))

const userOf = (transaction: JsonObject | undefined) => objectAt(transaction ?? {}, 'partnerUser')

test('200 with every field of the customer, and the address of the request that started the payout', async () => {
  const transaction = await transactionOf(client, reference)
  assertShape(transactionShape, transaction)
  const { ipAddress, ...rest } = userOf(transaction)
  assert.match(String(ipAddress), /^(127\.0\.0\.1|::1|::ffff:127\.0\.0\.1)$/)
  assert.deepEqual(rest, {
    id: customer.serviceId,
    name: kyc.legalName,
    email,
    address: '12 St James’s Square, SW1Y 4JH London',
    country: 'United Kingdom',
    countryCode: 'GB',
  })
})

test('200 with the customer of each transaction of a customer, and without one for transactions of the partner', async () => {
  const serviceIds = new Map(
    (await listAll(client, '/v1/customers')).map((each) => [textAt(each, 'guid'), textAt(each, 'serviceId')]),
  )
  const kinds = new Set<string>()
  for (const [guid, serviceId] of serviceIds)
    for (const transaction of await listAll(client, '/v1/transactions', `&customerId=${guid}`)) {
      assert.equal(transaction.partyType, 'Customer')
      assert.equal(userOf(transaction).id, serviceId)
      kinds.add(textAt(transaction, 'type'))
    }
  for (const kind of ['PartnerCustomerDeposit', 'PartnerCustomerWithdraw', 'CustomerDeposit', 'TokenTransferIn'])
    assert.ok(kinds.has(kind), `${kind}: ${[...kinds].join()}`)
  const own = (await listAll(client, '/v1/transactions')).filter(({ partyType }) => partyType === 'Partner')
  assert.ok(own.length > 0)
  assert.deepEqual(
    own.filter((transaction) => 'partnerUser' in transaction),
    [],
  )
})

test('200 to a list, to the changes and to the stream with the same customer as in the transaction', async () => {
  const one = await transactionOf(client, reference)
  const named = (transactions: readonly JsonObject[]) =>
    userOf(transactions.find((each) => each.reference === reference))
  const listed = await listAll(client, '/v1/transactions')
  assert.deepEqual(named(listed), userOf(one))
  const streamed = await until('the change is certain', async () => {
    const { text } = await client.get('/v1/exports/transactions')
    const lines = text.split('\n').filter(Boolean)
    const found = lines.map((line) => objectAt(JSON.parse(line) as JsonObject, 'transaction'))
    return found.some((each) => each.reference === reference) && found
  })
  assert.deepEqual(named(streamed), userOf(one))
})

test('200 to a timeline with the service account that requested the payout', async () => {
  const timeline = success(await client.get(`/v1/transactions/${reference}/timeline`))
  const { id, name } = objectAt(timeline, 'requestedBy')
  assert.equal(typeof name, 'string')
  assert.notEqual(id, userOf(await transactionOf(client, reference)).id)
  const [credit] = (await listAll(client, '/v1/transactions', '&category=Deposit')).filter(
    ({ type }) => type === 'TokenTransferIn',
  )
  const ofChain = success(await client.get(`/v1/transactions/${textAt(credit ?? {}, 'reference')}/timeline`))
  assert.ok(!('requestedBy' in ofChain), 'no request made it')
})

test('200 to a report with the customer in separate columns', async () => {
  const [from, to] = [new Date(Date.now() - 3_600_000).toISOString(), new Date().toISOString()]
  const report = textAt(
    success(await client.post('/v1/reports', { kind: 'transactions', format: 'csv', from, to })),
    'id',
  )
  await until('the report is ready', async () => success(await client.get(`/v1/reports/${report}`)).status === 'Ready')
  const { text } = await client.get(`/v1/reports/${report}/content`)
  const [head = '', ...lines] = text.split('\r\n')
  const line = lines.find((each) => each.startsWith(reference)) ?? assert.fail('the payout is in the report')
  assert.match(head, /,timeline,partnerUserEmail,partnerUserAddress,partnerUserCountryCode$/)
  for (const value of [customer.serviceId, kyc.legalName, email, 'GB'])
    assert.ok(line.includes(String(value)), String(value))
})

test('200 with the new email of a changed customer, and with only its id once it is erased', async () => {
  const other = await createCustomer(client, { email, kyc })
  const guid = textAt(other, 'guid')
  const transfer = { amount: 1, currency: 'EUR', toCustomerId: guid }
  success(await client.post('/v1/accounts/transfers', transfer))
  const find = async () => (await listAll(client, '/v1/transactions', `&customerId=${guid}`))[0] ?? assert.fail()
  assert.equal(userOf(await find()).email, email)
  success(await client.put(`/v1/customers/${guid}`, { email: 'new@engines.example' }))
  assert.equal(userOf(await find()).email, 'new@engines.example')
  success(await client.post(`/v1/customers/${guid}/erase`, { nothingOwed: true }))
  const erased = await find()
  assert.deepEqual(userOf(erased), { id: other.serviceId })
  const path = `/v1/transactions/${textAt(erased, 'reference')}`
  assert.deepEqual(userOf(success(await client.get(path))), { id: other.serviceId })
  const lines = listAt(success(await client.get(`/v1/transactions?customerId=${textAt(other, 'serviceId')}`)))
  assert.ok(!JSON.stringify(lines).includes('engines.example'))
})
