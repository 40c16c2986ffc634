/** The documentation of a running sandbox in a real browser. A blocked or failed request fails the test. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { eventNames, type Operation, type OperationId, operationIds, operations, tags } from '@partner-payments/wire'
import type { Page } from 'playwright-core'
import { test } from '../support/browser.ts'
import { useBrowser } from '../support/console.ts'
import { useService } from '../support/fixture.ts'
import { shareOf } from '../support/share.ts'

const desktop = { width: 1280, height: 900 }
const phone = { width: 390, height: 844 }

const service = await useService()
const browser = useBrowser()

type WatchedPage = { readonly page: Page; readonly verify: () => Promise<void> }

/**
 * Opens a page at `path`. `verify` requires that the content security policy blocked nothing, and that no request left
 * the origin.
 */
async function open(path: string, viewport = desktop): Promise<WatchedPage> {
  const page = await (await browser()).newPage({ viewport })
  const failures: string[] = []
  const requests: string[] = []
  page.on('console', (message) => void (message.type() === 'error' && failures.push(message.text())))
  page.on('pageerror', (error) => void failures.push(String(error)))
  page.on('requestfailed', (request) => void failures.push(`failed: ${request.url()}`))
  page.on('request', (request) => void requests.push(request.url()))
  // As text, because the types of a browser are not part of this project.
  await page.addInitScript(
    "addEventListener('securitypolicyviolation', (event) => console.error('blocked: ' + event.blockedURI))",
  )
  await page.goto(`${service.baseUrl}${path}`)
  const verify = async () => {
    assert.deepEqual(failures, [])
    assert.ok(requests.length >= 3)
    for (const url of requests) assert.ok(url.startsWith(`${service.baseUrl}/`) || url.startsWith('data:'), url)
    await page.close()
  }
  return { page, verify }
}

const operationCount = operationIds.length + eventNames.length
async function untilShown(page: Page): Promise<void> {
  await page
    .locator('.opblock')
    .nth(operationCount - 1)
    .waitFor()
}

test('200 to / and /docs: the page lists every operation and event, and no request is blocked or sent to another site', async () => {
  const { page, verify } = await open('/')
  assert.equal(new URL(page.url()).pathname, '/docs')
  await untilShown(page)
  assert.equal(await page.locator('.opblock').count(), operationCount)
  assert.equal((await page.locator('.opblock-tag').count()) >= tags.length, true)
  for (const id of operationIds) {
    const line = page.locator(`#operations-${operations[id].tag}-${id}`)
    assert.match(await line.innerText(), new RegExp(operations[id].method), id)
  }
  await page.locator('#operations-payouts-createFiatPayout .opblock-summary-control').click()
  await page.getByText('insufficient_funds').first().waitFor()
  assert.match(await page.locator('.info').innerText(), /canonical string/)
  assert.equal(await page.getByRole('button', { name: /authorize/i }).count(), 0, 'a dialog that cannot sign')
  await page.locator('#operations-webhooks-onTransactionStatusChanged .opblock-summary-control').click()
  const event = page.locator('#operations-webhooks-onTransactionStatusChanged')
  await event.getByText('originatingTransactionReference').first().waitFor()
  assert.equal(await event.getByRole('button', { name: 'Try it out' }).count(), 0, 'the page cannot send an event')
  await verify()
})

/** Pastes the credentials file into the first field, as a developer does. */
async function paste(page: Page, file: string, { credentials } = service): Promise<void> {
  await page.evaluate(`{
    const clipboardData = new DataTransfer()
    clipboardData.setData('text/plain', ${JSON.stringify(file)})
    const paste = new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true })
    document.getElementById('api-key').dispatchEvent(paste)
  }`)
  assert.equal(await page.getByLabel('API key').inputValue(), credentials.apiKey)
}

/** Runs an operation with "Try it out" and returns the status and the body that the page shows. */
async function tryOut(page: Page, id: string): Promise<{ readonly status: string; readonly body: string }> {
  const block = page.locator(`#operations-${id}`)
  await block.locator('.opblock-summary-control').click()
  await block.getByRole('button', { name: 'Try it out' }).click()
  await block.getByRole('button', { name: 'Execute' }).click()
  const live = block.locator('.live-responses-table')
  await live.locator('.response-col_status').nth(1).waitFor()
  return {
    status: (await live.locator('.response-col_status').nth(1).innerText()).trim(),
    body: await live.locator('.response-col_description').nth(1).innerText(),
  }
}

test('"Try it out" signs in the browser: 200 to GET /v1/accounts and to POST /v1/customers', async () => {
  const { page, verify } = await open('/docs')
  await untilShown(page)
  await page.getByText('Credentials for').click()
  await paste(page, readFileSync(service.credentialsFile, 'utf8'))
  await page.getByRole('button', { name: 'Use these credentials' }).click()
  await page.getByText('signs with these credentials').waitFor()
  const accounts = await tryOut(page, 'accounts-listAccounts')
  assert.match(accounts.status, /^200/)
  assert.match(accounts.body, /"available"/)
  const customer = await tryOut(page, 'customers-createCustomer')
  assert.match(customer.status, /^200/, customer.body)
  assert.match(customer.body, /"serviceId": "cus_/)
  await page.getByText('Last signed request').click()
  assert.match(
    await page.locator('#canonical').innerText(),
    /^POST\n\/v1\/customers\n\n\d+\n[-0-9a-f]+\n<API_SECRET>\n/,
  )
  const stored = await page.evaluate('[localStorage.length, sessionStorage.length, document.cookie]')
  assert.deepEqual(stored, [0, 0, ''], 'credentials stay in memory')
  await page.getByRole('button', { name: 'Forget' }).click()
  assert.equal(await page.getByLabel('API secret').inputValue(), '')
  await verify()
})

/**
 * Operations that succeed only in a state that this page cannot create. They respond with the documented problem
 * instead.
 */
const states: Readonly<Partial<Record<OperationId, readonly [status: number, reason: string]>>> = {
  cancelPayout: [409, 'a payout is Pending for less than a second'],
  approvePayout: [409, 'payouts wait for an approval by a rule that the operator sets'],
  rejectPayout: [409, 'payouts wait for an approval by a rule that the operator sets'],
  approveBulkPayout: [409, 'payouts wait for an approval by a rule that the operator sets'],
  rejectBulkPayout: [409, 'payouts wait for an approval by a rule that the operator sets'],
  getUser: [404, 'a member joins by the mail of an invitation'],
  updateUser: [404, 'a member joins by the mail of an invitation'],
  removeUser: [404, 'a member joins by the mail of an invitation'],
  signOwnershipProof: [400, 'the page does not have the key of the wallet'],
  getSingleSignOn: [404, 'the page does not set how a team signs in before it is asked to'],
  proveSingleSignOnDomain: [404, 'the page does not set how a team signs in before it is asked to'],
}
/** Deletions come last: no later operation needs what they delete. */
const phases = { GET: 0, POST: 1, PUT: 2, PATCH: 3, DELETE: 4 } as const

test('"Execute" succeeds with the prefilled values for every operation of a fresh sandbox, and again with a new key', async () => {
  const fresh = await useService()
  const page = await (await browser()).newPage({ viewport: desktop })
  await page.goto(`${fresh.baseUrl}/docs`)
  await untilShown(page)
  await page.getByText('Credentials for').click()
  await paste(page, readFileSync(fresh.credentialsFile, 'utf8'), fresh)
  await page.getByRole('button', { name: 'Use these credentials' }).click()
  await page.getByText('signs with these credentials').waitFor({ timeout: 120_000 })
  const wrong: string[] = []
  for (const id of shareOf(
    operationIds.toSorted((a, b) => phases[operations[a].method] - phases[operations[b].method]),
    11,
  )) {
    const operation: Operation = operations[id]
    const { status, body } = await tryOut(page, `${operation.tag}-${id}`)
    const expected = states[id]?.[0]
    const isRight = expected === undefined ? /^20[046]/.test(status) : status.startsWith(String(expected))
    if (!isRight) wrong.push(`${id}: ${status} ${body.slice(0, 300)}`)
    const block = page.locator(`#operations-${operation.tag}-${id}`)
    if (id === 'createCustomer' || id === 'createFiatPayout') {
      const answered = page.waitForResponse(
        (response) => response.url().startsWith(fresh.baseUrl) && response.request().method() === 'POST',
      )
      await block.getByRole('button', { name: 'Execute' }).click()
      const again = await answered
      if (again.status() !== 200 || again.headers()['idempotent-replayed'] !== undefined)
        wrong.push(`${id} again: ${again.status()}`)
    }
    await block.locator('.opblock-summary-control').click()
  }
  assert.deepEqual(wrong, [])
})

test('a wrong key and missing fields are refused in the page with a text', async () => {
  const { page, verify } = await open('/docs')
  await untilShown(page)
  await page.getByText('Credentials for').click()
  const use = page.getByRole('button', { name: 'Use these credentials' })
  await use.click()
  await page.getByText('Enter the API key and the API secret.').waitFor()
  await page.getByLabel('API key').fill('key')
  await page.getByLabel('API secret').fill('secret')
  for (const [pem, text] of [
    ['nonsense', 'is not PEM'],
    ['-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----', 'is not PKCS #8'],
    ['-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----', 'is not a valid RSA key'],
  ] as const) {
    await page.getByLabel('Private key (PEM)').fill(pem)
    await use.click()
    await page.getByText(text).waitFor()
  }
  await verify()
})

test('the search finds operations, guides and problems, and its results link to them', async () => {
  const { page, verify } = await open('/docs')
  await untilShown(page)
  const results = page.locator('#search-results a')
  for (const [words, kind, path] of [
    ['insufficient_funds', 'Problem', '/problems/insufficient_funds'],
    ['4001.01', 'Guide', '/docs/sandbox'],
    ['fiat payout', 'Operation', '/docs'],
  ] as const) {
    await page.getByRole('searchbox').fill(words)
    const first = results.filter({ hasText: kind }).first()
    await first.waitFor()
    await first.click()
    await page.waitForURL((url) => url.pathname === path)
  }
  await page.locator('#operations-payouts-createFiatPayout.is-open').waitFor()
  await page.getByRole('searchbox').fill('no such words at all')
  await page.getByText('Nothing found.').waitFor()
  await verify()
})

test('no page scrolls sideways on a phone, even with an open operation', async () => {
  const widthOf = async (page: Page) => Number(await page.evaluate('document.documentElement.scrollWidth'))
  for (const path of ['/docs/sandbox', '/docs/guides/webhooks', '/docs/problems', '/problems/validation_failed']) {
    const { page, verify } = await open(path, phone)
    assert.ok((await widthOf(page)) <= phone.width, `${path}: ${await widthOf(page)}`)
    await verify()
  }
  const { page, verify } = await open('/docs', phone)
  await untilShown(page)
  assert.ok((await widthOf(page)) <= phone.width, `/docs: ${await widthOf(page)}`)
  const block = page.locator('#operations-payouts-createFiatPayout')
  await block.locator('.opblock-summary-control').click()
  await block.getByText('insufficient_funds').first().waitFor()
  await block.getByRole('button', { name: 'Try it out' }).click()
  assert.ok((await widthOf(page)) <= phone.width, `an open operation: ${await widthOf(page)}`)
  await verify()
})
