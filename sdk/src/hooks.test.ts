import assert from 'node:assert/strict'
import { test } from 'node:test'
import { drop, inSequence, json, privateKeyPem, problem, startScriptedApi } from '../../test/support/scripted-api.ts'
import type { RequestLog, ResponseLog, RetryLog } from './hooks.ts'
import { ApiConnectionError } from './problem.ts'

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
