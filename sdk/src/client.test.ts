import assert from 'node:assert/strict'
import { createPublicKey, verify } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type IncomingHttpHeaders, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { canonicalString, operationIds } from '@partner-payments/wire'
import { type ClientOptions, createClient } from './client.ts'
import { operations } from './generated/operations.ts'
import { ApiProblem, ApiUnreachable } from './problem.ts'

type Seen = {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}
type Respond = (response: ServerResponse, count: number) => void

const privateKeyPem = readFileSync(new URL('../vectors/key.pem', import.meta.url), 'utf8')
const apiSecret = 'sk_test'
const publicKey = createPublicKey(privateKeyPem)

/** A server that keeps what it was sent and answers what the test says. */
async function serve(context: TestContext, respond: Respond, options: Partial<ClientOptions> = {}, prefix = '') {
  const seen: Seen[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { method = '', url = '', headers } = request
      seen.push({ method, url, headers, body: Buffer.concat(chunks).toString() })
      respond(response, seen.length)
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  context.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const baseUrl = `http://127.0.0.1:${port}${prefix}`
  const client = createClient({ baseUrl, apiKey: 'ak_test', apiSecret, privateKeyPem, backoffMs: 1, ...options })
  return { seen, client, baseUrl }
}

const json = (status: number, body: unknown, headers: Record<string, string> = {}): Respond => {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return (response) => void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text)
}
const problem = (status: number, code: string, headers: Record<string, string> = {}) =>
  json(status, { type: 't', title: 'T', status, detail: 'D', instance: '/', code, requestId: 'r-1' }, headers)
const drop: Respond = (response) => void response.destroy()
const inTurn =
  (...responds: readonly Respond[]): Respond =>
  (response, count) =>
    responds[Math.min(count, responds.length) - 1]?.(response, count)

function assertSigned({ method, url, headers, body }: Seen): void {
  const [path = '', query = ''] = url.split('?')
  const canonical = canonicalString({
    method,
    path,
    query,
    timestamp: String(headers.timestamp),
    nonce: String(headers.nonce),
    apiSecret,
    body: Buffer.from(body),
  })
  const signature = Buffer.from(String(headers.signature), 'base64')
  assert.ok(verify('sha256', Buffer.from(canonical), publicKey, signature), `${method} ${url} is not signed`)
  assert.equal(headers.apikey, 'ak_test')
}

const payout = { amount: '12.50', beneficiaryId: 'b', currency: 'EUR', idempotencyKey: 'k-1' }
const refusedWith = (code: string) => (error: unknown) => error instanceof ApiProblem && error.code === code

test('has a method for every operation of the table', async (context) => {
  const { client } = await serve(context, json(200, {}))
  assert.deepEqual(Object.keys(operations), [...operationIds])
  for (const id of operationIds) assert.equal(typeof client[id], 'function', id)
})

test('signs every operation as the service verifies it', async (context) => {
  const { client, seen } = await serve(context, json(200, {}))
  for (const id of operationIds) {
    const { params, takes } = operations[id]
    await client.call(id, {
      params: Object.fromEntries(params.map((name) => [name, "a/b c'(é)"])),
      ...(takes === 'query' && { query: { cursor: "x+y z'*", limit: 5 } }),
      ...(takes === 'body' && { body: { name: 'Zoë', amount: '1.10' } }),
    })
  }
  assert.equal(seen.length, operationIds.length)
  for (const request of seen) assertSigned(request)
})

test('signs the path as called where the base address has a path of its own', async (context) => {
  const { client, seen } = await serve(context, json(200, {}), {}, '/partner/')
  await client.getTransaction('R 1')
  assert.equal(seen[0]?.url, '/partner/v1/transactions/R%201')
  assertSigned(seen[0])
})

test('sends amounts digit for digit and reads them without a float', async (context) => {
  const { client, seen } = await serve(
    context,
    json(200, '{"amount":9007199254740993.10,"reference":"R1","status":"Pending"}'),
  )
  const answer = await client.createFiatPayout({ ...payout, amount: '9007199254740993.10' })
  assert.equal(answer.amount, '9007199254740993.10')
  assert.match(String(seen[0]?.body), /^\{"amount":9007199254740993\.10,/)
})

test('sends no body and no content type where there is none', async (context) => {
  const { client, seen } = await serve(context, json(200, {}))
  await client.createCustomerAccount('cus_1')
  assert.equal(seen[0]?.body, '')
  assert.equal(seen[0]?.headers['content-type'], undefined)
})

test('answers undefined for 204, and the status and headers through call', async (context) => {
  const { client } = await serve(context, (response) => void response.writeHead(204, { 'x-request-id': 'r-9' }).end())
  assert.equal(await client.deleteBeneficiary('b'), undefined)
  const answer = await client.call('deleteBeneficiary', { params: { id: 'b' } })
  assert.deepEqual([answer.status, answer.headers.get('x-request-id')], [204, 'r-9'])
})

test('throws the problem of a refusal, with its code, fields and request id', async (context) => {
  const errors = [{ pointer: '/amount', code: 'too_precise', message: 'm' }]
  const body = { code: 'validation_failed', detail: 'D', requestId: 'r-1', errors }
  const { client, seen } = await serve(context, json(400, body))
  await assert.rejects(client.createFiatPayout(payout), (error) => {
    assert.ok(error instanceof ApiProblem)
    assert.deepEqual(
      [error.status, error.code, error.requestId, error.errors, error.message],
      [400, 'validation_failed', 'r-1', errors, '400 validation_failed: D'],
    )
    return true
  })
  assert.equal(seen.length, 1, 'a refusal is not repeated')
})

test('throws a problem where a proxy answered with a page of its own', async (context) => {
  const { client } = await serve(context, json(403, '<html>'), {})
  await assert.rejects(client.listAccounts(), refusedWith('http_403'))
})

test('does not follow a redirect with a signed request', async (context) => {
  const { client, seen } = await serve(context, json(302, '', { location: '/elsewhere' }))
  await assert.rejects(client.listAccounts(), refusedWith('http_302'))
  assert.equal(seen.length, 1)
})

for (const status of [429, 502, 503, 504]) {
  test(`tries again after ${status}, with a nonce of its own each time`, async (context) => {
    const failing = problem(status, 'rate_limited', { 'retry-after': '0' })
    const { client, seen } = await serve(context, inTurn(failing, failing, json(200, { reference: 'R1' })))
    assert.equal((await client.createFiatPayout(payout)).reference, 'R1')
    assert.equal(new Set(seen.map(({ headers }) => headers.nonce)).size, 3)
    assert.equal(new Set(seen.map(({ body }) => body)).size, 1, 'the same body, the same key')
    for (const request of seen) assertSigned(request)
  })
}

test('tries again where the connection breaks, and where the twin of the request is still running', async (context) => {
  const twin = problem(409, 'request_in_progress', { 'retry-after': '0' })
  const { client, seen } = await serve(context, inTurn(drop, twin, json(200, { reference: 'R1' })))
  assert.equal((await client.createFiatPayout(payout)).reference, 'R1')
  assert.equal(seen.length, 3)
})

test('never repeats a POST that the service could not recognise', async (context) => {
  const { client, seen } = await serve(context, drop)
  await assert.rejects(client.createBeneficiary({ name: 'n', currency: 'EUR' }), ApiUnreachable)
  await assert.rejects(
    client.simulateDeposit({ customerId: 'c', amount: '1', currency: 'EUR', outcome: 'completed' }),
    ApiUnreachable,
  )
  assert.equal(seen.length, 2)
})

test('repeats what may be repeated without a key: reads, and the account of a customer', async (context) => {
  const { client, seen } = await serve(context, drop, { retries: 1 })
  await assert.rejects(client.createCustomerAccount('c'), ApiUnreachable)
  await assert.rejects(client.updateBeneficiary({ id: 'b', name: 'n' }), ApiUnreachable)
  assert.equal(seen.length, 4)
})

test('gives up after the retries, and says how often it tried', async (context) => {
  const { client, seen } = await serve(context, drop, { retries: 2 })
  await assert.rejects(client.listAccounts(), (error) => error instanceof ApiUnreachable && error.attempts === 3)
  assert.equal(seen.length, 3)
})

test('does not wait longer than a minute on the word of the server', async (context) => {
  const { client, seen } = await serve(context, problem(429, 'resend_too_soon', { 'retry-after': '3600' }))
  await assert.rejects(client.listAccounts(), refusedWith('resend_too_soon'))
  assert.equal(seen.length, 1)
})

test('waits as long as Retry-After says', async (context) => {
  const { client } = await serve(context, inTurn(problem(503, 'shutting_down', { 'retry-after': '1' }), json(200, {})))
  const startedAt = performance.now()
  await client.listAccounts()
  assert.ok(performance.now() - startedAt >= 950)
})

test('ends at once when it is aborted, even while it waits', async (context) => {
  const { client, seen } = await serve(context, problem(503, 'shutting_down', { 'retry-after': '30' }))
  const controller = new AbortController()
  const call = client.listAccounts({ signal: controller.signal })
  while (seen.length === 0) await new Promise((resolve) => setImmediate(resolve))
  controller.abort(new Error('enough'))
  await assert.rejects(call, /enough/)
  assert.equal(seen.length, 1)
})

test('gives up an attempt that takes too long', async (context) => {
  const { client } = await serve(context, () => undefined, { timeoutMs: 20, retries: 0 })
  await assert.rejects(client.listAccounts(), ApiUnreachable)
})

test('refuses path parameters that would call another path', async (context) => {
  const { client, seen } = await serve(context, json(200, {}))
  for (const reference of ['', '.', '..']) await assert.rejects(client.getTransaction(reference), TypeError)
  assert.equal(seen.length, 0)
})
