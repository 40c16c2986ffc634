/**
 * The pages of payers over real sockets: in one process, through a gateway process, and through a router of two cells.
 * Also requests that no payer sends: forms of other sites, large bodies, many requests, and a call that bypasses the
 * gateway.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { type Cell, createCell, startRouter } from '../support/cells.ts'
import { type Client, createClient, type JsonObject, success, textAt } from '../support/client.ts'
import { stop } from '../support/program.ts'
import { transactionOf } from '../support/world.ts'
import { until } from '../support/until.ts'
import { useProcesses } from './processes.ts'

const service = await useProcesses()
const single = await service.role('serve')
const api = await service.role('api')
const gateway = await service.role('gateway', { API_URL: api.url, TRUSTED_PROXIES: '127.0.0.1' })
const client = service.client(single.url, await service.operator('partner', 'create', '--name', 'Acme'))

const order = (): JsonObject => ({
  amount: 49.9,
  currency: 'EUR',
  idempotencyKey: randomUUID(),
  customer: { email: 'ada@example.com' },
})
const openSession = async (as = client): Promise<JsonObject> => success(await as.post('/v1/checkout/sessions', order()))
/** Returns the path of the page, because the processes of the test have different ports. */
const pathOf = (session: JsonObject) => new URL(textAt(session, 'url')).pathname

const form = (
  url: string,
  fields: Readonly<Record<string, string>> = {},
  headers: Readonly<Record<string, string>> = {},
) => fetch(url, { method: 'POST', body: new URLSearchParams(fields), redirect: 'manual', headers })

/** Follows each redirect after a form as a browser does. Returns the last page. */
async function submit(
  url: string,
  fields: Readonly<Record<string, string>> = {},
  headers: Readonly<Record<string, string>> = {},
) {
  const answer = await form(url, fields, headers)
  assert.equal(answer.status, 303, await answer.text())
  return fetch(new URL(answer.headers.get('location') ?? '', url))
}

async function payAt(base: string, path: string, headers: Readonly<Record<string, string>> = {}): Promise<void> {
  const page = await fetch(`${base}${path}`)
  assert.equal(page.status, 200)
  const style = /href="(assets\/[^"]+)"/.exec(await page.text())?.[1] ?? ''
  assert.match((await fetch(new URL(style, `${base}${path}`))).headers.get('content-type') ?? '', /^text\/css/)
  const bank = await submit(`${base}${path}/pay`, { country: 'NL' }, headers)
  assert.match(await bank.text(), /Sandbox Bank, Netherlands/)
  assert.match(await (await submit(`${base}${path}/bank/sign-in`, { name: 'Grace Hopper' })).text(), /Grace Hopper/)
  const { status } = await submit(`${base}${path}/bank/approve`)
  assert.equal(status, 200)
}

const completed = async (as: Client, session: JsonObject) =>
  until('the session is completed', async () => {
    const { status } = success(await as.get(`/v1/checkout/sessions/${textAt(session, 'sessionId')}`))
    return status === 'Completed'
  })

/** Returns the address of the payer's browser from the event. */
const addressOf = async (session: JsonObject) =>
  until('the event has been fanned out', async () => {
    const { data } = success(await client.get('/v1/events?limit=100'))
    const events = (data as readonly { readonly data: JsonObject }[]).map((event) => event.data)
    const initiated = events.find(
      ({ eventType, sessionId }) =>
        eventType === 'partner.customer.deposit.initiated' && sessionId === session.sessionId,
    )
    return initiated?.userIpAddress
  })

test('a payer can pay at a single process and through a gateway, which forwards the address of the browser', async () => {
  for (const [base, address] of [
    // Without TRUSTED_PROXIES the header of a client is not believed.
    [single.url, '127.0.0.1'],
    [gateway.url, '198.51.100.77'],
  ] as const) {
    const session = await openSession()
    await payAt(base, pathOf(session), { 'x-forwarded-for': '198.51.100.77' })
    await completed(client, session)
    const { debtorDetails } = await transactionOf(client, textAt(session, 'reference'))
    assert.equal((debtorDetails as JsonObject).accountHolderName, 'Grace Hopper')
    assert.equal(await addressOf(session), address)
  }
})

test('304 to a status request while the session has not changed, also through a gateway', async () => {
  const session = await openSession()
  for (const base of [single.url, gateway.url]) {
    const first = await fetch(`${base}${pathOf(session)}/status`)
    assert.deepEqual(await first.json(), { status: 'Open', state: 'Created-4990-payable-new' })
    const again = await fetch(`${base}${pathOf(session)}/status`, {
      headers: { 'if-none-match': first.headers.get('etag') ?? '' },
    })
    assert.equal(again.status, 304)
  }
})

test('a router serves a page from the cell of its partner', async () => {
  const cells = (await Promise.all([createCell('one'), createCell('two')])) as [Cell, Cell]
  await Promise.all(cells.map((cell) => cell.start()))
  const router = await startRouter(cells, { TRUSTED_PROXIES: '127.0.0.1' })
  try {
    for (const cell of cells) {
      const partner = createClient(router.url, await cell.createPartner('Acme'))
      const session = await openSession(partner)
      await payAt(router.url, pathOf(session))
      await completed(partner, session)
    }
    assert.equal((await fetch(`${router.url}/checkout/${'x'.repeat(64)}`)).status, 404)
  } finally {
    await stop(router)
    await Promise.all(cells.map((cell) => cell.dispose()))
  }
})

test('404 with a page for an unknown or malformed link', async () => {
  for (const base of [single.url, gateway.url])
    for (const token of ['x'.repeat(64), 'x', '%00', '..%2f..', 'x'.repeat(2000)]) {
      const answer = await fetch(`${base}/checkout/${token}`, { headers: { 'accept-language': 'de' } })
      assert.equal(answer.status, 404, token)
      assert.match(answer.headers.get('content-type') ?? '', /^text\/html/)
      assert.equal(answer.headers.get('cache-control'), 'no-store')
      assert.match(await answer.text(), /Dieser Link ist ungültig/)
    }
})

test('403 to a form of another site, and 303 to a form of our own page with `Origin: null`', async () => {
  const session = await openSession()
  for (const base of [single.url, gateway.url]) {
    const url = `${base}${pathOf(session)}/pay`
    for (const headers of [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'none' },
      { origin: 'https://evil.example' },
    ])
      assert.equal((await form(url, {}, headers)).status, 403, JSON.stringify(headers))
    for (const headers of [{ 'sec-fetch-site': 'same-origin' }, { origin: 'null' }, { origin: base }])
      assert.equal((await form(url, {}, headers)).status, 303, JSON.stringify(headers))
  }
})

test('413 to a form of more than 16 KiB, which starts no payment', async () => {
  const session = await openSession()
  for (const base of [single.url, gateway.url]) {
    const url = `${base}${pathOf(session)}/pay`
    assert.equal((await form(url, { country: 'D'.repeat(17_000) })).status, 413)
    const chunks = new ReadableStream({
      start: (stream) => {
        stream.enqueue(new TextEncoder().encode(`country=${'D'.repeat(17_000)}`))
        stream.close()
      },
    })
    assert.equal((await fetch(url, { method: 'POST', body: chunks, duplex: 'half' })).status, 413)
  }
  assert.equal(success(await client.get(`/v1/checkout/sessions/${textAt(session, 'sessionId')}`)).status, 'Open')
})

test('429 with a page to an address with too many requests, and not to another address', async () => {
  const limited = await service.role('serve', { PAGE_RATE_PER_SECOND: '1', TRUSTED_PROXIES: '127.0.0.1' })
  const ask = (ip: string) => fetch(`${limited.url}/checkout/${'x'.repeat(64)}`, { headers: { 'x-forwarded-for': ip } })
  const answers = await Promise.all(Array.from({ length: 20 }, () => ask('198.51.100.1')))
  const refused = answers.filter(({ status }) => status === 429)
  assert.ok(refused.length >= 4)
  assert.ok(Number(refused[0]?.headers.get('retry-after')) >= 1)
  assert.match((await refused[0]?.text()) ?? '', /Too many requests/)
  assert.equal((await ask('198.51.100.2')).status, 404)
})

test('an api process serves pages only to its gateway', async () => {
  const session = await openSession()
  const page = await fetch(`${api.url}${pathOf(session)}`)
  assert.equal(page.status, 401)
  assert.ok(!(await page.text()).includes(textAt(session, 'iban').slice(0, 4)))
})

test('the log does not contain links', async () => {
  const session = await openSession()
  const token = pathOf(session).split('/').at(-1) ?? ''
  await payAt(gateway.url, pathOf(session))
  await fetch(`${single.url}${pathOf(session)}/unknown`)
  for (const program of [single, api, gateway]) assert.ok(!`${program.stdout()}${program.stderr()}`.includes(token))
})
