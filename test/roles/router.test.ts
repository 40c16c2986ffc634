/** A router in front of two cells: it finds the cell of a partner by the API key and passes requests unchanged. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { request } from 'node:http'
import { test } from 'node:test'
import { type Cell, createCell, startRouter, useCells, useRouter } from '../support/cells.ts'
import { type Answer, type Client, createClient, success, textAt } from '../support/client.ts'
import { assertProblem } from '../support/problem.ts'
import { assertRefusal, linesOf, run, stop } from '../support/program.ts'
import { until } from '../support/until.ts'
import { createBeneficiary, createCustomer, finalTransaction, payoutText } from '../support/world.ts'

const cells = await useCells()
const router = await useRouter(cells, { REQUEST_TIMEOUT_MS: '5000', TRUSTED_PROXIES: '127.0.0.1' })
const partners = await Promise.all([cells[0].createPartner('First'), cells[1].createPartner('Second')])
const clients = [createClient(router.url, partners[0]), createClient(router.url, partners[1])] as const

const refused = (answer: Answer, status: number, code: string) => assertProblem(answer, { status, code })
const readiness = async () => {
  const answer = await fetch(`${router.opsUrl}/readyz`)
  return [answer.status, await answer.json()]
}
/** Waits until the router's cached lookup, which is valid for two seconds, has expired. */
const becomes = (client: Client, status: number) =>
  until(`a request gets ${status}`, async () => (await client.get('/v1/accounts')).status === status)

test('200 to partners of both cells, each with its own data', async () => {
  for (const [at, client] of clients.entries()) {
    const beneficiary = textAt(await createBeneficiary(client), 'id')
    const answer = await client.post('/v1/payouts/fiat', payoutText(beneficiary, '12.50'))
    const reference = textAt(success(answer), 'reference')
    assert.equal(answer.literals.amount, '12.50')
    assert.equal(answer.headers.location, `/v1/transactions/${reference}`)
    assert.equal((await finalTransaction(client, reference)).status, 'Completed')
    const direct = createClient(cells[at]?.url ?? '', partners[at] ?? assert.fail('no partner'))
    assert.equal((await direct.get(`/v1/transactions/${reference}`)).status, 200)
    assert.equal((await clients[1 - at]?.get(`/v1/transactions/${reference}`))?.status, 404)
  }
})

test('the operations port of a cell reports whether the cell has a partner', async () => {
  const ask = async (cell: Cell, id: string) => {
    const answer = await fetch(`${cell.opsUrl}/partners/${id}`)
    return [answer.status, await answer.json()]
  }
  const { partnerId } = partners[1]
  assert.deepEqual(await ask(cells[0], partnerId), [404, { status: 'unknown partner' }])
  assert.deepEqual(await ask(cells[1], partnerId), [200, { partnerId, cell: 'two' }])
  assert.deepEqual(await ask(cells[1], 'x'), [404, { status: 'unknown path' }])
})

test('200 to targets that a URL library would change, and to queries in any order', async () => {
  const [, client] = clients
  const beneficiary = textAt(await createBeneficiary(client), 'id')
  for (const reference of ['a/../b', '/..', '//x/y', '{x}', 'a?b#c', '%2e%2e', '\\..\\', "o'b", 'ü']) {
    success(await client.post('/v1/payouts/fiat', payoutText(beneficiary, '0.01', { reference })))
    const path = `/v1/transactions/${encodeURIComponent(reference)}`
    assert.equal(success(await client.get(path)).reference, reference)
  }
  success(await client.get('/v1/transactions/{x}'))
  success(await client.get('/v1/transactions?limit=2&idempotencyKey={|}'))
  success(await client.get('/v1/transactions?idempotencyKey=%7b%7C%7d&limit=%32'))
  for (const target of ['/v1/transactions/%2E%2E', '/v1/transactions/..%2Faccounts', '/v1/./accounts', '/v1//accounts'])
    refused(await client.get(target), 404, 'not_found')
})

test('200 to bodies that are chunked, or have spaces or non-ASCII text, and 413 beyond the limit', async () => {
  const [, client] = clients
  const body = Buffer.from(` {"email" : "ada@example.com",\n "kyc": {"fullName": "Ada \u2028 Løvelace €"} } `)
  for (const chunked of [true, false]) {
    const answer = success(await client.send({ method: 'POST', target: '/v1/customers', body, chunked }))
    const read = success(await client.get(`/v1/customers/${textAt(answer, 'guid')}`))
    assert.equal((read.kyc as { fullName?: string }).fullName, 'Ada \u2028 Løvelace €')
  }
  refused(
    await client.send({ method: 'POST', target: '/v1/customers', body: Buffer.alloc(300_000, 32) }),
    413,
    'body_too_large',
  )
})

test('the router returns the status, headers and codes of the cell unchanged', async () => {
  const [, client] = clients
  const headers = { 'Idempotency-Key': randomUUID() }
  const call = { method: 'POST', target: '/v1/customers', body: { email: 'ada@example.com' }, headers }
  const first = success(await client.send(call))
  const again = await client.send(call)
  assert.deepEqual([again.json, again.headers['idempotent-replayed']], [first, 'true'])
  assert.ok((await client.get('/v1/accounts')).headerNames.includes('ratelimit'))
  refused(await client.post('/v1/customers', { email: 1 }), 400, 'validation_failed')
  const wrongMethod = await client.send({ method: 'DELETE', target: '/v1/accounts' })
  assert.deepEqual([wrongMethod.status, wrongMethod.headers.allow], [405, 'GET'])
})

/** Removes the values that depend on the request itself. */
const comparable = ({ status, json, headerNames }: Answer) => {
  const { requestId: _requestId, ...rest } = json
  return { status, rest, headerNames }
}

test('401 or 404, as from a cell, to an unknown key and without a key', async () => {
  const unknown = `pk_${Buffer.from(randomUUID().replaceAll('-', '') + 'ab'.repeat(15), 'hex').toString('base64url')}`
  for (const apiKey of [unknown, 'pk_x', partners[1].apiKey.slice(0, -1), undefined])
    for (const target of ['/v1/accounts', '/v1/nowhere', '/nowhere']) {
      const call = { method: 'GET', target, headers: { ApiKey: apiKey } }
      const routed = await clients[1].send(call)
      assert.equal(routed.status, target === '/nowhere' ? 404 : 401)
      const direct = await createClient(cells[0].url, partners[1]).send(call)
      assert.deepEqual(comparable(routed), comparable(direct))
    }
})

test('the router serves static pages from the first cell, also for HEAD', async () => {
  for (const path of ['/', '/docs', '/openapi.json']) {
    const [routed, direct] = await Promise.all([fetch(`${router.url}${path}`), fetch(`${cells[0].url}${path}`)])
    assert.equal(routed.status, direct.status)
    assert.equal(await routed.text(), await direct.text())
    const head = await fetch(`${router.url}${path}`, { method: 'HEAD' })
    assert.equal(head.headers.get('content-length'), direct.headers.get('content-length'))
  }
})

test('400 to a request target that is not a path, or has a fragment', async () => {
  const statusOf = (path: string) =>
    new Promise((resolve, reject) => {
      const { hostname, port } = new URL(router.url)
      request({ hostname, port, path, method: 'OPTIONS' }, (answer) => resolve(answer.resume().statusCode))
        .on('error', reject)
        .end()
    })
  assert.equal(await statusOf('*'), 400)
  assert.equal(await statusOf('/v1/accounts#x'), 400)
})

test('a cell logs the address of the client and the request id', async () => {
  const id = `trace-${randomUUID()}`
  const headers = { 'X-Request-Id': id, 'X-Forwarded-For': '203.0.113.9' }
  success(await clients[1].send({ method: 'GET', target: '/v1/accounts', headers }))
  for (const output of [cells[1].output, router.stderr]) {
    const line = await until('a line with the id', () =>
      linesOf(output()).find((each) => each.includes(`"requestId":"${id}"`)),
    )
    assert.match(line, /"ip":"203\.0\.113\.9"/)
    assert.match(line, /"operation":"listAccounts"/)
  }
})

test('502 to the partners of a cell that is down, 200 to other partners, and 200 after its restart', async () => {
  await cells[1].kill()
  refused(await clients[1].get('/v1/accounts'), 502, 'downstream_unreachable')
  success(await clients[0].get('/v1/accounts'))
  assert.deepEqual(await readiness(), [200, { status: 'ok', cells: { one: true, two: false } }])
  // Another router has never seen the partner: it cannot know that the cell has it.
  const other = await startRouter(cells)
  refused(await createClient(other.url, partners[1]).get('/v1/accounts'), 502, 'downstream_unreachable')
  success(await createClient(other.url, partners[0]).get('/v1/accounts'))
  assert.equal((await stop(other)).code, 0)
  await cells[1].start()
  await becomes(clients[1], 200)
  assert.deepEqual(await readiness(), [200, { status: 'ok', cells: { one: true, two: true } }])
})

test('504 to the partners of a cell that hangs, and 200 to other partners', async () => {
  const frozen = await createCell('three', { IBAN_ISSUERS: '' })
  await frozen.start()
  const credentials = await frozen.createPartner('Third')
  const small = await startRouter([...cells, frozen], { REQUEST_TIMEOUT_MS: '3000' })
  const client = createClient(small.url, credentials)
  success(await client.get('/v1/accounts'))
  frozen.signal('SIGSTOP')
  refused(await client.get('/v1/accounts'), 504, 'downstream_timeout')
  success(await createClient(small.url, partners[0]).get('/v1/accounts'))
  success(await createClient(small.url, partners[1]).get('/v1/accounts'))
  frozen.signal('SIGCONT')
  await becomes(client, 200)
  assert.equal((await stop(small)).code, 0)
  await frozen.dispose()
})

test("the router's metrics have the operations and the cells as labels", async () => {
  const text = await (await fetch(`${router.opsUrl}/metrics`)).text()
  assert.match(text, /payments_cell_answers\{cell="two"\} 1/)
  assert.match(text, /payments_request_duration_seconds_count\{operation="createFiatPayout",status="200"\}/)
})

test('after SIGTERM the router is not ready, and answers the requests in progress', async () => {
  const draining = await startRouter(cells, { STOP_DELAY_MS: '1500' })
  const client = createClient(draining.url, partners[0])
  success(await client.get('/v1/accounts'))
  draining.signal('SIGTERM')
  await until('the router is not ready', async () => (await fetch(`${draining.opsUrl}/readyz`)).status === 503)
  const answer = await client.get('/v1/accounts')
  assert.deepEqual([success(answer) && answer.status, answer.headers.connection], [200, 'close'])
  const customer = createCustomer(client)
  assert.equal((await draining.ended).code, 0)
  assert.match(textAt(await customer, 'guid'), /^[0-9a-f-]{36}$/)
})

test('a router without cells, or with an invalid or repeated cell, fails to start with one line', async () => {
  const cell = 'one=http://127.0.0.1:1|http://127.0.0.1:2'
  const cases = [
    ['', /^CELL_URLS is required for the role router/],
    ['one=http://127.0.0.1:1', /^CELL_URLS must have entries such as one=/],
    ['one=http://127.0.0.1:1/x|http://127.0.0.1:2', /^CELL_URLS must have entries such as one=/],
    [`${cell},${cell}`, /^CELL_URLS must name each cell once/],
  ] as const
  for (const [CELL_URLS, line] of cases)
    assertRefusal(await run(['router'], { CELL_URLS, PORT: '0', OPS_PORT: '0' }), line)
})
