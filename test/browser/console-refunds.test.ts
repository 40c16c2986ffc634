/**
 * Refunds of checkout sessions in a real browser: the form, the preview of its effect, the list, and the permissions.
 */
import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { test } from '../support/browser.ts'
import { listAt, success, textAt } from '../support/client.ts'
import { check, cookieOf, main, openPage, press, useConsole } from '../support/console.ts'
import { useSharedService } from '../support/fixture.ts'
import { paidSession, refundBody } from '../support/paid-session.ts'
import { otherPartner } from '../support/service.ts'
import { sendForm } from '../support/team.ts'
import { until } from '../support/until.ts'
import { createCustomer } from '../support/world.ts'

const { service, site, person, browser } = useConsole(await useSharedService())
const customerId = textAt(await createCustomer(service.client), 'guid')

/** Opens the same session in a browser that prefers German. */
async function inGerman({ context }: Awaited<ReturnType<typeof person>>) {
  const german = await openPage(await browser(), site, { locale: 'de' })
  await german.context.addCookies(await context.cookies())
  return german
}

const open = (page: Page, id: string) => page.goto(`${site}/console/checkout/${id}`)
const refundsOf = async (id: string) => listAt(success(await service.client.get(`/v1/checkout/sessions/${id}/refunds`)))

test('a person refunds a part and then the rest: input is kept, and nothing is sent before the effect is shown', async () => {
  const id = await paidSession(service.client, customerId, 49.9)
  const { page } = await person('Operator', 'Ann Operator')
  await open(page, id)
  assert.match(await main(page), /Nothing of this payment was refunded/)
  await check(page)
  await page.getByText('Refund payment').click()
  assert.equal(await page.locator('#amount').inputValue(), '49.90', 'the whole by default')
  await page.fill('#reason', 'One cup <was> broken')
  for (const wrong of ['50', '0', '1,250']) {
    await page.fill('#amount', wrong)
    await press(page, 'Check refund')
    await page.locator('#amount-error').waitFor()
    assert.deepEqual(
      [await page.locator('#amount').inputValue(), await page.locator('#reason').inputValue()],
      [wrong, 'One cup <was> broken'],
    )
  }
  await check(page)
  await page.fill('#amount', '9,90')
  await page.fill('#reference', 'Refund of order 42')
  await press(page, 'Check refund')
  assert.match(
    await main(page),
    /Nothing is sent yet[^]*9\.90 EUR[^]*Sandbox Payer[^]*Still refundable afterwards\s+40\.00 EUR/,
  )
  assert.deepEqual(await refundsOf(id), [])
  await check(page)
  await press(page, 'Change')
  assert.equal(await page.locator('#reference').inputValue(), 'Refund of order 42')
  await press(page, 'Check refund')
  await press(page, 'Refund 9.90 EUR')
  assert.match(
    await main(page),
    /The refund is accepted[^]*Refunded\s+9\.90 EUR[^]*Refund of order 42[^]*One cup <was> broken/,
  )
  await until('the refund has completed', async () => {
    await open(page, id)
    return (await page.locator('section table').innerText()).includes('Completed')
  })
  await page.setViewportSize({ width: 360, height: 800 })
  await page.getByText('Refund payment').click()
  assert.equal(await page.locator('#amount').inputValue(), '40.00')
  assert.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), 'nothing scrolls sideways')
  await check(page)
  await press(page, 'Check refund')
  assert.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), 'nothing scrolls sideways')
  await check(page)
  await press(page, 'Refund 40.00 EUR')
  assert.match(await main(page), /The whole payment is refunded/)
  assert.equal(await page.getByText('Refund payment').count(), 0)
  await page.getByRole('link', { name: 'Refund of order 42' }).click()
  assert.match(await main(page), /Sandbox Payer[^]*9\.90 EUR[^]*Completed/)
})

test('a form submitted twice creates one refund, and another role, site or partner cannot create one', async () => {
  const id = await paidSession(service.client, customerId, 20)
  const { context, page } = await person('Admin', 'Bo Admin')
  const fields = { amount: '5', reason: 'Twice', idempotencyKey: 'refund-sent-twice' }
  const form = new URL(`${site}/console/checkout/${id}/refund/send`)
  const cookie = await cookieOf(context)
  const answers = await Promise.all([sendForm(form, fields, { cookie }), sendForm(form, fields, { cookie })])
  assert.deepEqual(
    answers.map((answer) => [answer.status, answer.headers.get('location')]),
    [1, 2].map(() => [303, `../../${id}?done=refunded`]),
  )
  assert.equal((await refundsOf(id)).length, 1)
  const changed = await sendForm(form, { ...fields, amount: '6' }, { cookie })
  assert.equal(changed.status, 400)
  assert.match(await changed.text(), /This form was sent before with other values/)
  const tooMuch = await sendForm(form, { amount: '15.01', idempotencyKey: 'too-much' }, { cookie })
  assert.match(await tooMuch.text(), /id="amount-error"/)
  assert.equal(
    (await sendForm(form, { ...fields, idempotencyKey: 'x' }, { cookie, 'sec-fetch-site': 'cross-site' })).status,
    403,
  )
  const foreign = await otherPartner(service)
  const theirs = await paidSession(foreign, textAt(await createCustomer(foreign), 'guid'), 20)
  assert.equal((await open(page, theirs))?.status(), 404)
  const atTheirs = new URL(`${site}/console/checkout/${theirs}/refund/send`)
  assert.equal((await sendForm(atTheirs, { amount: '5', idempotencyKey: 'theirs' }, { cookie })).status, 404)
  const dev = await person('Developer', 'Dot Developer')
  await open(dev.page, id)
  assert.match(await main(dev.page), /Refunded\s+5\.00 EUR[^]*Twice/)
  assert.equal(await dev.page.getByText('Refund payment').count(), 0)
  const dots = await cookieOf(dev.context)
  for (const path of ['refund', 'refund/send']) {
    const refused = await sendForm(new URL(`${site}/console/checkout/${id}/${path}`), fields, { cookie: dots })
    assert.equal(refused.status, 403, path)
  }
  assert.equal((await refundsOf(id)).length, 1)
})

test('a refund that waits for a second person states so, also in German, and its link leads to the approval', async () => {
  const id = await paidSession(service.client, customerId, 300)
  const rule = ['--partner', service.credentials.partnerId, '--currency', 'EUR', '--above', '200.00', '--passkey']
  await service.operator('approval', 'set', ...rule, '--staff', 'Sam', '--note', 'two persons')
  const { page } = await inGerman(await person('Operator', 'Cleo Operator'))
  await open(page, id)
  await page.getByText('Zahlung erstatten').click()
  await check(page)
  await press(page, 'Erstattung prüfen')
  assert.match(await main(page), /Noch wird nichts gesendet[^]*300,00 EUR/)
  await check(page)
  await press(page, '300,00 EUR erstatten')
  assert.match(await main(page), /Die Erstattung ist angenommen[^]*Wartet auf Freigabe/)
  assert.equal((await refundsOf(id))[0]?.status, 'PendingApproval')
  await page.locator('section table a').click()
  assert.equal(await page.getByRole('link', { name: /Prüfen/ }).count(), 0, 'the maker does not approve')
  const other = await person('Admin', 'Dan Admin')
  await other.page.goto(page.url())
  await open(other.page, id)
  await other.page.locator('section table a').click()
  await other.page.getByRole('link', { name: 'Review and approve' }).click()
  assert.match(await main(other.page), /300\.00 EUR/)
  await other.page.getByRole('button', { name: /^Approve / }).click()
  await until('the refund is approved', async () => (await refundsOf(id))[0]?.status !== 'PendingApproval')
})

test('many refunds are shown in pages', async () => {
  const id = await paidSession(service.client, customerId, 30)
  for (let made = 0; made < 27; made += 1)
    success(await service.client.post(`/v1/checkout/sessions/${id}/refunds`, refundBody(0.5)))
  const { page } = await person('Operator', 'Eve Operator')
  await open(page, id)
  assert.equal(await page.locator('tbody tr').count(), 25)
  await page.getByRole('link', { name: 'Next page' }).click()
  assert.equal(await page.locator('tbody tr').count(), 2)
})
