/** The options of a single call. */
import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'
import { drop, inSequence, json, problem, startScriptedApi } from '../../test/support/scripted-api.ts'
import { ApiConnectionError, ApiTimeoutError, RateLimitError, ServerError } from './problem.ts'

const payout = { amount: '12.50', beneficiaryId: 'b', currency: 'EUR' }
const deposit = { customerId: 'c', amount: '1', currency: 'EUR', outcome: 'completed' } as const

test('timeoutMs limits each attempt of one call', async (context) => {
  const attempts: number[] = []
  // Counted at the client: on a slow machine the timeout may end an attempt before the server receives it.
  const hooks = { onRequest: ({ attempt }: { readonly attempt: number }) => attempts.push(attempt) }
  const { client } = await startScriptedApi(context, () => undefined, { timeoutMs: 60_000, hooks })
  await assert.rejects(client.accounts.list({}, { timeoutMs: 20, retries: 1, requestId: 'mine' }), (error) => {
    assert.ok(error instanceof ApiTimeoutError && error instanceof ApiConnectionError)
    assert.deepEqual([error.attempts, error.timeoutMs, error.name, error.requestId], [2, 20, 'ApiTimeoutError', 'mine'])
    assert.match(
      error.message,
      /^no complete response from http:\/\/127\.0\.0\.1:\d+\/v1\/accounts within 20 ms after 2 attempts$/,
    )
    return true
  })
  assert.deepEqual(attempts, [1, 2])
})

test('a response whose body does not arrive in time is a timeout', async (context) => {
  const { client } = await startScriptedApi(context, (response) => void response.writeHead(200).write('{"data":['))
  await assert.rejects(client.accounts.list({}, { timeoutMs: 50, retries: 0 }), ApiTimeoutError)
})

test('retries sets the number of retries of one call', async (context) => {
  const { client, requests } = await startScriptedApi(context, drop, { retries: 5 })
  await assert.rejects(client.accounts.list({}, { retries: 0 }), ApiConnectionError)
  assert.equal(requests.length, 1)
  await assert.rejects(client.accounts.list({}, { retries: 2 }), ApiConnectionError)
  assert.equal(requests.length, 4)
})

test('retries does not apply to a POST without an idempotency key', async (context) => {
  const { client, requests } = await startScriptedApi(context, problem(503, 'overloaded', { 'retry-after': '0' }))
  await assert.rejects(client.simulations.createDeposit(deposit, { retries: 9 }), ServerError)
  assert.equal(requests.length, 1)
})

test('idempotencyKey is sent in the body and makes a POST safe to retry', async (context) => {
  const { client, requests } = await startScriptedApi(context, inSequence(drop, json(200, { reference: 'R1' })))
  assert.equal((await client.payouts.create(payout, { idempotencyKey: 'k-1' })).reference, 'R1')
  assert.deepEqual(
    requests.map(({ body }) => (JSON.parse(body) as { idempotencyKey: string }).idempotencyKey),
    ['k-1', 'k-1'],
  )
})

test('idempotencyKey is sent in the header where the body has none, and makes the POST safe to retry', async (context) => {
  const { client, requests } = await startScriptedApi(context, inSequence(drop, json(200, { guid: 'g' })))
  await client.customers.create({ email: 'ada@example.com' }, { idempotencyKey: 'k-1' })
  assert.deepEqual(
    requests.map(({ headers }) => headers['idempotency-key']),
    ['k-1', 'k-1'],
  )
  for (const { body } of requests) assert.deepEqual(JSON.parse(body), { email: 'ada@example.com' })
})

test('idempotencyKey is refused if it contradicts the body or the operation takes none', async (context) => {
  const { client, requests } = await startScriptedApi(context, json(200, {}))
  const body = { ...payout, idempotencyKey: 'k-1' }
  await assert.rejects(client.payouts.create(body, { idempotencyKey: 'k-2' }), /different idempotency keys/)
  await assert.rejects(client.accounts.list({}, { idempotencyKey: 'k' }), /GET \/v1\/accounts takes no idempotency key/)
  assert.equal(requests.length, 0)
  await client.payouts.create(body, { idempotencyKey: 'k-1' })
  assert.equal(requests.length, 1)
})

test('requestId is sent with every attempt; without it each call has a new one', async (context) => {
  const busy = problem(503, 'overloaded', { 'retry-after': '0' })
  const { client, requests } = await startScriptedApi(context, inSequence(busy, json(200, {}), json(200, {})))
  await client.accounts.list({}, { requestId: 'order-7' })
  await client.accounts.list()
  const ids = requests.map(({ headers }) => headers['x-request-id'])
  assert.deepEqual(ids.slice(0, 2), ['order-7', 'order-7'])
  assert.match(String(ids[2]), /^[0-9a-f-]{36}$/)
  await assert.rejects(client.accounts.list({}, { requestId: 'line\nfeed' }), TypeError)
  assert.equal(requests.length, 3)
})

test('signal aborts a request in progress, without a retry', async (context) => {
  const controller = new AbortController()
  const { client, requests } = await startScriptedApi(context, () => controller.abort(new Error('enough')))
  await assert.rejects(client.accounts.list({}, { signal: controller.signal }), /enough/)
  assert.equal(requests.length, 1)
})

test('a signal of many calls keeps no listener of a finished call', async (context) => {
  const { client } = await startScriptedApi(context, inSequence(drop, json(200, {})))
  const { signal } = new AbortController()
  await client.accounts.list({}, { signal })
  await client.accounts.list({}, { signal })
  assert.equal(getEventListeners(signal, 'abort').length, 0)
})

test('the backoff has jitter and grows', async (context) => {
  const delays: number[] = []
  const hooks = { onRetry: ({ delayMs }: { readonly delayMs: number }) => delays.push(delayMs) }
  const { client } = await startScriptedApi(context, drop, { hooks, backoffMs: 2, retries: 4 })
  for (let round = 0; round < 5; round += 1) await assert.rejects(client.accounts.list(), ApiConnectionError)
  assert.equal(delays.length, 20)
  delays.forEach((delay, index) => assert.ok(delay >= 0 && delay <= 2 * 2 ** (index % 4), `${index}: ${delay}`))
  assert.ok(new Set(delays).size > 15, 'the pauses are random')
})

test('a Retry-After longer than a minute is thrown with its seconds', async (context) => {
  const { client } = await startScriptedApi(context, problem(429, 'rate_limited', { 'retry-after': '61' }))
  await assert.rejects(
    client.accounts.list(),
    (error) => error instanceof RateLimitError && error.retryAfterSeconds === 61,
  )
})
