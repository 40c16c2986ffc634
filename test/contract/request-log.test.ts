/** A partner reads its request log by signed requests, over real sockets. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type JsonObject, listAt, success } from '../support/client.ts'
import { useSharedService } from '../support/fixture.ts'
import { assertProblem } from '../support/problem.ts'
import { until } from '../support/until.ts'

const service = await useSharedService()

const find = (requestId: string) =>
  until('the request is in the log', async (): Promise<JsonObject | undefined> => {
    return listAt(success(await service.client.get(`/v1/requests?requestId=${requestId}`)))[0]
  })

const send = (requestId: string, target: string, body?: string) =>
  service.client.send({
    method: body === undefined ? 'GET' : 'POST',
    target,
    ...(body === undefined ? {} : { body }),
    headers: { 'X-Request-Id': requestId },
  })

test('200, 400 and 404 are in the log, without bodies and query values', async () => {
  success(await send('request-good', '/v1/customers?limit=7'))
  assertProblem(await send('request-invalid', '/v1/customers', '{"surplus":"secret-in-body"}'), { status: 400 })
  assert.equal((await send('request-absent', '/v1/customers/019aa8c4-6e4f-7a12-8d3e-2b1c5f7a9e10')).status, 404)
  assert.equal((await send('request-nowhere', '/v1/nowhere/secret-in-path')).status, 404)
  const good = await find('request-good')
  assert.deepEqual([good['operation'], good['status'], good['verified']], ['listCustomers', 200, true])
  assert.equal(good['code'], undefined)
  const invalid = await find('request-invalid')
  assert.deepEqual([invalid['operation'], invalid['status']], ['createCustomer', 400])
  assert.match(String(invalid['pointer']), /^\//)
  const absent = await find('request-absent')
  assert.deepEqual(absent['params'], { id: '019aa8c4-6e4f-7a12-8d3e-2b1c5f7a9e10' })
  const nowhere = await find('request-nowhere')
  assert.deepEqual([nowhere['operation'], nowhere['params'], nowhere['code']], ['unknown', {}, 'not_found'])
  const { text } = await service.client.get('/v1/requests?limit=100')
  assert.doesNotMatch(text, /secret|limit=7/)
  assert.ok(!text.includes(service.credentials.apiSecret))
  const one = success(await service.client.get(`/v1/requests/${String(absent['id'])}`))
  assert.deepEqual(one, absent)
  const problems = listAt(success(await service.client.get('/v1/requests/problems')))
  const problem = problems.find(({ code }) => code === 'not_found')
  assert.ok(problem && String(problem['cure']).length > 10 && Number(problem['count']) >= 2)
  assert.ok(listAt(success(await service.client.get('/v1/requests/sums'))).length > 2)
})

test('a refused signature of a known key is in the log, marked as unverified', async () => {
  const forged = await fetch(`${service.baseUrl}/v1/customers`, {
    headers: {
      ApiKey: service.credentials.apiKey,
      Nonce: crypto.randomUUID(),
      Timestamp: String(Math.floor(Date.now() / 1000)),
      Signature: 'AAAA',
      'X-Request-Id': 'forged',
    },
  })
  assert.equal(forged.status, 401)
  const found = await find('forged')
  assert.deepEqual([found['verified'], found['code'], found['status']], [false, 'signature_invalid', 401])
})

test('400 for a wrong filter, 404 for another id', async () => {
  assertProblem(await service.client.get('/v1/requests?statusClass=9xx'), { status: 400 })
  assertProblem(await service.client.get('/v1/requests/019aa8c4-6e4f-7a12-8d3e-2b1c5f7a9e10'), { status: 404 })
})
