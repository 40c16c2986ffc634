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
import { ApiProblem, ApiConnectionError } from './problem.ts'

type ReceivedRequest = {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}
type Respond = (response: ServerResponse, count: number) => void

const privateKeyPem = readFileSync(new URL('../vectors/key.pem', import.meta.url), 'utf8')
const apiSecret = 'sk_test'
const publicKey = createPublicKey(privateKeyPem)

/** Starts a server that records every request and responds with `respond`, and a client for it. */
async function serve(context: TestContext, respond: Respond, options: Partial<ClientOptions> = {}, prefix = '') {
  const requests: ReceivedRequest[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { method = '', url = '', headers } = request
      requests.push({ method, url, headers, body: Buffer.concat(chunks).toString() })
      respond(response, requests.length)
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
  return { requests, client, baseUrl }
}

const json = (status: number, body: unknown, headers: Record<string, string> = {}): Respond => {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return (response) => void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text)
}
const problem = (status: number, code: string, headers: Record<string, string> = {}) =>
  json(status, { type: 't', title: 'T', status, detail: 'D', instance: '/', code, requestId: 'r-1' }, headers)
const drop: Respond = (response) => void response.destroy()
const inSequence =
  (...responds: readonly Respond[]): Respond =>
  (response, count) =>
    responds[Math.min(count, responds.length) - 1]?.(response, count)

function assertSigned({ method, url, headers, body }: ReceivedRequest): void {
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

test('has a method for every operation', async (context) => {
  const { client } = await serve(context, json(200, {}))
  assert.deepEqual(Object.keys(operations), [...operationIds])
  for (const id of operationIds) assert.equal(typeof client[id], 'function', id)
})

test('signs every operation so that the service verifies the signature', async (context) => {
  const { client, requests } = await serve(context, json(200, {}))
  for (const id of operationIds) {
    const { params, input } = operations[id]
    await client.call(id, {
      params: Object.fromEntries(params.map((name) => [name, "a/b c'(é)"])),
      ...(input === 'query' && { query: { cursor: "x+y z'*", limit: 5 } }),
      ...(input === 'body' && { body: { name: 'Zoë', amount: '1.10' } }),
    })
  }
  assert.equal(requests.length, operationIds.length)
  for (const request of requests) assertSigned(request)
})

test('signs the full path when the base URL has a path', async (context) => {
  const { client, requests } = await serve(context, json(200, {}), {}, '/partner/')
  await client.getTransaction('R 1')
  assert.equal(requests[0]?.url, '/partner/v1/transactions/R%201')
  assertSigned(requests[0])
})

test('sends and reads amounts exactly, without a float', async (context) => {
  const { client, requests } = await serve(
    context,
    json(200, '{"amount":9007199254740993.10,"reference":"R1","status":"Pending"}'),
  )
  const answer = await client.createFiatPayout({ ...payout, amount: '9007199254740993.10' })
  assert.equal(answer.amount, '9007199254740993.10')
  assert.match(String(requests[0]?.body), /^\{"amount":9007199254740993\.10,/)
})

test('sends no content type without a body', async (context) => {
  const { client, requests } = await serve(context, json(200, {}))
  await client.createCustomerAccount('cus_1')
  assert.equal(requests[0]?.body, '')
  assert.equal(requests[0]?.headers['content-type'], undefined)
})

test('returns undefined for 204, and the status and headers through call', async (context) => {
  const { client } = await serve(context, (response) => void response.writeHead(204, { 'x-request-id': 'r-9' }).end())
  assert.equal(await client.deleteBeneficiary('b'), undefined)
  const answer = await client.call('deleteBeneficiary', { params: { id: 'b' } })
  assert.deepEqual([answer.status, answer.headers.get('x-request-id')], [204, 'r-9'])
})

test('throws ApiProblem for a problem response, with its code, fields and request id', async (context) => {
  const errors = [{ pointer: '/amount', code: 'too_precise', message: 'm' }]
  const body = { code: 'validation_failed', detail: 'D', requestId: 'r-1', errors }
  const { client, requests } = await serve(context, json(400, body))
  await assert.rejects(client.createFiatPayout(payout), (error) => {
    assert.ok(error instanceof ApiProblem)
    assert.deepEqual(
      [error.status, error.code, error.requestId, error.errors, error.message],
      [400, 'validation_failed', 'r-1', errors, '400 validation_failed: D'],
    )
    return true
  })
  assert.equal(requests.length, 1, 'a 400 is not retried')
})

test('throws ApiProblem when a proxy responds with HTML', async (context) => {
  const { client } = await serve(context, json(403, '<html>'), {})
  await assert.rejects(client.listAccounts(), refusedWith('http_403'))
})

test('does not follow redirects', async (context) => {
  const { client, requests } = await serve(context, json(302, '', { location: '/elsewhere' }))
  await assert.rejects(client.listAccounts(), refusedWith('http_302'))
  assert.equal(requests.length, 1)
})

for (const status of [429, 502, 503, 504]) {
  test(`retries after ${status} with a new nonce each time`, async (context) => {
    const failing = problem(status, 'rate_limited', { 'retry-after': '0' })
    const { client, requests } = await serve(context, inSequence(failing, failing, json(200, { reference: 'R1' })))
    assert.equal((await client.createFiatPayout(payout)).reference, 'R1')
    assert.equal(new Set(requests.map(({ headers }) => headers.nonce)).size, 3)
    assert.equal(
      new Set(requests.map(({ body }) => body)).size,
      1,
      'every attempt sends the same body with the same key',
    )
    for (const request of requests) assertSigned(request)
  })
}

test('retries after a connection error, and while the same request is in progress', async (context) => {
  const inProgress = problem(409, 'request_in_progress', { 'retry-after': '0' })
  const { client, requests } = await serve(context, inSequence(drop, inProgress, json(200, { reference: 'R1' })))
  assert.equal((await client.createFiatPayout(payout)).reference, 'R1')
  assert.equal(requests.length, 3)
})

test('does not retry a POST without an idempotency key', async (context) => {
  const { client, requests } = await serve(context, drop)
  await assert.rejects(client.createBeneficiary({ name: 'n', currency: 'EUR' }), ApiConnectionError)
  await assert.rejects(
    client.simulateDeposit({ customerId: 'c', amount: '1', currency: 'EUR', outcome: 'completed' }),
    ApiConnectionError,
  )
  assert.equal(requests.length, 2)
})

test('retries idempotent operations without a key: PUT and customer account creation', async (context) => {
  const { client, requests } = await serve(context, drop, { retries: 1 })
  await assert.rejects(client.createCustomerAccount('c'), ApiConnectionError)
  await assert.rejects(client.updateBeneficiary({ id: 'b', name: 'n' }), ApiConnectionError)
  assert.equal(requests.length, 4)
})

test('stops after the configured retries and reports the number of attempts', async (context) => {
  const { client, requests } = await serve(context, drop, { retries: 2 })
  await assert.rejects(client.listAccounts(), (error) => error instanceof ApiConnectionError && error.attempts === 3)
  assert.equal(requests.length, 3)
})

test('does not wait for a Retry-After longer than a minute', async (context) => {
  const { client, requests } = await serve(context, problem(429, 'resend_too_soon', { 'retry-after': '3600' }))
  await assert.rejects(client.listAccounts(), refusedWith('resend_too_soon'))
  assert.equal(requests.length, 1)
})

test('waits for the time in Retry-After', async (context) => {
  const { client } = await serve(
    context,
    inSequence(problem(503, 'shutting_down', { 'retry-after': '1' }), json(200, {})),
  )
  const startedAt = performance.now()
  await client.listAccounts()
  assert.ok(performance.now() - startedAt >= 950)
})

test('stops immediately when aborted during a pause', async (context) => {
  const { client, requests } = await serve(context, problem(503, 'shutting_down', { 'retry-after': '30' }))
  const controller = new AbortController()
  const call = client.listAccounts({ signal: controller.signal })
  while (requests.length === 0) await new Promise((resolve) => setImmediate(resolve))
  controller.abort(new Error('enough'))
  await assert.rejects(call, /enough/)
  assert.equal(requests.length, 1)
})

test('stops an attempt after the timeout', async (context) => {
  const { client } = await serve(context, () => undefined, { timeoutMs: 20, retries: 0 })
  await assert.rejects(client.listAccounts(), ApiConnectionError)
})

test('refuses path parameters that are empty or dot segments', async (context) => {
  const { client, requests } = await serve(context, json(200, {}))
  for (const reference of ['', '.', '..']) await assert.rejects(client.getTransaction(reference), TypeError)
  assert.equal(requests.length, 0)
})
