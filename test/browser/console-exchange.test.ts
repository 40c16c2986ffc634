/**
 * Exchange and wallets in a real browser: a quote and its exchange, refusals, a form submitted twice, and people
 * without permission.
 */
import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { createLog } from '../../service/src/kernel/index.ts'
import { createDatabase, sql } from '../../service/src/postgres/index.ts'
import { test } from '../support/browser.ts'
import { listAt, success, textAt } from '../support/client.ts'
import { cookieOf, main, press, useConsole } from '../support/console.ts'
import { checkForms } from '../support/desk.ts'
import { untilEnd, useSharedService } from '../support/fixture.ts'
import { otherPartner } from '../support/service.ts'
import { sendForm } from '../support/team.ts'
import { balanceOf, createCustomer, simulateTokens, transactionOf } from '../support/world.ts'

const { service, site, person, open } = useConsole(await useSharedService())
const db = untilEnd(createDatabase({ url: service.databaseUrl, connectionsMax: 1, log: createLog('silent') }))

const errorAt = (page: Page, field: string) => page.locator(`#${field}-error`).innerText()
const conversions = async () => listAt(success(await service.client.get('/v1/transactions?category=Conversion')))

async function quoteFor(page: Page, amount: string): Promise<string> {
  await open(page, `exchange?sellCurrency=EUR&buyCurrency=USD&amount=${amount}`)
  await press(page, 'Get quote')
  await page.getByRole('button', { name: /^Exchange/ }).waitFor()
  return new URL(page.url()).pathname.split('/').at(-1) ?? ''
}

const expire = (quoteId: string) =>
  db.run(sql`
    update fx.quotes set created_at = now() - interval '2 hours', expires_at = now() - interval '1 hour'
    where id = ${quoteId}`)

test('a person requests a quote and exchanges, and the ledger has exactly the amounts of the page', async () => {
  const { page } = await person('Operator', 'Ann Operator')
  await page.getByRole('link', { name: 'Exchange', exact: true }).click()
  assert.match(await main(page), /EUR\/GBP[^]*EUR\/USD[^]*Rates of .*, as of/)
  await checkForms(page)
  await page.selectOption('#base', 'GBP')
  await press(page, 'Show')
  assert.match(await main(page), /GBP\/EUR[^]*GBP\/USD/)
  await page.selectOption('#buyCurrency', 'USD')
  await page.selectOption('#sellCurrency', 'EUR')
  await page.fill('#amount', '100,00')
  await press(page, 'Get quote')
  assert.match(await main(page), /Check the exchange[^]*You sell\s+100\.00 EUR[^]*1 EUR = [\d.]+ USD[^]*Holds until/)
  await page
    .getByRole('timer')
    .filter({ hasText: /^0:\d\d left$/ })
    .waitFor()
  await checkForms(page)
  const quoteId = new URL(page.url()).pathname.split('/').at(-1) ?? ''
  const quote = success(await service.client.get(`/v1/fx/quotes/${quoteId}`))
  const before = { EUR: await balanceOf(service.client), USD: await balanceOf(service.client, 'USD') }
  await press(page, 'Exchange 100.00 EUR')
  assert.match(await main(page), /The money is exchanged[^]*Sold\s+100\.00 EUR/)
  assert.equal(await page.getByRole('button', { name: /^Exchange/ }).count(), 0)
  await checkForms(page)
  const bought = BigInt(Math.round(Number(quote.buyAmount) * 100))
  assert.equal((await balanceOf(service.client)).available, before.EUR.available - 10_000n)
  assert.equal((await balanceOf(service.client, 'USD')).available, before.USD.available + bought)
  await page.getByRole('link', { name: 'Open the transaction' }).click()
  const reference = await page.locator('h1').innerText()
  const made = await transactionOf(service.client, reference)
  assert.deepEqual([made.status, made.category, made.userAmount], ['Completed', 'Conversion', quote.buyAmount])
  await open(page, 'exchange')
  await page.getByRole('link', { name: 'All exchanges' }).click()
  await page.getByRole('link', { name: reference }).waitFor()
})

test('a refused form keeps all input and reports the problem at its field', async () => {
  const { page } = await person('Operator', 'Bo Operator')
  const before = (await conversions()).length
  const unknown = '019aa8c4-6e4f-7a12-8d3e-2b1c5f7a9e10'
  await open(page, 'exchange?sellCurrency=USD&buyCurrency=USD&amount=12.3456&side=buy&kind=held')
  await press(page, 'Get quote')
  assert.match(await errorAt(page, 'buyCurrency'), /another currency than the one you sell/)
  await checkForms(page)
  await page.selectOption('#buyCurrency', 'EUR')
  await press(page, 'Get quote')
  assert.match(await errorAt(page, 'amount'), /more decimal places/)
  for (const [amount, text] of [
    ['1,250', /Three decimals can be read as thousands/],
    ['1,250.00', /without grouping/],
    ['99999999', /too small or too large/],
  ] as const) {
    await page.fill('#amount', amount)
    await press(page, 'Get quote')
    assert.match(await errorAt(page, 'amount'), text)
    assert.equal(await page.locator('#amount').inputValue(), amount)
  }
  await page.fill('#amount', '12.34')
  await page.fill('#customerId', unknown)
  await press(page, 'Get quote')
  assert.match(await errorAt(page, 'customerId'), /no customer with this id/)
  assert.deepEqual(
    [
      await page.locator('#sellCurrency').inputValue(),
      await page.getByLabel('What you buy').isChecked(),
      await page.getByLabel('For 30 minutes').isChecked(),
    ],
    ['USD', true, true],
  )
  await page.fill('#customerId', '')
  await press(page, 'Get quote')
  assert.match(await main(page), /You buy\s+12\.34 EUR/)
  await page
    .getByRole('timer')
    .filter({ hasText: /^(?:29:\d\d|30:00) left$/ })
    .waitFor()
  await page.getByRole('link', { name: 'Change', exact: true }).click()
  assert.equal(await page.locator('#amount').inputValue(), '12.34')
  assert.equal(await page.getByLabel('What you buy').isChecked(), true)
  await open(page, 'exchange?base=JPY')
  assert.match(await errorAt(page, 'base'), /cannot be exchanged/)
  await quoteFor(page, '5000000')
  await press(page, /^Exchange/)
  assert.match(await main(page), /not enough money available[^]*Nothing was exchanged/)
  await checkForms(page)
  success(await service.client.post('/v1/simulations/fx/rates', { stale: true }))
  await open(page, 'exchange')
  assert.match(await main(page), /There are no current rates/)
  await page.fill('#amount', '5')
  await press(page, 'Get quote')
  assert.match(await page.getByRole('alert').innerText(), /no current rates/)
  assert.equal(await page.locator('#amount').inputValue(), '5')
  await checkForms(page)
  success(await service.client.post('/v1/simulations/fx/rates', { stale: false }))
  assert.equal((await conversions()).length, before)
})

test('an expired quote exchanges nothing, and a form submitted twice creates one conversion', async () => {
  const { context, page } = await person('Operator', 'Cy Operator')
  const expired = await quoteFor(page, '7')
  await expire(expired)
  const before = (await conversions()).length
  await press(page, /^Exchange/)
  assert.match(await page.getByRole('alert').innerText(), /expired before the exchange\. Nothing was exchanged/)
  assert.match(await main(page), /The quote has expired/)
  await checkForms(page)
  assert.equal((await conversions()).length, before)
  await page.getByRole('link', { name: 'New quote' }).click()
  assert.equal(await page.locator('#amount').inputValue(), '7.00')
  const quoteId = await quoteFor(page, '8')
  const action = new URL(`${site}/console/exchange/${quoteId}/conversion`)
  const idempotencyKey = await page.locator('input[name=idempotencyKey]').inputValue()
  const cookie = await cookieOf(context)
  const send = (key: string) => sendForm(action, { idempotencyKey: key }, { cookie })
  const answers = await Promise.all([send(idempotencyKey), send(idempotencyKey)])
  for (const answer of [...answers, await send(idempotencyKey)])
    assert.deepEqual([answer.status, answer.headers.get('location')], [303, `../${quoteId}?done=exchanged`])
  assert.equal((await conversions()).length, before + 1)
  // The page in another tab has another key: the quote is used, and the page says by what.
  const other = await send('of-another-tab')
  assert.equal(other.status, 400)
  assert.match(await other.text(), /used already/)
  assert.equal((await conversions()).length, before + 1)
})

test('a Developer can read but not change exchange and wallets, and another partner sees only its own data', async () => {
  const { context, page } = await person('Developer', 'Dan Developer')
  const body = { sellCurrency: 'EUR', buyCurrency: 'USD', sellAmount: 3, kind: 'held' }
  const customerId = textAt(await createCustomer(service.client), 'guid')
  const id = textAt(success(await service.client.post('/v1/fx/quotes', { ...body, customerId })), 'id')
  assert.equal((await open(page, 'exchange'))?.status(), 200)
  assert.equal(await page.getByRole('button', { name: 'Get quote' }).count(), 0)
  assert.equal((await open(page, `exchange/${id}`))?.status(), 200)
  assert.match(await main(page), /Customer\s+Ada Lovelace[^]*Available in EUR\s+[\d,]+\.\d\d EUR/)
  assert.equal(await page.getByRole('button', { name: /^Exchange/ }).count(), 0)
  await checkForms(page)
  const headers = { cookie: await cookieOf(context) }
  const send = (path: string) => sendForm(new URL(`${site}/console/${path}`), { amount: '1' }, headers)
  for (const path of ['exchange', `exchange/${id}/conversion`, 'wallets/new'])
    assert.equal((await send(path)).status, 403, path)
  assert.equal((await open(page, 'wallets/new'))?.status(), 403)
  assert.equal(textAt(success(await service.client.get(`/v1/fx/quotes/${id}`)), 'status'), 'Open')
  const foreign = await otherPartner(service)
  const theirs = textAt(success(await foreign.post('/v1/fx/quotes', body)), 'id')
  const wallet = textAt(success(await foreign.post('/v1/wallets', { currency: 'USDC' })), 'id')
  for (const path of [`exchange/${theirs}`, `wallets/${wallet}`, 'exchange/nonsense', 'wallets/nonsense'])
    assert.equal((await open(page, path))?.status(), 404, path)
})

test('a person opens a wallet, reads its address, simulates a deposit and finds the wallet', async () => {
  const { page } = await person('Admin', 'Eve Admin')
  const customer = textAt(await createCustomer(service.client), 'guid')
  await page.getByRole('link', { name: 'Wallets' }).click()
  assert.match(await main(page), /No wallet yet[^]*Open the first here/)
  await checkForms(page)
  await page.getByRole('link', { name: 'New wallet' }).click()
  await page.fill('#customerId', 'nobody')
  await press(page, 'Open wallet')
  assert.match(await errorAt(page, 'customerId'), /no customer with this id/)
  assert.equal(await page.locator('#customerId').inputValue(), 'nobody')
  await checkForms(page)
  await page.fill('#customerId', customer)
  await press(page, 'Open wallet')
  assert.match(await main(page), /The wallet is ready[^]*Send only USDC on the chain .* \(chain id \d+\)/)
  await checkForms(page)
  const [wallet] = listAt(success(await service.client.get('/v1/wallets')))
  const address = textAt(wallet ?? {}, 'address')
  assert.ok((await main(page)).includes(address))
  const id = new URL(page.url()).pathname.split('/').at(-1) ?? ''
  await page.getByRole('link', { name: 'Simulate a deposit' }).click()
  assert.equal(await page.locator('#walletId').inputValue(), id)
  await simulateTokens(service.client, id)
  // The same owner and token: the same wallet.
  await open(page, `wallets/new?currency=USDC&customerId=${customer}`)
  await press(page, 'Open wallet')
  assert.match(await main(page), /Received\s+1,000\.000000 USDC/)
  assert.equal(new URL(page.url()).pathname.split('/').at(-1), id)
  await page.getByRole('link', { name: 'Deposits in USDC' }).click()
  assert.equal(await page.locator('tbody tr').count(), 1)
  success(await service.client.post('/v1/wallets', { currency: 'EURC' }))
  await open(page, 'wallets')
  assert.equal(await page.locator('tbody tr').count(), 2)
  await checkForms(page)
  await open(page, `customers/${customer}`)
  await page.locator('main').getByRole('link', { name: 'Wallets' }).click()
  await page.getByRole('link', { name: address }).waitFor()
  await page.selectOption('#currency', 'EURC')
  await press(page, 'Show')
  assert.match(await main(page), /Nothing matches these filters/)
})
