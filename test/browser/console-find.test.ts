/**
 * The search in a real browser, by amounts, accounts, names, identifiers and references; lists with sums that fit the
 * screen and update; and a failed payout.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from '../support/browser.ts'
import { listAt, success, textAt } from '../support/client.ts'
import { check, main, press, useConsole } from '../support/console.ts'
import { useSharedService } from '../support/fixture.ts'
import { otherPartner } from '../support/service.ts'
import { until } from '../support/until.ts'
import { createBeneficiary, createCustomer, finalTransaction, ibans, payoutText } from '../support/world.ts'

const { service, person, open } = useConsole(await useSharedService(), ['400'])
const { client } = service

const payee = textAt(
  await createBeneficiary(client, { name: 'Katherine Johnson', alias: 'Orbit 17', iban: ibans.FR }),
  'id',
)
success(await client.post('/v1/payouts/fiat', payoutText(payee, '7500.00', { reference: 'INV-7500' })))
const paid = await finalTransaction(client, 'INV-7500')
const own = `crm-${randomUUID()}`
const customer = await createCustomer(client, { partnerCustomerIdentifier: own })
const guid = textAt(customer, 'guid')
const iban = textAt(success(await client.post(`/v1/customers/${guid}/account`)), 'iban')
success(
  await client.post('/v1/simulations/credits', { amount: 31.5, currency: 'EUR', iban, debtorName: 'Dorothy Payer' }),
)
const deposit = await until('the credit has arrived', async () => {
  const [first] = listAt(
    success(await client.get(`/v1/transactions?customerId=${guid}&category=Deposit&status=Completed`)),
  )
  return first
})
const debtor = textAt(deposit.debtorDetails as Parameters<typeof textAt>[0], 'iban')
const order = `order-${randomUUID()}`
const session = success(
  await client.post('/v1/checkout/sessions', {
    ...{ amount: 49.9, currency: 'EUR', customerId: guid, idempotencyKey: randomUUID(), websiteReference: order },
  }),
)

test('a search finds payments, payees, customers and sessions by amount, account, name, identifier and reference', async () => {
  const { page } = await person('Operator', 'Fay Finder')
  const found = async (text: string) => {
    await open(page, `find?q=${encodeURIComponent(text)}`)
    return `${page.url()} ${await main(page)}`
  }
  for (const text of ['7500', '7.500,00', '7,500.00 EUR', '€ 7 500', '7.500'])
    assert.match(await found(text), /INV-7500/, text)
  assert.match(await found('31,50'), /Dorothy Payer|transactions\//)
  assert.match(await found(ibans.FR), /Katherine Johnson[^]*INV-7500|INV-7500[^]*Katherine Johnson/)
  const year = String(new Date(textAt(paid, 'createdAt')).getFullYear())
  assert.match(await page.locator('tr', { hasText: 'INV-7500' }).innerText(), new RegExp(`Transaction\\s.*${year}`))
  await check(page)
  assert.match(await found(debtor.toLowerCase().replaceAll(/(.{4})/g, '$1 ')), /31\.50|transactions\//)
  const ofCustomer = await found(iban)
  assert.match(ofCustomer, new RegExp(own))
  assert.match(ofCustomer, /31\.50/)
  assert.match(await found('orbit 17'), /Katherine Johnson[^]*INV-7500|INV-7500[^]*Katherine Johnson/)
  assert.match(await found('Johns'), /payees\/|Katherine Johnson/)
  assert.match(await found(own), new RegExp(`customers/${guid}`))
  assert.match(await found(textAt(customer, 'serviceId')), new RegExp(`customers/${guid}`))
  for (const text of ['INV-75', textAt(paid, 'endToEndId')]) assert.match(await found(text), /INV-7500/, text)
  assert.match(await found(order), /transactions\//)
  assert.match(
    await found(textAt(session, 'creditorReference')),
    new RegExp(`checkout/${textAt(session, 'sessionId')}|Checkout session`),
  )
  assert.match(await found('7501'), /Nothing was found/)
  const foreign = await otherPartner(service)
  const theirs = textAt(await createBeneficiary(foreign, { alias: 'Foreign 9' }), 'id')
  assert.ok(!(await found('Foreign 9')).includes(theirs))
})

test('a list has its filters in one row, its first row near the top, and the sums of the shown rows', async () => {
  const { page } = await person('Operator', 'Lia Lister')
  await page.setViewportSize({ width: 1280, height: 800 })
  for (const path of ['transactions', 'payouts', 'payees', 'customers', 'checkout']) {
    await open(page, path)
    const tops = await page
      .locator('.filters > .grid input, .filters > .grid select, .filters > .buttons button')
      .evaluateAll((fields) => fields.map((field) => Math.round(field.getBoundingClientRect().bottom)))
    assert.ok(Math.max(...tops) - Math.min(...tops) <= 8, `${path}: ${tops.join()}`)
    const first = (await page.locator('tbody tr').first().boundingBox())?.y ?? 999
    assert.ok(first <= 300, `${path}: the first row is at ${first}`)
    await check(page)
  }
  await open(page, 'transactions')
  await page.selectOption('#currency', 'EUR')
  await press(page, 'Show')
  assert.match(await main(page), /Outgoing\s+[\d,]+\.\d\d EUR/)
  await page.getByText('More filters').click()
  await page.fill('#amountMin', '7.500,00')
  await page.fill('#account', ibans.FR)
  await press(page, 'Show')
  assert.match(await main(page), /7,500\.00 EUR\s+\(1\)/)
  assert.equal(await page.locator('tbody tr').count(), 1)
  await check(page)
  await page.setViewportSize({ width: 390, height: 800 })
  await check(page)
})

test('a payee is chosen with a search', async () => {
  const { page } = await person('Operator', 'Cho Chooser')
  for (const path of ['payouts/new', 'standing-orders/new'])
    for (const text of ['Johns', 'Orbit 17', ibans.FR]) {
      await open(page, path)
      await page.fill('#search', text)
      await press(page, 'Show')
      assert.equal(await page.locator('tbody tr').count(), 1, text)
      await page.getByRole('link', { name: 'Pay Katherine Johnson' }).click()
      assert.match(page.url(), new RegExp(`beneficiaryId=${payee}`))
    }
  await open(page, 'payouts/new?search=Unknown%20Person')
  assert.match(await main(page), /Nothing matches these filters/)
  await check(page)
})

test('the status of a payment changes while its page is open', async () => {
  const { page } = await person('Operator', 'Wes Watcher')
  success(await client.post('/v1/payouts/fiat', payoutText(payee, '3.00', { reference: 'Watched' })))
  const [payout = {}] = listAt(success(await client.get('/v1/payouts?reference=Watched')))
  await open(page, `payouts/${textAt(payout, 'id')}`)
  const loaded = await page.evaluate(() => performance.timeOrigin)
  const parts = await page.evaluate(async () => {
    const first = await fetch('', { headers: { 'X-Live': '1' } })
    const known = { 'X-Live': '1', 'If-None-Match': first.headers.get('etag') ?? '' }
    return [first.status, (await first.text()).slice(0, 15), (await fetch('', { headers: known })).status]
  })
  assert.deepEqual(parts.slice(0, 2), [200, '<div data-live='])
  assert.ok(parts[2] === 304 || parts[2] === 200)
  await page.locator('.strip .badge', { hasText: 'Completed' }).waitFor({ timeout: 60_000 })
  assert.equal(await page.evaluate(() => performance.timeOrigin), loaded)
  await check(page)
})

test('a failed payout shows the reason in the language of the reader, and is paid again', async () => {
  const payeeId = textAt(await createBeneficiary(service.client), 'id')
  const text = payoutText(payeeId, '4001.01', { reference: 'RE 4711' })
  success(await service.client.post('/v1/payouts/fiat', text))
  await finalTransaction(service.client, 'RE 4711')
  const [{ id } = {}] = listAt(success(await service.client.get(`/v1/payouts?beneficiaryId=${payeeId}`)))
  const { page } = await person('Operator', 'Frieda Failed')
  await open(page, 'language/de')
  await open(page, `payouts/${String(id)}`)
  assert.match(
    await main(page),
    /Die Bank hat die Zahlung abgelehnt\. Das Geld ist wieder verfügbar\.[^]*MS03: Eine Bank hat die Zahlung abgelehnt/,
  )
  await check(page)
  await page.getByRole('link', { name: 'Noch einmal zahlen' }).click()
  assert.equal(await page.locator('#amount').inputValue(), '4001.01')
  assert.equal(await page.locator('#reference').inputValue(), 'RE 4711')
  await page.fill('#amount', '1.200,00')
  await press(page, 'Vorschau')
  assert.match(await main(page), /1\.200,00 EUR[^]*Das Guthaben ist nicht getrennt/)
  assert.doesNotMatch(await main(page), /The balance is pooled/)
})
