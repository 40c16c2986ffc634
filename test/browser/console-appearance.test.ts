/** The appearance of payment pages in a real browser: set, refused and removed, and shown to a payer. */
import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { test } from '../support/browser.ts'
import { success, textAt } from '../support/client.ts'
import { check, main, openPage, useConsole } from '../support/console.ts'
import { useSharedService } from '../support/fixture.ts'
import { until } from '../support/until.ts'

const { service, site, person, browser } = useConsole(await useSharedService(), ['400', '403', '404', '413'])

const save = (page: Page) => page.getByRole('button', { name: 'Save appearance' }).click()
const svg = (content: string) => ({
  name: 'logo.svg',
  mimeType: 'image/svg+xml',
  buffer: Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8">${content}</svg>`),
})

test('a person sets name, colour and logo, payers see them, and invalid values are reported at their fields', async () => {
  const { page } = await person('Operator', 'Ann Operator')
  await page.goto(`${site}/console/checkout`)
  await page.getByRole('link', { name: 'Appearance' }).click()
  await check(page)
  await page.locator('#name').fill('Grace & <Coffee>')
  await page.locator('#accentColour').fill('#ffee00')
  await page.setInputFiles('#logo', svg('<script>alert(1)</script>'))
  await save(page)
  assert.match(
    await page.locator('#accentColour-error').innerText(),
    /hard to read\. The nearest colour that is not: #[0-9a-f]{6}/,
  )
  assert.equal(await page.locator('#name').inputValue(), 'Grace & <Coffee>', 'what was typed is kept')
  await check(page)
  await page.locator('#accentColour').fill('blue')
  await save(page)
  assert.match(await page.locator('#accentColour-error').innerText(), /Enter a colour as #rrggbb/)
  await page.locator('#accentColour').fill('#7A1F3D')
  await page.setInputFiles('#logo', svg('<script>alert(1)</script>'))
  await save(page)
  assert.match(await page.locator('#logo-error').innerText(), /no SVG of plain shapes/)
  await page.setInputFiles('#logo', svg('<rect width="8" height="8" fill="#7a1f3d"/>'))
  await save(page)
  await page.getByText('The appearance is saved.').waitFor()
  assert.equal(await page.locator('rect[fill="#7a1f3d"]').count(), 1)
  await until('the logo is loaded', () => page.evaluate('document.querySelector("main img").naturalWidth > 0'))
  await check(page)
  await page.setViewportSize({ width: 360, height: 800 })
  await check(page)
  const customer = { email: 'payer@example.com' }
  const body = { amount: 18, currency: 'EUR', customer, idempotencyKey: 'appearance' }
  const url = textAt(success(await service.client.post('/v1/checkout/sessions', body)), 'url')
  const payer = await openPage(await browser(), site)
  await payer.page.goto(url.replace(service.baseUrl, site))
  assert.match(await main(payer.page), /Grace & <Coffee>/)
  await payer.close()
  await page.locator('#removeLogo').check()
  await page.locator('#accentColour').fill('')
  await save(page)
  await page.getByText('The appearance is saved.').waitFor()
  const { name, ...rest } = success(await service.client.get('/v1/checkout/branding'))
  assert.deepEqual([name, rest], ['Grace & <Coffee>', {}])
  assert.equal((await page.goto(`${site}/console/checkout/appearance/logo`))?.status(), 404)
  const dev = await person('Developer', 'Dan Developer')
  await dev.page.goto(`${site}/console/checkout/appearance`)
  assert.equal(await dev.page.getByRole('button', { name: 'Save appearance' }).count(), 0)
  await check(dev.page)
})
