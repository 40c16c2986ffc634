import assert from 'node:assert/strict'
import { test } from 'node:test'
import { problems } from '@partner-payments/wire'
import { drop, json, problem, startScriptedApi } from '../../test/support/scripted-api.ts'
import * as sdk from './index.ts'

const classes = [
  [400, sdk.ValidationError],
  [401, sdk.AuthenticationError],
  [403, sdk.PermissionError],
  [404, sdk.NotFoundError],
  [405, sdk.ApiProblem],
  [408, sdk.ApiProblem],
  [409, sdk.ConflictError],
  [410, sdk.ApiProblem],
  [413, sdk.ApiProblem],
  [415, sdk.ApiProblem],
  [416, sdk.ApiProblem],
  [422, sdk.UnprocessableError],
  [429, sdk.RateLimitError],
  [431, sdk.ApiProblem],
  [500, sdk.ServerError],
  [501, sdk.ServerError],
  [502, sdk.ServerError],
  [503, sdk.ServerError],
  [504, sdk.ServerError],
] as const

const failure = (call: Promise<unknown>) =>
  call.then(
    () => assert.fail('the call did not fail'),
    (error: unknown) => error,
  )

for (const [status, Problem] of classes) {
  test(`${status} throws ${Problem.name}, which is an ApiProblem with a request id`, async (context) => {
    const { client } = await startScriptedApi(context, problem(status, 'some_code'))
    const error = await failure(client.accounts.list({}, { retries: 0 }))
    assert.ok(error instanceof Problem && error instanceof sdk.ApiProblem && error instanceof Error)
    assert.deepEqual(
      [error.constructor, error.name, error.status, error.code, error.detail, error.requestId],
      [Problem, Problem.name, status, 'some_code', 'D', 'r-1'],
    )
  })
}

test('every status of the problem catalogue is tested', () => {
  const tested = new Set<number>(classes.map(([status]) => status))
  for (const { status } of Object.values(problems)) assert.ok(tested.has(status), String(status))
})

test('ValidationError has a pointer to each invalid field', async (context) => {
  const errors = [{ pointer: '/kyc/city', code: 'too_long', message: 'm' }]
  const { client } = await startScriptedApi(context, json(400, { code: 'validation_failed', errors }))
  const error = await failure(client.customers.create({ email: 'x' }))
  assert.ok(error instanceof sdk.ValidationError)
  assert.deepEqual(error.errors, errors)
})

test('retryAfterSeconds reads seconds and a date', async (context) => {
  const at = new Date(Date.now() + 120_000).toUTCString()
  for (const [value, min, max] of [
    ['120', 120, 120],
    [at, 110, 121],
  ] as const) {
    const { client } = await startScriptedApi(context, problem(429, 'rate_limited', { 'retry-after': value }))
    const error = await failure(client.accounts.list())
    assert.ok(error instanceof sdk.RateLimitError && error.retryAfterSeconds !== undefined)
    assert.ok(error.retryAfterSeconds >= min && error.retryAfterSeconds <= max, String(error.retryAfterSeconds))
  }
})

test('an error without a problem body has the request id of the header, else the one that was sent', async (context) => {
  const proxy = await startScriptedApi(context, json(403, '<html>', { 'x-request-id': 'p-1' }))
  const first = await failure(proxy.client.accounts.list())
  assert.ok(first instanceof sdk.PermissionError)
  assert.deepEqual([first.code, first.requestId], ['http_403', 'p-1'])
  const silent = await startScriptedApi(context, json(403, '<html>'))
  const second = await failure(silent.client.accounts.list({}, { requestId: 'mine' }))
  assert.ok(second instanceof sdk.PermissionError)
  assert.equal(second.requestId, 'mine')
  const broken = await startScriptedApi(context, drop)
  const third = await failure(broken.client.accounts.list({}, { requestId: 'mine', retries: 0 }))
  assert.ok(third instanceof sdk.ApiConnectionError && !(third instanceof sdk.ApiTimeoutError))
  assert.deepEqual([third.requestId, third.attempts], ['mine', 1])
  const fourth = await failure(broken.client.customers.list({ email: 'ada@example.com' }, { retries: 0 }))
  assert.ok(fourth instanceof sdk.ApiConnectionError)
  assert.match(fourth.message, /^no usable response from http:\/\/127\.0\.0\.1:\d+\/v1\/customers after 1 attempt: \S/)
})
