/**
 * The payment page and the sandbox bank's page in a real browser: with and without JavaScript, by keyboard, in both
 * themes and both sizes. A blocked, failed or cross-origin request fails the test, and so does any finding of axe.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { createRequire } from 'node:module'
import { brotliDecompressSync } from 'node:zlib'
import type { BrowserContext, Page } from 'playwright-core'
import { test } from '../support/browser.ts'
import { type JsonObject, success, textAt } from '../support/client.ts'
import { openPage, useBrowser } from '../support/console.ts'
import { useService } from '../support/fixture.ts'
import { until } from '../support/until.ts'
import { finalTransaction } from '../support/world.ts'

const desktop = { width: 1280, height: 900 }
const phone = { width: 390, height: 844 }
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

const service = await useService({ env: { SANDBOX_BANK_DELAY_MS: '300', BRAND_NAME: 'ACME Pay' } })
const browser = useBrowser()

async function openSession(fields: JsonObject = {}): Promise<JsonObject> {
  const body = { amount: 49.9, currency: 'EUR', idempotencyKey: randomUUID(), customer: { email: 'ada@example.com' } }
  return success(await service.client.post('/v1/checkout/sessions', { ...body, ...fields }))
}
const simulate = (session: JsonObject, body: JsonObject) =>
  service.client.post(`/v1/simulations/checkout/sessions/${textAt(session, 'sessionId')}`, body)

async function visit(url: string, options?: Parameters<typeof openPage>[2], expected?: readonly string[]) {
  const opened = await openPage(await browser(), service.baseUrl, options, expected)
  await opened.page.goto(url)
  return opened
}

const heading = (page: Page) => page.locator('h1').innerText()

/** Signs in at the bank as the payer. */
async function toDecision(page: Page): Promise<void> {
  await page.locator('button.primary').click()
  await page.locator('#name').fill('Grace Hopper')
  await page.locator('button.primary').click()
}

test('a payer pays on the bank page, and the payment page shows it without a reload', async () => {
  const session = await openSession({ returnUrl: 'https://shop.example.com/orders/42' })
  const { page, close } = await visit(textAt(session, 'url'))
  assert.equal(await heading(page), '€49.90')
  assert.equal(await page.locator('html').getAttribute('lang'), 'en')
  assert.match(await page.locator('.timer').innerText(), /^Time left (1:00:00|59:\d\d)$/)
  const back = `https://shop.example.com/orders/42?sessionId=${textAt(session, 'sessionId')}`
  assert.equal(await page.locator('.back a').getAttribute('href'), back)
  assert.equal(await page.locator('svg.qr').count(), 1)
  await toDecision(page)
  assert.equal(await heading(page), 'Confirm the payment')
  await page.getByRole('button', { name: 'Approve' }).click()
  let navigations = 0
  page.on('framenavigated', () => void (navigations += 1))
  await page.locator('.mark.completed').waitFor()
  assert.equal(navigations, 0)
  assert.equal(await page.locator('#live').innerText(), 'Paid · Sandbox Partner')
  assert.equal(await page.title(), 'Paid · Sandbox Partner')
  await page.getByRole('button', { name: 'Stay on this page' }).click()
  assert.equal(await page.locator('.returning').isVisible(), false)
  await close()
  const transaction = await finalTransaction(service.client, textAt(session, 'reference'))
  assert.equal(transaction.status, 'Completed')
  assert.equal(transaction.type, 'CustomerDeposit')
})

test('a payer without JavaScript can also pay, and only the copy buttons are hidden', async () => {
  const session = await openSession()
  const { page } = await visit(textAt(session, 'url'), { javaScriptEnabled: false, viewport: phone })
  assert.equal(await page.locator('.copy:visible').count(), 0)
  assert.match(await page.locator('.by').innerText(), /^The money must have arrived by .+ UTC\.$/)
  await toDecision(page)
  await page.getByRole('button', { name: 'Approve' }).click()
  await until('the page shows the outcome after a reload', async () => {
    await page.reload()
    return (await page.locator('.mark.completed').count()) === 1
  })
})

test('the copy buttons copy the format that a bank accepts, without blanks, and confirm it', async () => {
  const session = await openSession()
  const { page, context } = await visit(textAt(session, 'url'))
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  for (const [name, text] of [
    ['Copy IBAN', textAt(session, 'iban')],
    ['Copy Amount', '49.90'],
    ['Copy Reference', textAt(session, 'creditorReference')],
  ] as const) {
    await page.getByRole('button', { name }).click()
    await page.getByText('Copied', { exact: true }).first().waitFor()
    assert.equal(await page.evaluate('navigator.clipboard.readText()'), text)
  }
})

test('an open page shows changes made elsewhere: a credit by reference, and the partner ending the session', async () => {
  const [paid, ended] = [await openSession(), await openSession()]
  const first = await visit(textAt(paid, 'url'))
  const second = await visit(textAt(ended, 'url'))
  success(await simulate(paid, { step: 'credit' }))
  success(await service.client.post(`/v1/checkout/sessions/${textAt(ended, 'sessionId')}/expire`))
  await first.page.locator('.mark.completed').waitFor()
  await second.page.locator('.mark.expired').waitFor()
  assert.equal(await heading(second.page), 'The time to pay is over')
})

test("the language is the browser's, and a chosen language is kept from page to page", async () => {
  const session = await openSession()
  for (const [locale, text] of [
    ['de-AT', 'Selbst überweisen'],
    ['fr', 'Faire le virement vous-même'],
    ['es-MX', 'Hacer la transferencia usted mismo'],
    ['lt', 'Pervesti patiems'],
    ['ja', 'Transfer it yourself'],
  ] as const) {
    const { page, close } = await visit(textAt(session, 'url'), { locale })
    assert.equal(await page.locator('#by-transfer').innerText(), text)
    assert.equal(await page.locator('html').getAttribute('lang'), locale === 'ja' ? 'en' : locale.slice(0, 2))
    await close()
  }
  const { page } = await visit(textAt(session, 'url'))
  await page.getByRole('link', { name: 'Deutsch' }).click()
  await toDecision(page)
  assert.equal(await heading(page), 'Zahlung bestätigen')
  await page.getByRole('button', { name: 'Ablehnen' }).click()
  await page.locator('.mark.failed').waitFor()
  assert.equal(await heading(page), 'Die Zahlung kam nicht zustande')
})

test('a keyboard reaches every control in reading order, with a visible focus', async () => {
  const session = await openSession({ returnUrl: 'https://shop.example.com/' })
  const { page } = await visit(textAt(session, 'url'))
  const reached: unknown[] = []
  for (let presses = 0; presses < 13; presses += 1) {
    await page.keyboard.press('Tab')
    const [name, outline] = (await page.evaluate(`(() => {
      const { activeElement: at } = document
      return [at.innerText.replace(/\\s+/g, ' ').trim() || at.id, getComputedStyle(at).outlineWidth]
    })()`)) as [string, string]
    assert.equal(outline, '3px', name)
    reached.push(name.startsWith('Germany') ? 'country' : name)
  }
  const copies = ['Copy Recipient', 'Copy IBAN', 'Copy BIC', 'Copy Amount', 'Copy Reference']
  const languages = ['English', 'Deutsch', 'Français', 'Español', 'Lietuvių']
  assert.deepEqual(reached, ['country', 'Pay with your bank', ...copies, 'Back to shop.example.com', ...languages])
  await page.locator('button.primary').focus()
  await page.keyboard.press('Enter')
  await page.locator('#name').focus()
  await page.keyboard.type('Grace Hopper')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Approve' }).focus()
  await page.keyboard.press('Space')
  await page.locator('.mark.completed').waitFor()
})

test('a screen reader reads the content of the page in its order', async () => {
  const session = await openSession()
  const { page } = await visit(textAt(session, 'url'))
  const snapshot = await page.locator('main').ariaSnapshot()
  const order = [
    'heading "€49.90"',
    'Pay with your bank',
    'combobox "Country of your bank"',
    'IBAN',
    'Copy IBAN',
    'Reference',
    'img "QR code',
  ]
  const places = order.map((text) => snapshot.indexOf(text))
  assert.ok(!places.includes(-1), snapshot)
  assert.deepEqual(
    places,
    places.toSorted((left, right) => left - right),
    snapshot,
  )
})

const purchase = {
  description: 'Order 42',
  lineItems: [
    { name: 'Espresso beans, '.repeat(8), quantity: 12, amount: 48.9 },
    { name: 'Shipping', quantity: 1, amount: 1 },
  ],
}

/** Opens the pages in each state, in a browser context that allows the script of axe. */
async function states(context: BrowserContext): Promise<ReadonlyMap<string, Page>> {
  const pages = new Map<string, Page>()
  const add = async (name: string, url: string) => {
    const page = await context.newPage()
    await page.goto(url)
    pages.set(name, page)
    return page
  }
  const url = async (fields: JsonObject = {}) =>
    textAt(await openSession({ returnUrl: 'https://a.example/', ...purchase, ...fields }), 'url')
  await add('open', await url())
  await add('open in dollars', await url({ currency: 'USD' }))
  await (await add('sign in', await url())).locator('button.primary').click()
  const wrong = await add('wrong name', await url())
  await wrong.locator('button.primary').click()
  await wrong.goto(`${wrong.url()}?name=wrong`)
  await toDecision(await add('decision', await url()))
  const begun = await add('begun', await url())
  await begun.locator('button.primary').click()
  await begun.getByRole('link', { name: 'Leave without a decision' }).click()
  const submitted = await openSession()
  success(await simulate(submitted, { step: 'initiate' }))
  success(await simulate(submitted, { step: 'submit' }))
  const processing = await add('processing', textAt(submitted, 'url'))
  await processing.locator('.steps').waitFor()
  for (const [outcome, mark] of [
    ['completed', '.completed'],
    ['failed', '.failed'],
    ['expired', '.expired'],
  ] as const) {
    const session = await openSession(purchase)
    success(await simulate(session, { outcome }))
    const url = textAt(session, 'url')
    await (await add(outcome, url)).locator(mark).waitFor()
    if (outcome === 'completed') await add('receipt', `${url}/receipt`)
  }
  await add('unknown link', `${service.baseUrl}/checkout/${'x'.repeat(64)}`)
  return pages
}

/**
 * The colours that are suggested instead of the brightest and the darkest one. Their contrast is the minimum that is
 * allowed.
 */
async function setBarelyReadableBranding(): Promise<void> {
  const proposed = async (field: string, colour: string): Promise<string> => {
    const refused = await service.client.put('/v1/checkout/branding', { [field]: colour })
    assert.equal(refused.status, 422)
    return /passes is (#[0-9a-f]{6})/.exec(JSON.stringify(refused.json))?.[1] ?? ''
  }
  const [accentColour, accentColourDark] = [
    await proposed('accentColour', '#ffff00'),
    await proposed('accentColourDark', '#000080'),
  ]
  const logo = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 90 9"><path fill="#789" d="M0 0h90v9H0z"/></svg>'
  const branding = { name: 'Grace Coffee', accentColour, accentColourDark, logo: Buffer.from(logo).toString('base64') }
  success(await service.client.put('/v1/checkout/branding', branding))
}

test('axe finds nothing in any state, theme and size, and every control is 44 pixels high', async () => {
  await setBarelyReadableBranding()
  const context = await (await browser()).newContext({ viewport: desktop, locale: 'en', bypassCSP: true })
  const findings: string[] = []
  let runs = 0
  for (const [name, page] of await states(context)) {
    await page.evaluate(axe)
    for (const colorScheme of ['light', 'dark'] as const)
      for (const viewport of [desktop, phone]) {
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
        await page.setViewportSize(viewport)
        const { violations } = (await page.evaluate('axe.run(document, { resultTypes: ["violations"] })')) as {
          violations: readonly { id: string; nodes: readonly { html: string }[] }[]
        }
        const where = `${name}, ${colorScheme}, ${viewport.width}`
        findings.push(...violations.map(({ id, nodes }) => `${where}: ${id} ${nodes[0]?.html}`))
        const low = (await page.evaluate(`[...document.querySelectorAll('button, select, input, a')]
          .filter((each) => each.offsetParent && each.getBoundingClientRect().height < 44).map((each) => each.outerHTML)`)) as readonly string[]
        findings.push(...low.map((each) => `${where}: too low: ${each}`))
        const wide = await page.evaluate('document.documentElement.scrollWidth > innerWidth')
        if (wide) findings.push(`${where}: scrolls sideways`)
        runs += 1
      }
  }
  await context.close()
  assert.deepEqual(findings, [])
  assert.equal(runs, 12 * 4)
})

test('the whole page is below 60 KB compressed, with a long cache time for files with a hash in the name', async () => {
  const session = await openSession({ returnUrl: 'https://shop.example.com/orders/42' })
  const headers = { 'accept-encoding': 'br', 'accept-language': 'de' }
  // Not by fetch, which would decode the body.
  const get = async (url: string) => {
    const [answer] = (await once(request(url, { headers }).end(), 'response')) as [IncomingMessage]
    return { headers: answer.headers, body: Buffer.concat(await answer.toArray()) }
  }
  const page = await get(textAt(session, 'url'))
  assert.equal(page.headers['content-encoding'], 'br')
  assert.equal(page.headers['cache-control'], 'no-store')
  assert.equal(page.headers['referrer-policy'], 'no-referrer')
  assert.equal(page.headers['set-cookie'], undefined)
  const text = brotliDecompressSync(page.body).toString('utf8')
  const files = [...text.matchAll(/(?:href|src)="(assets\/[^"]+)"/g)].map((match) => match[1] ?? '')
  assert.equal(files.length, 2)
  let bytes = page.body.length
  for (const file of files) {
    const asset = await get(new URL(file, textAt(session, 'url')).href)
    assert.equal(asset.headers['cache-control'], 'public, max-age=31536000, immutable')
    bytes += asset.body.length
  }
  assert.ok(bytes < 60_000, `${bytes} bytes`)
  // Far less: a limit near what it is, so that a page that grows is seen.
  assert.ok(bytes < 16_000, `${bytes} bytes`)
})
