/**
 * A session paid in parts, in a real browser: the payer sees the amount that is still due, and the receipt lists the
 * parts.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from '../support/browser.ts'
import { success, textAt } from '../support/client.ts'
import { useBrowser } from '../support/console.ts'
import { useService } from '../support/fixture.ts'

const service = await useService({ env: { SANDBOX_BANK_DELAY_MS: '300' } })
const browser = useBrowser()

test('the open page shows each part, with a code for the rest, and the receipt lists them', async () => {
  const order = { amount: 49.9, currency: 'EUR', customer: { email: 'ada@example.com' }, partialPayments: true }
  const session = success(
    await service.client.post('/v1/checkout/sessions', { ...order, idempotencyKey: randomUUID() }),
  )
  const pay = (amount: number) =>
    service.client.post(`/v1/simulations/checkout/sessions/${textAt(session, 'sessionId')}`, { step: 'credit', amount })
  const page = await (await browser()).newPage({ locale: 'en' })
  await page.goto(textAt(session, 'url'))
  const code = () => page.locator('figure svg').innerHTML()
  const whole = await code()
  assert.match(await page.locator('main').innerText(), /€49\.90[^]*or a part of it/)
  success(await pay(20))
  await page.getByText('€20.00 of €49.90 has arrived.').waitFor({ timeout: 90_000 })
  assert.equal(await page.locator('h1').innerText(), '€29.90')
  assert.notEqual(await code(), whole, 'the code has the rest')
  assert.equal(await page.locator('[data-copy="29.90"]').count(), 1)
  success(await pay(29.9))
  await page.getByRole('link', { name: 'Receipt' }).click({ timeout: 90_000 })
  assert.match(await page.locator('main').innerText(), /Payments[^]*€20\.00[^]*€29\.90/)
})
