import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Respond, assertSigned, json, problem, startScriptedApi } from '../../test/support/scripted-api.ts'
import type { RetryLog } from './hooks.ts'
import { AuthenticationError } from './problem.ts'

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

test('calls in parallel each correct the clock once', async (context) => {
  const { client, requests } = await startScriptedApi(context, guarded(), { now: () => serverMs - 3_600_000 })
  await Promise.all([1, 2, 3, 4].map(() => client.beneficiaries.create(beneficiary)))
  assert.ok(requests.length <= 8, String(requests.length))
})

test('the refusal is thrown if the date does not explain it, is missing or is no date', async (context) => {
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
