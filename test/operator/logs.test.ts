/** The log line of every request, and the client address behind trusted proxies. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { success } from '../support/client.ts'
import { useService } from '../support/fixture.ts'
import type { TestService } from '../support/service.ts'
import { until } from '../support/until.ts'

const trusting = await useService({ env: { LOG_LEVEL: 'info', TRUSTED_PROXIES: '127.0.0.1, 10.0.0.0/8' } })
const direct = await useService({ env: { LOG_LEVEL: 'info' } })

type Line = Readonly<Record<string, unknown>> & { readonly msg?: string; readonly requestId?: string }

/** The log line of the answer to a request id. */
async function lineOf(service: TestService, requestId: string): Promise<Line> {
  return until(`the line of ${requestId}`, () =>
    service
      .output()
      .split('\n')
      .filter((text) => text.startsWith('{'))
      .map((text) => JSON.parse(text) as Line)
      .find((line) => line.msg === 'answered' && line.requestId === requestId),
  )
}

test('the log line of a response has partner, service account, operation, status and address', async () => {
  const requestId = 'log-line-of-an-answer'
  success(await direct.client.send({ method: 'GET', target: '/v1/accounts', headers: { 'X-Request-Id': requestId } }))
  const { operation, status, partnerId, serviceAccountId, ip, code } = await lineOf(direct, requestId)
  assert.deepEqual(
    { operation, status, partnerId, ip, code },
    {
      operation: 'listAccounts',
      status: 200,
      partnerId: direct.credentials.partnerId,
      ip: '127.0.0.1',
      code: undefined,
    },
  )
  assert.match(String(serviceAccountId), /^[0-9a-f-]{36}$/)
})

test('the log line of a refusal has the problem code, and the partner once the signature is verified', async () => {
  const headers = { 'X-Request-Id': 'log-line-of-a-refusal' }
  const target = '/v1/customers/00000000-0000-7000-8000-000000000000'
  await direct.client.send({ method: 'GET', target, headers })
  const refused = await lineOf(direct, 'log-line-of-a-refusal')
  assert.deepEqual([refused.status, refused.code, refused.partnerId], [404, 'not_found', direct.credentials.partnerId])
  await fetch(`${direct.baseUrl}/v1/accounts`, { headers: { 'X-Request-Id': 'log-line-of-a-stranger' } })
  const stranger = await lineOf(direct, 'log-line-of-a-stranger')
  assert.deepEqual([stranger.status, stranger.code, stranger.partnerId], [401, 'signature_required', undefined])
})

test('X-Forwarded-For counts from a trusted proxy only, up to the first address that is not trusted', async () => {
  const headers = { 'X-Forwarded-For': '198.51.100.7, 203.0.113.9, 10.1.2.3', 'X-Request-Id': 'forwarded' }
  success(await trusting.client.send({ method: 'GET', target: '/v1/accounts', headers }))
  assert.equal((await lineOf(trusting, 'forwarded')).ip, '203.0.113.9')
  success(await direct.client.send({ method: 'GET', target: '/v1/accounts', headers }))
  assert.equal((await lineOf(direct, 'forwarded')).ip, '127.0.0.1')
})

test('a request for a file by its link is logged like a page, without the token', async () => {
  const token = 'token-of-no-report-0123456789'
  const headers = { 'X-Request-Id': 'log-line-of-a-link' }
  assert.equal((await fetch(`${direct.baseUrl}/reports/${token}`, { headers })).status, 404)
  const { operation, status, code } = await lineOf(direct, 'log-line-of-a-link')
  assert.deepEqual([operation, status, code], ['page', 404, 'not_found'])
  assert.ok(!direct.output().includes(token))
})
