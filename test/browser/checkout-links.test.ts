/**
 * Payment links and late payments in a real browser: two payers pay one link, each in their own browser; the shop
 * creates and disables a link, and accepts and returns late payments.
 */
import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { test } from '../support/browser.ts'
import { type JsonObject, listAt, success, textAt } from '../support/client.ts'
import { check, main, openPage, press, useConsole } from '../support/console.ts'
import { useSharedService } from '../support/fixture.ts'
import { lateSession, linkBody } from '../support/late-payments.ts'
import { until } from '../support/until.ts'
import { createCustomer } from '../support/world.ts'

const { service, site, person, browser } = useConsole(await useSharedService())
const { client } = service
const customerId = textAt(await createCustomer(client), 'guid')
const pathOf = (url: string) => new URL(url).pathname

const makeLink = async (fields: JsonObject = {}) =>
  success(await client.post('/v1/checkout/links', { ...linkBody(customerId), ...fields }))
const linkOf = async (id: string) => success(await client.get(`/v1/checkout/links/${id}`))
const sessionsOf = async (id: string) => listAt(success(await client.get(`/v1/checkout/sessions?linkId=${id}`)))

/** Opens a browser for a payer. `plain`: without JavaScript. */
async function payerAt(path: string, options: { readonly locale?: string; readonly javaScriptEnabled?: boolean } = {}) {
  // A form with a wrong field, and one of a link that is full, is refused.
  const refused = ['400 (Bad Request)', '409 (Conflict)']
  const opened = await openPage(await browser(), site, { locale: 'en', ...options }, refused)
  await opened.page.goto(`${site}${path}`)
  return opened
}

/** Approves the payment at the sandbox bank as the payer. */
async function payAtBank(page: Page, name: string): Promise<void> {
  await page.locator('button.primary').click()
  await page.locator('#name').fill(name)
  await page.locator('button.primary').click()
  await page.getByRole('button', { name: 'Approve' }).click()
  await until('the page shows that it is paid', async () => {
    await page.reload()
    return (await page.locator('.mark.completed').count()) === 1
  })
}

test('two payers pay one link, with and without JavaScript', async () => {
  const link = await makeLink({ description: 'Ticket <b>', paymentsMax: 2, returnUrl: 'https://shop.example.com/x' })
  const path = pathOf(textAt(link, 'url'))
  const ada = await payerAt(path)
  await check(ada.page)
  assert.match(await ada.page.locator('main').innerText(), /Ticket <b>/)
  await ada.page.fill('#name', 'Ada Lovelace')
  await ada.page.fill('#email', 'no address')
  await ada.page.locator('button.primary').click()
  assert.equal(await ada.page.locator('#name').inputValue(), 'Ada Lovelace', 'what was typed stays')
  await check(ada.page)
  await ada.page.fill('#email', 'ada@example.com')
  await ada.page.locator('button.primary').click()
  await ada.page.waitForURL(/\/checkout\/[^/]+$/u)
  await ada.page.locator('time.local').waitFor()
  assert.match(await ada.page.locator('.means').innerText(), /business day: send it by/)
  await check(ada.page)
  const grace = await payerAt(path, { javaScriptEnabled: false })
  await grace.page.fill('#name', 'Grace Hopper')
  await grace.page.locator('button.primary').click()
  const late = await payerAt(path)
  assert.match(await late.page.locator('main').innerText(), /takes no payment now[^]*reached its number of payments/)
  await check(late.page)
  await payAtBank(ada.page, 'Ada Lovelace')
  await payAtBank(grace.page, 'Grace Hopper')
  assert.equal((await linkOf(textAt(link, 'linkId'))).paymentsMade, 2)
  const sessions = await sessionsOf(textAt(link, 'linkId'))
  assert.deepEqual(
    sessions.map(({ payerName, status }) => [payerName, status]),
    [
      ['Grace Hopper', 'Completed'],
      ['Ada Lovelace', 'Completed'],
    ],
  )
  await ada.page.getByRole('link', { name: 'Receipt' }).first().click()
  assert.match(await ada.page.locator('main').innerText(), /Paid to\s+Sandbox Partner[^]*Account holder/)
  await check(ada.page)
})

test('the page of a link is in five languages, and an open amount has limits', async () => {
  const link = await makeLink({ amount: null, amountMin: 5, amountMax: 50 })
  const path = pathOf(textAt(link, 'url'))
  const { page } = await payerAt(path)
  const texts = new Set<string>()
  for (const language of ['en', 'de', 'fr', 'es', 'lt']) {
    await page.goto(`${site}${path}?lang=${language}`)
    assert.equal(await page.locator('html').getAttribute('lang'), language)
    texts.add(await page.locator('button.primary').innerText())
    await check(page)
  }
  assert.equal(texts.size, 5)
  await page.goto(`${site}${path}?lang=de`)
  await page.fill('#name', 'Ada')
  await page.fill('#amount', '4,99')
  await page.locator('button.primary').click()
  assert.equal(await page.locator('#amount').inputValue(), '4,99')
  await page.fill('#amount', '12,50')
  await page.locator('button.primary').click()
  await page.waitForURL(/lang=de$/u)
  const [session] = await sessionsOf(textAt(link, 'linkId'))
  assert.equal(Number(session?.amount), 12.5)
})

test('the shop creates a link with items, sees its payers, and switches it off', async () => {
  const { page } = await person('Operator', 'Olga Operator')
  await page.goto(`${site}/console/checkout/links/new`)
  await check(page)
  await page.fill('#customerId', customerId)
  await page.fill('#currency', 'EUR')
  await page.fill('#description', 'Two cups')
  await page.fill('#item0name', 'Espresso')
  await page.fill('#item0amount', '3,00')
  await page.getByRole('button', { name: 'Add a line' }).click()
  assert.equal(await page.locator('#item0name').inputValue(), 'Espresso')
  await page.fill('#item1name', 'Cappuccino')
  await page.fill('#item1quantity', '2')
  await page.fill('#item1amount', '7.00')
  await press(page, 'Make link')
  assert.match(await main(page), /The link is made[^]*10\.00 EUR[^]*Espresso[^]*Cappuccino/)
  await check(page)
  const path = pathOf((await page.locator('pre code').innerText()).trim())
  const payer = await payerAt(path)
  await payer.page.fill('#name', 'Joan Clarke')
  await payer.page.locator('button.primary').click()
  await page.getByRole('link', { name: 'Show its sessions' }).click()
  assert.match(await main(page), /Two cups[^]*Joan Clarke/)
  await check(page)
  await page.goBack()
  await page.getByRole('button', { name: 'Switch off' }).first().click()
  await page.getByRole('dialog').getByRole('button', { name: 'Switch off' }).click()
  await until('the link is off', async () => /The link is switched off/.test(await main(page)))
  await payer.page.goto(`${site}${path}`)
  assert.match(await payer.page.locator('main').innerText(), /has switched it off/)
})

test('the shop accepts one late payment and returns another, and a second decision is refused with a message', async () => {
  const { id } = await lateSession(client, customerId, 2)
  const { page } = await person('Operator', 'Lisa Operator')
  assert.match(await main(page), /1\s+Sessions with money to accept or send back/)
  await page.getByRole('link', { name: /Sessions with money/ }).click()
  assert.match(await main(page), /Choose about money/)
  await page.goto(`${site}/console/checkout/${id}`)
  await check(page)
  assert.match(await main(page), /Payments that do not match[^]*After the end[^]*Waits for your choice/)
  const other = await page.context().newPage()
  await other.goto(`${site}/console/checkout/${id}`)
  await choose(page, 'Accept for this order')
  await until('the money is accepted', async () => /accepted for this order/.test(await main(page)))
  await choose(other, 'Return to the payer')
  await until('the other choice is told', async () => /accepted or returned already/.test(await main(other)))
  await choose(page, 'Return to the payer')
  await until('the money goes back', async () => /on its way back to the payer/.test(await main(page)))
  await until('it is back', async () => {
    const { latePayments } = success(await client.get(`/v1/checkout/sessions/${id}`))
    const statuses = (latePayments as readonly JsonObject[]).map(({ status }) => status)
    return statuses.join() === 'Accepted,Returned'
  })
  await page.goto(`${site}/console/checkout/${id}`)
  await check(page)
  const { url } = success(await client.get(`/v1/checkout/sessions/${id}`))
  const payer = await payerAt(pathOf(String(url)))
  assert.match(await payer.page.locator('main').innerText(), /has accepted[^]*goes back to the account that paid/)
})

/** Opens the first dialog with a label, and confirms it. */
async function choose(page: Page, name: string): Promise<void> {
  await page
    .locator(`button[popovertarget]:has-text("${name.startsWith('Accept') ? 'Accept' : 'Return'}")`)
    .first()
    .click()
  await page.getByRole('dialog').getByRole('button', { name, exact: true }).click()
}
