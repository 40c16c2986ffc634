/**
 * The request log in a real browser: from a refused request to its remedy, from a payment to its request, and the
 * access of others.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from '../support/browser.ts'
import { type JsonObject, listAt, success, textAt } from '../support/client.ts'
import { main, openPage, useConsole } from '../support/console.ts'
import { checkForms } from '../support/desk.ts'
import { useSharedService } from '../support/fixture.ts'
import { otherPartner, type SharedService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { createBeneficiary, payoutText } from '../support/world.ts'

const { service, site, person, open, browser } = useConsole(await useSharedService())

/** Sends a request, and returns its entry in the log. */
async function logged(
  call: Parameters<SharedService['client']['send']>[0],
  client = service.client,
): Promise<JsonObject> {
  const id = randomUUID()
  await client.send({ ...call, headers: { 'X-Request-Id': id } })
  return until('the request is in the log', async () => {
    return listAt(success(await client.get(`/v1/requests?requestId=${id}`)))[0]
  })
}
const refused = { method: 'POST', target: '/v1/customers', body: '{"surplus":1}' } as const

test('a developer finds a refused request by its problem, and a request with a wrong signature links to the debugger', async () => {
  const entry = await logged(refused)
  const forged = await logged({ method: 'GET', target: '/v1/customers', signed: { secret: 'another' } })
  const { page } = await person('Developer')
  await page.getByRole('link', { name: 'Requests', exact: true }).click()
  await checkForms(page)
  await page.getByRole('link', { name: 'Problems' }).click()
  await checkForms(page)
  const problem = page.locator('tbody tr').filter({ hasText: 'unknown_field' })
  assert.match(await problem.innerText(), /Unknown field \(400\)[^]*Remove the fields[^]*createCustomer/)
  await problem.getByRole('link', { name: 'unknown_field', exact: true }).click()
  assert.equal(await page.getByLabel('Problem', { exact: true }).inputValue(), 'unknown_field')
  await page.locator('tbody th a').first().click()
  assert.equal(page.url(), `${site}/console/requests/${textAt(entry, 'id')}`)
  assert.match(await main(page), /POST \/v1\/customers[^]*First refused field\s+\/\w+/)
  await checkForms(page)
  await page.getByRole('link', { name: 'Cause and cure' }).click()
  await page.getByRole('heading', { name: 'Cure' }).waitFor()
  assert.equal(page.url(), `${site}/problems/unknown_field`)

  await open(page, `requests/${textAt(forged, 'id')}`)
  assert.match(await main(page), /the sender may be a stranger/)
  await checkForms(page)
  await page.getByRole('link', { name: 'Check a signature' }).click()
  await page.getByText('/v1/simulations/signature').first().waitFor()
})

test('a payment links to its request, the request to its payment, and the search finds both', async () => {
  const payee = textAt(await createBeneficiary(service.client), 'id')
  const body = payoutText(payee, '5.00', { reference: 'Rent & <repairs>' })
  const entry = await logged({ method: 'POST', target: '/v1/payouts/fiat', body })
  // A replay has the same reference, and is not the request that created it.
  await logged({ method: 'POST', target: '/v1/payouts/fiat', body })
  const { page } = await person('Admin')
  const address = `${site}/console/requests/${textAt(entry, 'id')}`
  await open(page, `transactions/${encodeURIComponent('Rent & <repairs>')}`)
  await checkForms(page)
  await page.getByRole('link', { name: /^POST createFiatPayout, 200, / }).click()
  assert.equal(page.url(), address)
  await checkForms(page)
  await page.locator('main').getByRole('link', { name: 'Rent & <repairs>' }).click()
  assert.equal(await page.locator('h1').innerText(), 'Rent & <repairs>')
  for (const text of [textAt(entry, 'requestId'), textAt(entry, 'id')]) {
    await open(page, `find?q=${text}`)
    assert.equal(page.url(), address, 'the only thing found is opened')
  }
})

test('the log is read in pages and by its filters, also in German, and a wrong filter is refused', async () => {
  for (let count = 0; count < 30; count += 1) success(await service.client.get('/v1/wallets'))
  await logged({ method: 'GET', target: '/v1/wallets' })
  const joined = await person('Developer')
  const signedIn = { locale: 'de', storageState: await joined.context.storageState() }
  await joined.close()
  const { page } = await openPage(await browser(), site, signedIn, ['400'])
  const rows = () => page.locator('tbody th a').evaluateAll((links) => links.map((link) => String(link)))
  await open(page, 'requests?operation=listWallets&statusClass=2xx')
  const first = await rows()
  await page.getByRole('link', { name: 'Nächste Seite' }).click()
  const second = await rows()
  assert.ok(first.length === 25 && second.length >= 6)
  assert.equal(new Set([...first, ...second]).size, first.length + second.length)
  assert.match(page.url(), /operation=listWallets&statusClass=2xx|statusClass=2xx.*operation=listWallets/)
  await checkForms(page)
  await open(page, 'requests?createdFrom=2999-01-01')
  assert.match(await main(page), /Dienstkonto/)
  assert.deepEqual(await rows(), [])
  await checkForms(page)
  await open(page, 'requests?createdFrom=gestern&statusClass=9xx')
  for (const id of ['#createdFrom-error', '#statusClass-error']) await page.locator(id).waitFor()
  await checkForms(page)
  await open(page, 'requests/problems?createdFrom=2020-01-01&createdTo=2021-01-01')
  await page.locator('#createdFrom-error').waitFor()
  await checkForms(page)
  await page.getByRole('link', { name: 'Nutzung' }).click()
  const used = page.getByRole('table', { name: 'Nach Operation' }).getByRole('row', { name: /listWallets/ })
  assert.match(await used.innerText(), /listWallets\s+31\s+0\s+0\s+\d+ ms\s+\d+ ms/)
  assert.equal(await page.getByRole('table', { name: 'Nach Tag' }).locator('tbody tr').count(), 1)
  await checkForms(page)
  await used.getByRole('link').click()
  assert.match(page.url(), /operation=listWallets/)
  await open(page, 'requests/usage?createdFrom=2999-01-01')
  await checkForms(page)
})

test('a request is not shown to another role or partner, and a wrong id finds none', async () => {
  const mine = textAt(await logged(refused), 'id')
  const theirs = textAt(await logged(refused, await otherPartner(service)), 'id')
  const olga = await person('Operator')
  assert.equal(await olga.page.getByRole('link', { name: 'Requests', exact: true }).count(), 0)
  for (const path of ['requests', 'requests/problems', `requests/${mine}`]) {
    assert.equal((await open(olga.page, path))?.status(), 403, path)
    assert.match(await main(olga.page), /users:read/)
  }
  const ann = await person('Admin')
  assert.equal((await open(ann.page, `requests/${mine}`))?.status(), 200)
  for (const path of [`requests/${theirs}`, 'requests/nonsense', 'requests/ffffffff-ffff-7fff-8fff-ffffffffffff'])
    assert.equal((await open(ann.page, path))?.status(), 404, path)
})
