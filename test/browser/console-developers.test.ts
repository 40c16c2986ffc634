/**
 * The pages for developers in a real browser: a failed delivery is found and redelivered, an endpoint is managed; and
 * the access of another role and another partner.
 */
import assert from 'node:assert/strict'
import { test } from '../support/browser.ts'
import { type JsonObject, listAt, success, textAt } from '../support/client.ts'
import { check, main, press, useConsole } from '../support/console.ts'
import { openDelivery } from '../support/deliveries.ts'
import { useReceiver, useSharedService } from '../support/fixture.ts'
import { otherPartner } from '../support/service.ts'
import { until } from '../support/until.ts'
import { createBeneficiary, payoutText } from '../support/world.ts'

let isUp = true
const { service, person, open } = useConsole(await useSharedService())
const receiver = await useReceiver(() => (isUp ? 204 : 503))

const createHook = async (fields: JsonObject) =>
  textAt(success(await service.client.post('/v1/webhooks', { url: receiver.url, ...fields })), 'id')

test('a developer finds a failed delivery and sends it again', async () => {
  const { page } = await person('Developer', 'Ann Developer')
  await page.getByRole('link', { name: 'Webhooks' }).click()
  assert.match(await main(page), /No webhook endpoint yet[^]*POST \/v1\/webhooks/)
  await check(page)
  isUp = false
  const id = await createHook({ events: ['transaction.status.changed'], description: 'Ledger & <books>' })
  const payee = textAt(await createBeneficiary(service.client), 'id')
  const reference = 'Rent & repairs'
  success(await service.client.post('/v1/payouts/fiat', payoutText(payee, '5.00', { reference })))
  await until('a delivery failed', () => receiver.deliveries.length > 0)
  // Ten failures would open the circuit breaker, and then sending again waits for a probe.
  isUp = true
  const failedId = String(receiver.deliveries[0]?.headers['webhook-id'])
  await page.reload()
  await check(page)
  await page.getByRole('link', { name: receiver.url }).click()
  const row = page.locator('tbody tr').filter({ has: page.locator(`[title="${failedId}"]`) })
  await until('the retry is shown', async () => {
    await page.reload()
    return (await row.innerText()).includes('Delivered')
  })
  await row.locator('summary').click()
  assert.match(await row.innerText(), /Rent & repairs[^]*503[^]*204/)
  assert.match(await main(page), /Ledger & <books>/)
  await check(page)
  const sent = () => receiver.deliveries.filter(({ headers }) => headers['webhook-id'] === failedId).length
  const before = sent()
  await row.getByRole('button', { name: 'Send again' }).click()
  await page.getByText('The event is scheduled.').waitFor()
  await until('it is sent again', () => sent() === before + 1)
  await page.selectOption('#status', 'Delivered')
  await press(page, 'Show')
  await page.waitForURL(/status=Delivered/)
  await check(page)
  await open(page, `webhooks/${id}?status=Nonsense`)
  assert.match(await main(page), /Nothing matches/)
  await check(page)
})

test('a developer finds an event of a payment, reads its data and sends it to an endpoint again', async () => {
  isUp = true
  const { page } = await person('Developer', 'Eva Developer')
  await open(page, 'events?reference=nothing')
  assert.match(await main(page), /Nothing matches these filters/)
  await check(page)
  await createHook({ events: ['transaction.status.changed'] })
  const payee = textAt(await createBeneficiary(service.client), 'id')
  const reference = 'Fees & taxes 100%'
  success(await service.client.post('/v1/payouts/fiat', payoutText(payee, '6.50', { reference })))
  const delivered = () => receiver.deliveries.filter(({ body }) => body.includes(reference))
  await until('the event is delivered', () => delivered().length > 0)
  await page.getByRole('link', { name: 'Events' }).click()
  await page.fill('#reference', reference)
  await page.selectOption('#types', 'transaction.status.changed')
  await press(page, 'Show')
  await page.waitForURL(/types=transaction\.status\.changed/)
  assert.equal(await page.locator('tbody tr').count(), 1)
  await check(page)
  await page.locator('tbody th a').click()
  assert.match(await main(page), /Fees & taxes 100%[^]*Delivered[^]*"amount": 6\.50?/)
  await check(page)
  const [sent] = delivered()
  const before = delivered().length
  await page.getByRole('button', { name: 'Send again' }).first().click()
  await page.getByText('The event is scheduled.').waitFor()
  await until('it is sent again', () => delivered().length > before)
  assert.ok(delivered().some((each) => each !== sent && each.headers['webhook-id'] === sent?.headers['webhook-id']))
  await page.getByRole('link', { name: 'Open the transaction' }).click()
  assert.equal(await page.locator('h1').innerText(), reference)
  await page.locator('main').getByRole('link', { name: 'Events' }).click()
  assert.ok((await page.locator('tbody tr').count()) > 0)
  assert.equal((await open(page, 'events?types=nope'))?.status(), 400)
  await page.locator('#types-error').waitFor()
  await check(page)
  for (const path of ['events/nonsense', 'events/ffffffff-ffff-7fff-8fff-ffffffffffff'])
    assert.equal((await open(page, path))?.status(), 404, path)
})

test('the events are read in pages, the newest first', async () => {
  const { page } = await person('Developer', 'Pia Developer')
  for (let count = 0; count < 21; count += 1)
    success(await service.client.post('/v1/simulations/events', { eventType: 'transaction.status.changed' }))
  const numbers = () => page.locator('td.number').evaluateAll((cells) => cells.map((cell) => Number(cell.textContent)))
  await until('the events are in the feed', async () => {
    await open(page, 'events')
    return (await page.getByRole('link', { name: 'Next page' }).count()) > 0
  })
  const first = await numbers()
  await page.getByRole('link', { name: 'Next page' }).click()
  const second = await numbers()
  assert.ok(first.length > 0 && second.length > 0)
  assert.deepEqual(
    [...first, ...second],
    [...first, ...second].toSorted((a, b) => b - a),
  )
  assert.equal((first.at(-1) ?? 0) - 1, second[0])
  await page.setViewportSize({ width: 360, height: 800 })
  await check(page)
})

test('a disabled endpoint is enabled again', async () => {
  const { page } = await person('Developer', 'Ida Developer')
  const id = await createHook({ description: 'Second' })
  success(await service.client.patch(`/v1/webhooks/${id}`, { status: 'Disabled' }))
  await open(page, `webhooks/${id}`)
  assert.match(await main(page), /Disabled by your team/)
  await press(page, 'Enable endpoint')
  assert.match(await main(page), /The endpoint is enabled/)
  await check(page)
})

test('a developer creates an endpoint, tests it, rotates its secret and deletes it', async () => {
  isUp = true
  const { page } = await person('Developer', 'Una Developer')
  await open(page, 'webhooks')
  await page.getByRole('link', { name: 'New endpoint' }).click()
  await page.fill('#url', 'http://192.0.2.1/hooks')
  await page.fill('#description', 'Kept & typed')
  await page.getByRole('checkbox', { name: 'transaction.status.changed' }).check()
  await check(page)
  await press(page, 'Create endpoint')
  await page.locator('#url-error').waitFor()
  await check(page)
  assert.equal(await page.locator('#description').inputValue(), 'Kept & typed')
  assert.ok(await page.getByRole('checkbox', { name: 'transaction.status.changed' }).isChecked())
  await page.fill('#url', receiver.url)
  await press(page, 'Create endpoint')
  const first = await page.getByText(/^whsec_/).innerText()
  await check(page)
  await page.getByRole('link', { name: 'Open the endpoint' }).click()
  await press(page, 'Send a test event')
  await page.getByText('The endpoint took the test event: HTTP 204').waitFor()
  await check(page)
  const sample = receiver.deliveries.findLast(({ headers }) => headers['webhook-test'] === 'true')
  assert.ok(sample)
  assert.equal(openDelivery(sample, first).name, 'transaction.status.changed')
  await press(page, /^New secret/)
  await page.getByRole('dialog').getByRole('button', { name: 'New secret' }).click()
  assert.notEqual(await page.getByText(/^whsec_/).innerText(), first)
  await page.getByRole('link', { name: 'Open the endpoint' }).click()
  assert.doesNotMatch(await page.content(), /whsec_/)
  await press(page, /^Delete endpoint/)
  await page.getByRole('dialog').getByRole('button', { name: 'Delete endpoint' }).click()
  await page.getByText('The endpoint is deleted.').waitFor()
  await check(page)
})

test('an endpoint is not shown to another role or partner', async () => {
  const { page } = await person('Operator', 'Olga Operator')
  const id = await createHook({})
  assert.equal(await page.getByRole('link', { name: 'Webhooks' }).count(), 0)
  await open(page, 'webhooks')
  assert.match(await main(page), /webhooks:read/)
  const [event = {}] = listAt(success(await service.client.get('/v1/events?limit=1')))
  for (const path of ['events', `events/${textAt(event, 'id')}`]) assert.equal((await open(page, path))?.status(), 403)
  const developer = await person('Developer', 'Eve Developer')
  const foreign = textAt(success(await (await otherPartner(service)).post('/v1/webhooks', { url: receiver.url })), 'id')
  assert.equal((await open(developer.page, `webhooks/${foreign}`))?.status(), 404)
  assert.equal((await open(developer.page, 'webhooks/nonsense'))?.status(), 404)
  assert.equal((await open(developer.page, `webhooks/${id}`))?.status(), 200)
})
