/** Standing orders and checkout sessions in a real browser: make one, follow it, end it; and what others see and do. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { launchBrowser, noBrowser as skip } from '../support/browser.ts'
import { listAt, success, textAt } from '../support/client.ts'
import { addAuthenticator, check, cookieOf, inviteTo, joinByPasskey, openPage, siteOf } from '../support/console.ts'
import { otherPartner, joinTestService, type SharedService } from '../support/service.ts'
import { sendForm } from '../support/team.ts'
import { until } from '../support/until.ts'
import { createBeneficiary } from '../support/world.ts'

let service: SharedService
let browser: Browser
let site: string
before(async () => {
  if (skip !== false) return
  service = await joinTestService()
  site = siteOf(service)
  browser = await launchBrowser()
})
after(async () => {
  await browser?.close()
  await service?.dispose()
})

async function person(role: 'Admin' | 'Developer' | 'Operator', name: string) {
  const opened = await openPage(browser, site, {}, ['400', '403', '404', '409'])
  await addAuthenticator(opened.context, opened.page)
  await joinByPasskey(service, opened.page, await inviteTo(service, role, name))
  return opened
}

const main = (page: Page) => page.locator('main').innerText()
const open = (page: Page, path: string) => page.goto(`${site}/console/${path}`)
const press = (page: Page, name: string | RegExp) => page.locator('main').getByRole('button', { name }).click()
const nextYear = new Date().getUTCFullYear() + 1

test('a person makes a standing order, sees its dates, pauses, resumes and cancels it', { skip }, async () => {
  const { page, close } = await person('Operator', 'Ann Operator')
  await page.getByRole('link', { name: 'Standing orders' }).click()
  assert.match(await main(page), /No standing order yet[^]*POST \/v1\/payouts\/standing-orders/)
  await check(page)
  await page.getByRole('link', { name: 'New standing order' }).click()
  assert.match(await main(page), /Save a payee first/)
  await createBeneficiary(service.client, { name: 'Landlord & Söhne' })
  await page.reload()
  await page.getByRole('link', { name: 'Pay Landlord & Söhne' }).click()
  await page.fill('#amount', '950,00')
  await page.fill('#reference', 'Rent')
  await page.fill('#startsOn', '2020-01-01')
  await page.fill('#dayOfMonth', 'last')
  await press(page, 'Create standing order')
  await page.locator('#dayOfMonth-error').waitFor()
  assert.equal(await page.locator('#reference').inputValue(), 'Rent')
  await check(page)
  await page.fill('#dayOfMonth', '31')
  await press(page, 'Create standing order')
  await page.locator('#startsOn-error').waitFor()
  await page.fill('#startsOn', `${nextYear}-01-01`)
  await page.fill('#count', '14')
  await press(page, 'Create standing order')
  assert.match(await main(page), /is created[^]*950\.00 EUR[^]*Every month/)
  assert.match(await main(page), new RegExp(`Next dates[^]*Jan 31, ${nextYear}[^]*Feb 2[89], ${nextYear}`))
  await check(page)
  await press(page, 'Pause')
  assert.match(await main(page), /is paused/)
  await press(page, 'Resume')
  assert.match(await main(page), /goes on/)
  await press(page, /^Cancel order/)
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel order' }).click()
  assert.match(await main(page), /is cancelled[^]*Ended because\s+Cancelled by your team/)
  assert.equal(await page.getByRole('button', { name: 'Resume' }).count(), 0)
  await check(page)
  await open(page, 'standing-orders?status=Active')
  assert.match(await main(page), /Nothing matches/)
  await open(page, 'standing-orders?status=Ended')
  await page.setViewportSize({ width: 360, height: 800 })
  await page.getByRole('link', { name: 'Landlord & Söhne' }).waitFor()
  await check(page)
  await close()
})

test('a form that is sent twice makes one order; another role and another partner make none', { skip }, async () => {
  const { context, page, close } = await person('Operator', 'Bo Operator')
  const id = textAt(await createBeneficiary(service.client), 'id')
  const fields = {
    ...{ beneficiaryId: id, amount: '5', frequency: 'Once', startsOn: `${nextYear}-03-01`, businessDays: 'None' },
    idempotencyKey: 'order-sent-twice',
  }
  const send = (cookie: string, changes = {}) =>
    sendForm(new URL(`${site}/console/standing-orders/new`), { ...fields, ...changes }, { cookie })
  const cookie = await cookieOf(context)
  const locations = [await send(cookie), await send(cookie)].map((answer) => answer.headers.get('location'))
  assert.ok(locations[0]?.endsWith('?done=created') && locations[0] === locations[1])
  const orders = listAt(success(await service.client.get('/v1/payouts/standing-orders')))
  assert.equal(orders.filter(({ beneficiaryId }) => beneficiaryId === id).length, 1)
  const foreign = await otherPartner(service)
  const theirs = textAt(await createBeneficiary(foreign), 'id')
  assert.equal((await send(cookie, { beneficiaryId: theirs })).status, 404)
  assert.equal((await open(page, `standing-orders/new?beneficiaryId=${theirs}`))?.status(), 404)
  await close()
  const dev = await person('Developer', 'Dan Developer')
  const path = locations[0]?.split('?')[0] ?? ''
  assert.equal((await open(dev.page, `standing-orders/${path}`))?.status(), 200)
  assert.equal(await dev.page.getByRole('button', { name: 'Pause' }).count(), 0)
  assert.equal((await open(dev.page, 'standing-orders/new'))?.status(), 403)
  const dans = await cookieOf(dev.context)
  assert.equal((await send(dans)).status, 403)
  const cancel = new URL(`${site}/console/standing-orders/${path}/cancel`)
  assert.equal((await sendForm(cancel, {}, { cookie: dans })).status, 403)
  assert.equal((await sendForm(cancel, {}, { cookie, 'sec-fetch-site': 'cross-site' })).status, 403)
  await dev.close()
})

test('a person opens a checkout session, plays its payer, and ends another one', { skip }, async () => {
  const { page, close } = await person('Admin', 'Cleo Admin')
  await page.getByRole('link', { name: 'Checkout' }).click()
  assert.match(await main(page), /No checkout session yet[^]*POST \/v1\/checkout\/sessions/)
  await check(page)
  await page.getByRole('link', { name: 'New checkout session' }).click()
  await page.fill('#amount', '49.90')
  await page.fill('#currency', 'EUR')
  await press(page, 'Open session')
  assert.match(await page.locator('#email-error').innerText(), /email of the payer/)
  await page.fill('#email', 'ada')
  await page.fill('#returnUrl', 'ftp://shop.example.com')
  await press(page, 'Open session')
  await page.locator('#email-error').waitFor()
  assert.equal(await page.locator('#amount').inputValue(), '49.90')
  await check(page)
  await page.fill('#email', 'payer@example.com')
  await press(page, 'Open session')
  await page.locator('#returnUrl-error').waitFor()
  await page.fill('#fullName', 'Ada <Payer>')
  await page.fill('#returnUrl', '')
  await press(page, 'Open session')
  assert.match(await main(page), /The session is open[^]*49\.90 EUR[^]*Awaits the payer[^]*\/checkout\//)
  await check(page)
  const session = page.url().split('?')[0] ?? ''
  await page.getByRole('link', { name: 'Simulate the payer' }).click()
  await page.selectOption('#outcome', 'completed')
  await press(page, 'Simulate')
  await page.getByText('The simulation has begun.').waitFor()
  await until('the session is paid', async () => {
    await page.goto(session)
    return (await main(page)).includes('Paid')
  })
  assert.equal(await page.getByRole('button', { name: /End session/ }).count(), 0)
  await check(page)
  await page.getByRole('link', { name: 'Open the customer' }).click()
  assert.match(await main(page), /Ada <Payer>/)
  const customer = page.url().split('/').at(-1) ?? ''
  await open(page, `checkout/new?amount=5&currency=EUR&customerId=${customer}`)
  await press(page, 'Open session')
  await press(page, /^End session/)
  await page.getByRole('dialog').getByRole('button', { name: 'End session' }).click()
  assert.match(await main(page), /The session has expired/)
  await open(page, `checkout?customerId=${customer}`)
  assert.equal(await page.locator('tbody tr').count(), 2)
  await page.setViewportSize({ width: 360, height: 800 })
  await check(page)
  assert.equal((await open(page, 'checkout?createdFrom=never'))?.status(), 400)
  await page.locator('#createdFrom-error').waitFor()
  await close()
  const dev = await person('Developer', 'Dot Developer')
  assert.equal((await dev.page.goto(session))?.status(), 200)
  assert.equal((await open(dev.page, 'checkout/new'))?.status(), 403)
  const ended = new URL(`${session}/expire`)
  assert.equal((await sendForm(ended, {}, { cookie: await cookieOf(dev.context) })).status, 403)
  assert.equal((await open(dev.page, 'checkout/nonsense'))?.status(), 404)
  await dev.close()
})
