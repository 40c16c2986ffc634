/** Account numbers and balances. Interface document, Customer account; contract page, account create and Ledger. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { listAt, success, textAt } from '../support/client.ts'
import { assertShape, customerAccount, dateTime, uuid } from '../support/documented.ts'
import { useSharedService } from '../support/fixture.ts'
import { assertProblem } from '../support/problem.ts'
import { otherPartner } from '../support/service.ts'
import { balanceOf, cents, createCustomer, finalTransaction } from '../support/world.ts'

const service = await useSharedService()
const { client } = service

/** The check digits of ISO 13616: ISO 7064 MOD 97-10. */
function isValidIban(iban: string): boolean {
  const digits = (iban.slice(4) + iban.slice(0, 4)).replace(/[A-Z]/g, (letter) => String(letter.charCodeAt(0) - 55))
  return /^[A-Z]{2}\d{2}[A-Z0-9]{11,30}$/.test(iban) && BigInt(digits) % 97n === 1n
}

test('200 when an account is created: the documented fields and valid IBANs', async () => {
  const partnerCustomerIdentifier = `partner-${randomUUID()}`
  const customer = await createCustomer(client, { partnerCustomerIdentifier })
  const account = success(await client.post(`/v1/customers/${textAt(customer, 'guid')}/account`))
  assertShape(customerAccount, account)
  const ibans = listAt(account, 'ibans')
  assert.ok(ibans.length >= 1)
  assert.deepEqual({ country: account.country, iban: account.iban }, ibans[0])
  assert.equal(account.partnerCustomerId, partnerCustomerIdentifier)
  for (const { iban, country } of ibans) {
    assert.ok(isValidIban(String(iban)), String(iban))
    assert.equal(String(iban).slice(0, 2), country)
  }
  assert.equal(new Set(ibans.map((item) => item.country)).size, ibans.length, 'one for each country')
})

test('200 with the serviceId as partnerCustomerId when the customer has no identifier of the partner', async () => {
  const customer = await createCustomer(client)
  const serviceId = textAt(customer, 'serviceId')
  const account = success(await client.post(`/v1/customers/${serviceId}/account`))
  assert.equal(account.partnerCustomerId, serviceId)
})

test('200 with the same IBANs for every create and get: by guid and serviceId, with the body {} and without', async () => {
  const customer = await createCustomer(client)
  const guid = textAt(customer, 'guid')
  const first = success(await client.post(`/v1/customers/${guid}/account`))
  const again = [
    await client.post(`/v1/customers/${guid}/account`),
    await client.post(`/v1/customers/${guid}/account`, {}),
    await client.post(`/v1/customers/${textAt(customer, 'serviceId')}/account`),
    await client.get(`/v1/customers/${guid}/account`),
  ]
  for (const answer of again) assert.deepEqual(success(answer), first)
})

test('200 with the same IBANs for twenty concurrent creates, and different IBANs for other customers', async () => {
  const guid = textAt(await createCustomer(client), 'guid')
  const duplicates = await Promise.all(Array.from({ length: 20 }, () => client.post(`/v1/customers/${guid}/account`)))
  assert.equal(new Set(duplicates.map((answer) => success(answer).iban)).size, 1)
  const others = await Promise.all(Array.from({ length: 20 }, () => createCustomer(client)))
  const accounts = await Promise.all(others.map((each) => client.post(`/v1/customers/${textAt(each, 'guid')}/account`)))
  const ibans = accounts.flatMap((answer) => listAt(success(answer), 'ibans').map((item) => item.iban))
  assert.equal(new Set(ibans).size, ibans.length)
  for (const duplicate of duplicates) assert.ok(!ibans.includes(duplicate.json.iban))
})

test('404 when the customer has no account yet', async () => {
  const guid = textAt(await createCustomer(client), 'guid')
  assertProblem(await client.get(`/v1/customers/${guid}/account`), { status: 404, code: 'not_found' })
})

test('200 to the balances: available = posted - reserved, with the sandbox float', async () => {
  const answer = await client.get('/v1/accounts')
  const page = success(answer)
  assert.deepEqual(Object.keys(page).sort(), ['data', 'hasMore', 'nextCursor'])
  const accounts = listAt(answer.literals)
  assert.ok(accounts.some((account) => account.currency === 'EUR'))
  for (const account of accounts) {
    const fields = 'asOf available currency id payoutsUse posted reserved segregated'
    assert.equal(Object.keys(account).sort().join(' '), fields)
    assert.equal(account.payoutsUse, account.segregated === true ? 'OwnPart' : 'WholeBalance')
    assertShape(uuid, account.id ?? null)
    assertShape(dateTime, account.asOf ?? null)
    assert.equal(cents(account.available), cents(account.posted) - cents(account.reserved))
  }
  assert.equal(new Set(accounts.map((account) => account.currency)).size, accounts.length, 'one for each currency')
  assert.ok((await balanceOf(client)).available > 0n, 'the sandbox float')
})

test('200 with separate balances for another partner', async () => {
  const stranger = await otherPartner(service)
  const ids = async (as: typeof client) => listAt(success(await as.get('/v1/accounts'))).map((account) => account.id)
  const mine = await ids(client)
  for (const id of await ids(stranger)) assert.ok(!mine.includes(id))
  assert.deepEqual(await balanceOf(stranger), await balanceOf(client), 'the same float')
})

test('200 with the entries of a balance and of a customer; the newest entry states the current balance', async () => {
  const customer = textAt(await createCustomer(client), 'guid')
  const deposit = { customerId: customer, amount: 5, currency: 'EUR', outcome: 'completed' }
  const { reference } = success(await client.post('/v1/simulations/deposits', deposit))
  await finalTransaction(client, String(reference))
  const own = await client.get(`/v1/customers/${customer}/account/balances/EUR/entries`)
  const [entry, ...others] = listAt(own.literals)
  assert.deepEqual(others, [])
  assert.deepEqual([entry?.direction, cents(entry?.amount), cents(entry?.balance)], ['Inward', 500n, 500n])
  assert.deepEqual([entry?.reference, entry?.counterAccount], [reference, 'Settlement'])
  const [sum] = listAt((await client.get(`/v1/customers/${customer}/account/balances`)).literals)
  assert.deepEqual([sum?.currency, cents(sum?.posted), cents(sum?.available)], ['EUR', 500n, 500n])
  const [account] = listAt(success(await client.get('/v1/accounts'))).filter(({ currency }) => currency === 'EUR')
  const entries = listAt((await client.get(`/v1/accounts/${textAt(account ?? {}, 'id')}/entries`)).literals)
  assert.equal(cents(entries[0]?.balance), (await balanceOf(client)).posted)
  assert.ok(entries.some((each) => each.reference === reference && each.customerId === customer))
})
