/** Pages at the host of a partner, over real sockets: at a single process, and through a gateway process. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { test } from 'node:test'
import { type Client, type JsonObject, success, textAt } from '../support/client.ts'
import { useProcesses } from './processes.ts'

const service = await useProcesses()
const [shop, other] = [
  await service.operator('partner', 'create', '--name', 'Shop'),
  await service.operator('partner', 'create', '--name', 'Other'),
]
const env = { PUBLIC_URL: 'http://api.test', CHECKOUT_URLS: `${shop.partnerId}=http://pay.shop.test` }
const single = await service.role('serve', env)
const api = await service.role('api', env)
const gateway = await service.role('gateway', { ...env, API_URL: api.url })

const openSession = async (client: Client): Promise<JsonObject> =>
  success(
    await client.post('/v1/checkout/sessions', {
      ...{ amount: 49.9, currency: 'EUR', idempotencyKey: randomUUID() },
      customer: { email: 'ada@example.com', fullName: 'Ada Lovelace' },
    }),
  )

/** Sends a request with another `Host` header, which `fetch` does not allow. */
async function ask(base: string, path: string, host: string, form?: Readonly<Record<string, string>>) {
  const body = form === undefined ? undefined : new URLSearchParams(form).toString()
  const headers = {
    host,
    ...(body === undefined
      ? {}
      : {
          origin: `http://${host}`,
          'content-type': 'application/x-www-form-urlencoded',
          'content-length': body.length,
        }),
  }
  const sent = request(`${base}${path}`, { headers, method: body === undefined ? 'GET' : 'POST' }).end(body)
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  const text = (await answer.toArray()).join('')
  return { status: answer.statusCode, text, location: answer.headers.location }
}

test('links have the host of the partner, and its pages are served at that host and at the service', async () => {
  for (const { url: base } of [single, gateway]) {
    const session = await openSession(service.client(base, shop))
    const { host, pathname } = new URL(textAt(session, 'url'))
    assert.equal(host, 'pay.shop.test')
    for (const given of ['pay.shop.test', 'PAY.SHOP.TEST', 'api.test'])
      assert.equal((await ask(base, pathname, given)).status, 200, given)
    const style = /href="(assets\/[^"]+)"/.exec((await ask(base, pathname, host)).text)?.[1] ?? ''
    assert.equal((await ask(base, `/checkout/${style}`, host)).status, 200)
  }
})

test('the host of a partner serves no page of another partner and no console, and a foreign host serves no page', async () => {
  for (const { url: base } of [single, gateway]) {
    const foreign = new URL(textAt(await openSession(service.client(base, other)), 'url'))
    assert.equal(foreign.host, 'api.test')
    assert.equal((await ask(base, foreign.pathname, 'api.test')).status, 200)
    assert.equal((await ask(base, foreign.pathname, 'pay.shop.test')).status, 404)
    assert.equal((await ask(base, foreign.pathname, 'evil.test')).status, 404)
    assert.equal((await ask(base, '/console/sign-in', 'pay.shop.test')).status, 404)
    assert.equal((await ask(base, '/console/sign-in', 'api.test')).status, 200)
    const own = new URL(textAt(await openSession(service.client(base, shop)), 'url'))
    assert.equal((await ask(base, own.pathname, 'evil.test')).status, 404)
    assert.equal((await ask(base, own.pathname, 'pay.shop.test.evil.test')).status, 404)
  }
})

test('a payer can open a payment link at the host of the partner and pay it', async () => {
  for (const { url: base } of [single, gateway]) {
    const client = service.client(base, shop)
    const customerId = textAt(
      success(await client.post('/v1/customers', { email: `${randomUUID()}@example.com` })),
      'guid',
    )
    const link = success(await client.post('/v1/checkout/links', { customerId, currency: 'EUR', amount: 25 }))
    const { host, pathname } = new URL(textAt(link, 'url'))
    assert.equal(host, 'pay.shop.test')
    const form = { form: randomUUID(), name: 'Ada Lovelace', email: '' }
    const opened = await ask(base, pathname, host, form)
    assert.equal(opened.status, 303, opened.text)
    const page = new URL(opened.location ?? '', `http://${host}${pathname}`)
    assert.equal((await ask(base, page.pathname, host)).status, 200)
    assert.equal((await ask(base, pathname, host, form)).location, opened.location, 'the same form opens nothing new')
    assert.equal((await ask(base, pathname, 'evil.test', form)).status, 404)
  }
})
