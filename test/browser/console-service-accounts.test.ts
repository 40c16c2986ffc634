/** Service accounts in a real browser, which creates the key pair. The saved file can sign requests. */
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createClient } from '@partner-payments/sdk'
import type { Page } from 'playwright-core'
import { test } from '../support/browser.ts'
import { listAt, success, textAt } from '../support/client.ts'
import { useConsole } from '../support/console.ts'
import { checkForms } from '../support/desk.ts'
import { useSharedService } from '../support/fixture.ts'
import { until } from '../support/until.ts'

const { service, person, open } = useConsole(await useSharedService())

const press = (page: Page, name: string) => page.locator('main').getByRole('button', { name, exact: true }).click()

const box = (page: Page, permission: string) => page.locator(`input[value="${permission}"]`)

/** Removes all permissions, which is refused, and selects others. */
async function changePermissions(page: Page): Promise<void> {
  const checked = () =>
    page
      .locator('input[name="permissions"]:checked')
      .evaluateAll((boxes) => boxes.map((each) => each.getAttribute('value')))
  const before = ['accounts:read', 'payouts:read', 'payouts:write']
  assert.deepEqual(await checked(), before)
  for (const permission of before) await box(page, permission).uncheck()
  await press(page, 'Save changes')
  await page.locator('#permissions-error', { hasText: 'Choose at least one permission.' }).waitFor()
  assert.deepEqual(await checked(), [], 'what was typed is kept')
  await checkForms(page)
  for (const permission of ['accounts:read', 'customers:read', 'payouts:read']) await box(page, permission).check()
  await press(page, 'Save changes')
  await page.getByText('The service account is changed.').waitFor()
  assert.match(await page.locator('main').innerText(), /Balances: Read\nCustomers: Read\nPayouts: Read\n/)
}

/** Presses a button that creates a key pair, and reads the file that the page offers. */
async function credentialsBy(page: Page, button: string) {
  await press(page, button)
  await page.getByRole('heading', { name: 'The service account is ready' }).waitFor()
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Save credentials' }).click(),
  ])
  assert.equal(download.suggestedFilename(), 'credentials.json')
  return JSON.parse(await readFile(await download.path(), 'utf8'))
}

test('the browser makes the key pair, sends only its public half, and the saved file signs', async () => {
  const { page } = await person('Admin')
  await page.getByRole('link', { name: 'Service accounts' }).click()
  await checkForms(page)
  await page.getByRole('link', { name: 'New service account' }).click()
  await checkForms(page)
  await press(page, 'Make key pair and create')
  await page.getByText('There is a problem').waitFor()
  await checkForms(page)
  await page.getByLabel('Name', { exact: true }).fill('Payroll')
  for (const permission of ['accounts:read', 'payouts:read', 'payouts:write']) await box(page, permission).check()
  const sent: string[] = []
  page.on('request', (request) => void sent.push(request.postData() ?? ''))
  const credentials = await credentialsBy(page, 'Make key pair and create')
  await checkForms(page)
  const ofPrivateKey = credentials.privateKeyPem.split('\n')[5]
  assert.ok(sent.some((body) => body.includes('publicKeyPem=')))
  assert.ok(sent.every((body) => !decodeURIComponent(body).includes('PRIVATE') && !body.includes(ofPrivateKey)))
  // The file is all that the client of the SDK needs.
  assert.equal((await createClient(credentials).accounts.list()).data[0]?.currency, 'EUR')
  const client = service.clientOf(credentials)
  assert.equal((await client.get('/v1/accounts')).status, 200)
  assert.equal((await client.get('/v1/customers')).status, 403)
  await page.getByRole('link', { name: 'Open the service account' }).click()
  await page.getByRole('heading', { name: 'Payroll' }).waitFor()
  assert.match(await page.locator('main').innerText(), /Balances: Read\s+Payouts: Read and write/)
  await checkForms(page)

  await page.getByLabel('Addresses (optional)').fill('203.0.113.0/24, nonsense')
  await press(page, 'Save changes')
  await page.getByText('Enter IP addresses or networks').first().waitFor()
  assert.equal(await page.getByLabel('Addresses (optional)').inputValue(), '203.0.113.0/24, nonsense')
  await checkForms(page)
  await page.getByLabel('Addresses (optional)').fill('203.0.113.0/24')
  await press(page, 'Save changes')
  await page.getByText('The service account is changed.').waitFor()
  await until('the key is refused from here', async () => (await client.get('/v1/accounts')).status === 403)
  await page.getByLabel('Addresses (optional)').fill('')
  await press(page, 'Save changes')
  await page.getByText('Any address', { exact: true }).waitFor()

  await changePermissions(page)
  await until('the key reads customers', async () => (await client.get('/v1/customers')).status === 200)
  assert.equal((await client.get('/v1/accounts')).status, 200)

  const soon = new Date(Date.now() + 3 * 86_400_000).toISOString().slice(0, 10)
  await page.getByLabel('Ends (optional)').fill(soon)
  await press(page, 'Save changes')
  await page.getByText('The service account is changed.').waitFor()
  const address = page.url()
  await open(page, 'home')
  await page.getByRole('link', { name: /1\s+Keys that end within 14 days/ }).waitFor()
  await page.goto(address)

  await page.getByLabel('Overlap in hours (optional)').fill('0')
  const next = service.clientOf(await credentialsBy(page, 'Make key pair and rotate'))
  assert.equal((await next.get('/v1/accounts')).status, 200)
  await until('the key before ends', async () => (await client.get('/v1/accounts')).status === 401)
  await page.getByRole('link', { name: 'Open the service account' }).click()
  await page.getByRole('button', { name: 'Revoke' }).click()
  await checkForms(page)
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
  await page.getByText('The service account is revoked.').waitFor()
  await until('the key is revoked', async () => (await next.get('/v1/accounts')).status === 401)
  await open(page, 'service-accounts?status=Revoked')
  await page.getByRole('cell', { name: 'Revoked' }).waitFor()
  await checkForms(page)
})

test('a person can create an account with the public key of their own key pair, and a private key is refused', async () => {
  const { page } = await person('Admin')
  await open(page, 'service-accounts/new')
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const privateKeyPem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  await page.getByLabel('Name', { exact: true }).fill('Ledger')
  await box(page, 'accounts:read').check()
  await page.getByText('Use a key pair of your own').click()
  await page.getByLabel('Public key').fill(privateKeyPem)
  await press(page, 'Create with this key')
  await page.getByText('not the private key').first().waitFor()
  await checkForms(page)
  await page.getByLabel('Public key').fill(publicKey.export({ type: 'spki', format: 'pem' }).toString())
  await press(page, 'Create with this key')
  await page.getByRole('heading', { name: 'The service account is ready' }).waitFor()
  await checkForms(page)
  const [apiKey = '', apiSecret = ''] = await page.locator('pre code').allInnerTexts()
  const { partnerId } = service.credentials
  const client = service.clientOf({ partnerId, apiKey, apiSecret, privateKeyPem })
  assert.equal((await client.get('/v1/accounts')).status, 200)
})

test('only people with permission to read or manage the team can see or create keys', async () => {
  const operator = await person('Operator')
  assert.equal(await operator.page.getByRole('link', { name: 'Service accounts' }).count(), 0)
  for (const path of ['service-accounts', 'service-accounts/new']) {
    await open(operator.page, path)
    await operator.page.getByRole('heading', { name: 'You cannot open this page' }).waitFor()
  }
  const developer = await person('Developer')
  await open(developer.page, 'service-accounts')
  assert.equal(await developer.page.getByRole('link', { name: 'New service account' }).count(), 0)
  const [first] = listAt(success(await service.client.get('/v1/service-accounts')))
  await open(developer.page, `service-accounts/${textAt(first ?? {}, 'serviceAccountId')}`)
  assert.equal(await developer.page.getByRole('button', { name: 'Revoke' }).count(), 0)
  await checkForms(developer.page)
})
