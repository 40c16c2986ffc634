import assert from 'node:assert/strict'
import { test } from 'node:test'
import { operationIds } from '@partner-payments/wire'
import { assertSigned, drop, inSequence, json, problem, startScriptedApi } from '../../test/support/scripted-api.ts'
import { createClient } from './client.ts'
import { methods, operations } from './generated/operations.ts'
import { ApiConnectionError, ApiProblem, ApiTimeoutError } from './problem.ts'

const payout = { amount: '12.50', beneficiaryId: 'b', currency: 'EUR', idempotencyKey: 'k-1' }
const refusedWith = (code: string) => (error: unknown) => error instanceof ApiProblem && error.code === code

test('has a method for every operation, in the namespace of its group', async (context) => {
  const { client } = await startScriptedApi(context, json(200, {}))
  assert.deepEqual(Object.keys(operations), [...operationIds])
  const named = Object.values(methods).flatMap((names) => Object.values(names))
  assert.deepEqual(named.toSorted(), [...operationIds].toSorted())
  for (const [namespace, names] of Object.entries(methods)) {
    const group = client[namespace as keyof typeof methods] as Readonly<Record<string, unknown>>
    for (const name of Object.keys(names)) assert.equal(typeof group[name], 'function', `${namespace}.${name}`)
  }
  assert.equal(typeof client.customers.listAll, 'function')
  assert.equal('listAll' in client.accounts, false, 'balances have no pages')
})

test('signs every operation so that the service verifies the signature', async (context) => {
  const { client, requests } = await startScriptedApi(context, json(200, {}))
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
  const { client, requests } = await startScriptedApi(context, json(200, {}), {}, '/partner/')
  await client.transactions.get('R 1')
  assert.equal(requests[0]?.url, '/partner/v1/transactions/R%201')
  assertSigned(requests[0])
})

test('sends and reads amounts exactly, without a float', async (context) => {
  const { client, requests } = await startScriptedApi(
    context,
    json(200, '{"amount":9007199254740993.10,"reference":"R1","status":"Pending"}'),
  )
  const answer = await client.payouts.create({ ...payout, amount: '9007199254740993.10' })
  assert.equal(answer.amount, '9007199254740993.10')
  assert.match(String(requests[0]?.body), /^\{"amount":9007199254740993\.10,/)
})

test('sends no content type without a body', async (context) => {
  const { client, requests } = await startScriptedApi(context, json(200, {}))
  await client.accounts.createForCustomer('cus_1')
  assert.equal(requests[0]?.body, '')
  assert.equal(requests[0]?.headers['content-type'], undefined)
})

test('returns undefined for 204, and the status and headers through call', async (context) => {
  const { client } = await startScriptedApi(
    context,
    (response) => void response.writeHead(204, { 'x-request-id': 'r-9' }).end(),
  )
  assert.equal(await client.beneficiaries.delete('b'), undefined)
  const answer = await client.call('deleteBeneficiary', { params: { id: 'b' } })
  assert.deepEqual([answer.status, answer.headers.get('x-request-id')], [204, 'r-9'])
})

test('throws ApiProblem for a problem response, with its code, fields and request id', async (context) => {
  const errors = [{ pointer: '/amount', code: 'too_precise', message: 'm' }]
  const body = { code: 'validation_failed', detail: 'D', requestId: 'r-1', errors }
  const { client, requests } = await startScriptedApi(context, json(400, body))
  await assert.rejects(client.payouts.create(payout), (error) => {
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
  const { client } = await startScriptedApi(context, json(403, '<html>'), {})
  await assert.rejects(client.accounts.list(), refusedWith('http_403'))
})

test('does not follow redirects', async (context) => {
  const { client, requests } = await startScriptedApi(context, json(302, '', { location: '/elsewhere' }))
  await assert.rejects(client.accounts.list(), refusedWith('http_302'))
  assert.equal(requests.length, 1)
})

for (const status of [429, 502, 503, 504]) {
  test(`retries after ${status} with a new nonce each time`, async (context) => {
    const failing = problem(status, 'rate_limited', { 'retry-after': '0' })
    const { client, requests } = await startScriptedApi(
      context,
      inSequence(failing, failing, json(200, { reference: 'R1' })),
    )
    assert.equal((await client.payouts.create(payout)).reference, 'R1')
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
  const { client, requests } = await startScriptedApi(
    context,
    inSequence(drop, inProgress, json(200, { reference: 'R1' })),
  )
  assert.equal((await client.payouts.create(payout)).reference, 'R1')
  assert.equal(requests.length, 3)
})

test('does not retry a POST without an idempotency key', async (context) => {
  const { client, requests } = await startScriptedApi(context, drop)
  await assert.rejects(client.beneficiaries.create({ name: 'n', currency: 'EUR' }), ApiConnectionError)
  await assert.rejects(
    client.simulations.createDeposit({ customerId: 'c', amount: '1', currency: 'EUR', outcome: 'completed' }),
    ApiConnectionError,
  )
  assert.equal(requests.length, 2)
})

test('retries idempotent operations without a key: PUT and customer account creation', async (context) => {
  const { client, requests } = await startScriptedApi(context, drop, { retries: 1 })
  await assert.rejects(client.accounts.createForCustomer('c'), ApiConnectionError)
  await assert.rejects(client.beneficiaries.update({ id: 'b', name: 'n' }), ApiConnectionError)
  assert.equal(requests.length, 4)
})

test('stops after the configured retries and reports the number of attempts', async (context) => {
  const { client, requests } = await startScriptedApi(context, drop, { retries: 2 })
  await assert.rejects(client.accounts.list(), (error) => error instanceof ApiConnectionError && error.attempts === 3)
  assert.equal(requests.length, 3)
})

test('does not wait for a Retry-After longer than a minute', async (context) => {
  const { client, requests } = await startScriptedApi(
    context,
    problem(429, 'resend_too_soon', { 'retry-after': '3600' }),
  )
  await assert.rejects(client.accounts.list(), refusedWith('resend_too_soon'))
  assert.equal(requests.length, 1)
})

test('waits for the time in Retry-After', async (context) => {
  const { client } = await startScriptedApi(
    context,
    inSequence(problem(503, 'overloaded', { 'retry-after': '1' }), json(200, {})),
  )
  const startedAt = performance.now()
  await client.accounts.list()
  assert.ok(performance.now() - startedAt >= 950)
})

test('stops immediately when aborted during a pause', async (context) => {
  const { client, requests } = await startScriptedApi(context, problem(503, 'overloaded', { 'retry-after': '30' }))
  const controller = new AbortController()
  const call = client.accounts.list({}, { signal: controller.signal })
  while (requests.length === 0) await new Promise((resolve) => setImmediate(resolve))
  controller.abort(new Error('enough'))
  await assert.rejects(call, /enough/)
  assert.equal(requests.length, 1)
})

test('stops an attempt after the timeout', async (context) => {
  const { client } = await startScriptedApi(context, () => undefined, { timeoutMs: 20, retries: 0 })
  await assert.rejects(client.accounts.list(), ApiTimeoutError)
})

test('refuses path parameters that are empty or dot segments', async (context) => {
  const { client, requests } = await startScriptedApi(context, json(200, {}))
  for (const reference of ['', '.', '..']) await assert.rejects(client.transactions.get(reference), TypeError)
  assert.equal(requests.length, 0)
})

test('names the option that is wrong', () => {
  const options = { baseUrl: 'http://127.0.0.1:1', apiKey: 'a', apiSecret: 's', privateKeyPem: 'x' }
  const refuses = (changed: object, message: RegExp) =>
    assert.throws(
      () => createClient({ ...options, ...changed }),
      (error) => {
        assert.ok(error instanceof TypeError)
        assert.match(error.message, message)
        return true
      },
    )
  refuses({ baseUrl: undefined }, /^baseUrl is not an http or https URL/)
  refuses({ baseUrl: 'api.example.com' }, /^baseUrl is not an http or https URL/)
  refuses({ apiKey: undefined }, /^apiKey is missing$/)
  refuses({ apiSecret: '' }, /^apiSecret is missing$/)
  refuses({}, /^privateKeyPem is not a PEM text/)
})
