/** The client: calls, options, hooks, clock. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { getEventListeners } from 'node:events'
import { operationIds } from '@partner-payments/wire'
import {
  assertSigned,
  drop,
  inSequence,
  json,
  privateKeyPem,
  problem,
  type Respond,
  startScriptedApi,
} from '../../test/support/scripted-api.ts'
import { createClient } from './client.ts'
import { methods, operations } from './generated/operations.ts'
import {
  ApiConnectionError,
  ApiProblem,
  ApiTimeoutError,
  AuthenticationError,
  RateLimitError,
  ServerError,
} from './problem.ts'
import type { RequestLog, ResponseLog, RetryLog } from './hooks.ts'

suite('calls', () => {
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

  test('throws a TypeError that names the invalid option', () => {
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
})

suite('options', () => {
  const payout = { amount: '12.50', beneficiaryId: 'b', currency: 'EUR' }
  const deposit = { customerId: 'c', amount: '1', currency: 'EUR', outcome: 'completed' } as const

  test('timeoutMs limits each attempt of one call', async (context) => {
    const attempts: number[] = []
    // Counted at the client: on a slow machine the timeout may end an attempt before the server receives it.
    const hooks = { onRequest: ({ attempt }: { readonly attempt: number }) => attempts.push(attempt) }
    const { client } = await startScriptedApi(context, () => undefined, { timeoutMs: 60_000, hooks })
    await assert.rejects(client.accounts.list({}, { timeoutMs: 20, retries: 1, requestId: 'mine' }), (error) => {
      assert.ok(error instanceof ApiTimeoutError && error instanceof ApiConnectionError)
      assert.deepEqual(
        [error.attempts, error.timeoutMs, error.name, error.requestId],
        [2, 20, 'ApiTimeoutError', 'mine'],
      )
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

  test('idempotencyKey is sent in the header if the body has none, and makes the POST safe to retry', async (context) => {
    const { client, requests } = await startScriptedApi(context, inSequence(drop, json(200, { guid: 'g' })))
    await client.customers.create({ email: 'ada@example.com' }, { idempotencyKey: 'k-1' })
    assert.deepEqual(
      requests.map(({ headers }) => headers['idempotency-key']),
      ['k-1', 'k-1'],
    )
    for (const { body } of requests) assert.deepEqual(JSON.parse(body), { email: 'ada@example.com' })
  })

  test('idempotencyKey is refused if it contradicts the body or the operation takes no key', async (context) => {
    const { client, requests } = await startScriptedApi(context, json(200, {}))
    const body = { ...payout, idempotencyKey: 'k-1' }
    await assert.rejects(client.payouts.create(body, { idempotencyKey: 'k-2' }), /different idempotency keys/)
    await assert.rejects(
      client.accounts.list({}, { idempotencyKey: 'k' }),
      /GET \/v1\/accounts takes no idempotency key/,
    )
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

  test('a signal shared by many calls keeps no listener of a finished call', async (context) => {
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

  test('a Retry-After longer than a minute throws RateLimitError with its seconds', async (context) => {
    const { client } = await startScriptedApi(context, problem(429, 'rate_limited', { 'retry-after': '61' }))
    await assert.rejects(
      client.accounts.list(),
      (error) => error instanceof RateLimitError && error.retryAfterSeconds === 61,
    )
  })
})

function createLog() {
  const lines: (readonly [string, RequestLog | ResponseLog | RetryLog])[] = []
  const hooks = {
    onRequest: (log: RequestLog) => lines.push(['request', log]),
    onResponse: (log: ResponseLog) => lines.push(['response', log]),
    onRetry: (log: RetryLog) => lines.push(['retry', log]),
  }
  return { lines, hooks }
}

test('the hooks report each request, response and retry of a call', async (context) => {
  const { lines, hooks } = createLog()
  const busy = problem(503, 'overloaded', { 'retry-after': '0' })
  const { client } = await startScriptedApi(context, inSequence(drop, busy, json(200, { data: [] })), { hooks })
  await client.customers.list({ email: 'ada@example.com' }, { requestId: 'r' })
  const shown = lines.map(([kind, log]) => {
    assert.equal(log.operation, 'listCustomers')
    assert.deepEqual([log.method, log.path, log.requestId], ['GET', '/v1/customers', 'r'])
    if ('status' in log) {
      assert.ok(log.durationMs >= 0)
      return [kind, log.attempt, log.status, log.code]
    }
    return 'reason' in log ? [kind, log.attempt, log.reason] : [kind, log.attempt]
  })
  assert.deepEqual(shown, [
    ['request', 1],
    ['retry', 1, 'connection_failed'],
    ['request', 2],
    ['response', 2, 503, 'overloaded'],
    ['retry', 2, 'overloaded'],
    ['request', 3],
    ['response', 3, 200, undefined],
  ])
})

test('the hooks receive no credential, query or body', async (context) => {
  const { lines, hooks } = createLog()
  const { client, requests } = await startScriptedApi(context, inSequence(drop, json(200, { reference: 'R' })), {
    hooks,
  })
  const body = { amount: '12.50', beneficiaryId: 'ben-1', currency: 'EUR', idempotencyKey: 'key-1' }
  await client.payouts.create(body)
  await client.customers.list({ email: 'ada@example.com' })
  const text = JSON.stringify(lines)
  assert.ok(lines.length >= 5)
  const { signature, nonce } = requests[1]?.headers ?? {}
  for (const secret of [
    'ak_test',
    'sk_test',
    privateKeyPem.slice(40, 60),
    signature,
    nonce,
    'ben-1',
    'key-1',
    '12.50',
    'ada@example.com',
    'ada%40example.com',
  ])
    assert.ok(!text.includes(String(secret)), String(secret))
})

test('a hook that throws or rejects does not change the result of the call', async (context) => {
  const fail = () => {
    throw new Error('broken log')
  }
  const hooks = { onRequest: fail, onResponse: () => Promise.reject(new Error('broken log')), onRetry: fail }
  const { client, requests } = await startScriptedApi(context, inSequence(drop, json(200, { reference: 'R1' })), {
    hooks,
  })
  const body = { amount: '1', beneficiaryId: 'b', currency: 'EUR', idempotencyKey: 'k' }
  assert.equal((await client.payouts.create(body)).reference, 'R1')
  assert.equal(requests.length, 2)
})

test('a timeout is reported with its own reason', async (context) => {
  const { lines, hooks } = createLog()
  const { client } = await startScriptedApi(context, () => undefined, { hooks, timeoutMs: 20, retries: 1 })
  await assert.rejects(client.accounts.list(), ApiConnectionError)
  assert.deepEqual(
    lines.flatMap(([, log]) => ('reason' in log ? [log.reason] : [])),
    ['timeout'],
  )
})

const serverMs = Date.parse('2026-06-01T12:00:00Z')
const windowMs = 300_000

/** Refuses a timestamp outside the window, as the service does. */
const guarded =
  (headers: Record<string, string> = { date: new Date(serverMs).toUTCString() }): Respond =>
  (response, count, request) => {
    const isCurrent = Math.abs(Number(request.headers.timestamp) * 1000 - serverMs) <= windowMs
    const respond = isCurrent ? json(200, { reference: 'R' }) : problem(401, 'timestamp_out_of_window', headers)
    respond(response, count, request)
  }
const beneficiary = { name: 'n', currency: 'EUR' }

for (const skewMs of [-3_600_000, 3_600_000, 301_000]) {
  test(`a clock that is wrong by ${skewMs} ms is corrected once, even for a POST without a key`, async (context) => {
    const retries: RetryLog[] = []
    const options = { now: () => serverMs + skewMs, hooks: { onRetry: (log: RetryLog) => retries.push(log) } }
    const { client, requests } = await startScriptedApi(context, guarded(), options)
    await client.beneficiaries.create(beneficiary)
    await client.beneficiaries.create(beneficiary)
    assert.equal(requests.length, 3, 'the second call uses the corrected clock')
    assert.deepEqual(
      retries.map(({ reason, attempt }) => [reason, attempt]),
      [['timestamp_out_of_window', 1]],
    )
    assert.equal(new Set(requests.map(({ headers }) => headers.nonce)).size, 3)
    for (const request of requests) assertSigned(request)
  })
}

test('parallel calls each correct the clock exactly once', async (context) => {
  const { client, requests } = await startScriptedApi(context, guarded(), { now: () => serverMs - 3_600_000 })
  await Promise.all([1, 2, 3, 4].map(() => client.beneficiaries.create(beneficiary)))
  assert.ok(requests.length <= 8, String(requests.length))
})

test('a refused timestamp is thrown if the Date header does not explain it, is missing or is invalid', async (context) => {
  const refuse = problem(401, 'timestamp_out_of_window', { date: new Date(serverMs).toUTCString() })
  const same = await startScriptedApi(context, refuse, { now: () => serverMs })
  await assert.rejects(same.client.accounts.list(), AuthenticationError)
  assert.equal(same.requests.length, 1)
  const noDate: Respond = (response, count, request) => {
    response.sendDate = false
    problem(401, 'timestamp_out_of_window')(response, count, request)
  }
  for (const respond of [noDate, problem(401, 'timestamp_out_of_window', { date: 'soon' })]) {
    const { client, requests } = await startScriptedApi(context, respond, { now: () => 0 })
    await assert.rejects(client.accounts.list(), AuthenticationError)
    assert.equal(requests.length, 1)
  }
})

test('a second refusal after the correction is thrown, and other 401s are not retried', async (context) => {
  const moving: Respond = (response, count, request) => {
    const date = new Date(serverMs + count * 3_600_000).toUTCString()
    problem(401, 'timestamp_out_of_window', { date })(response, count, request)
  }
  const { client, requests } = await startScriptedApi(context, moving, { now: () => serverMs })
  await assert.rejects(client.accounts.list(), AuthenticationError)
  assert.equal(requests.length, 2)
  const other = await startScriptedApi(context, problem(401, 'signature_invalid'), { now: () => 0 })
  await assert.rejects(other.client.accounts.list(), AuthenticationError)
  assert.equal(other.requests.length, 1)
})
