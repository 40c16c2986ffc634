/** Gateway, api and worker processes: what they share, how they authenticate each other, and their failures. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { createInternalTokens } from '../../service/src/edge/gateway/forward.ts'
import { createManualClock } from '../support/clock.ts'
import { createLog, deriveKey } from '../../service/src/kernel/index.ts'
import { createDatabase, sql } from '../../service/src/postgres/index.ts'
import { type Answer, success, textAt } from '../support/client.ts'
import { untilEnd } from '../support/fixture.ts'
import { assertProblem } from '../support/problem.ts'
import { linesOf, stop } from '../support/program.ts'
import { until } from '../support/until.ts'
import { createBeneficiary, createCustomer, finalTransaction, payoutText } from '../support/world.ts'
import { type RunningRole, useProcesses } from './processes.ts'
import { type UpstreamBehaviour, startUpstream } from './upstream.ts'

const service = await useProcesses()
const upstream = untilEnd(await startUpstream())
const [api] = await Promise.all([service.role('api'), service.role('worker')])
const gateways = await Promise.all([
  service.role('gateway', { API_URL: api.url }),
  service.role('gateway', { API_URL: api.url }),
])
const credentials = await service.operator('partner', 'create', '--name', 'Apart')
const client = service.client(gateways[0].url, credentials)

const refused = (answer: Answer, status: number, code: string) => assertProblem(answer, { status, code })

test('200 to a payout through the gateway, settled by the worker', async () => {
  const customerId = textAt(await createCustomer(client), 'guid')
  const beneficiary = textAt(await createBeneficiary(client, { customerId }), 'id')
  const body = payoutText(beneficiary, '12.50')
  const answer = await client.post('/v1/payouts/fiat', body)
  const reference = textAt(success(answer), 'reference')
  assert.equal(answer.literals.amount, '12.50')
  assert.equal(answer.headers.location, `/v1/transactions/${reference}`)
  assert.equal((await finalTransaction(client, reference)).status, 'Completed')
  const again = await service.client(gateways[1].url, credentials).post('/v1/payouts/fiat', body)
  assert.equal(textAt(success(again), 'reference'), reference)
  assert.equal(again.headers['idempotent-replayed'], 'true')
})

test('200 with one customer for one Idempotency-Key at two gateways', async () => {
  const headers = { 'Idempotency-Key': randomUUID() }
  const call = { method: 'POST', target: '/v1/customers', body: { email: 'ada@example.com' }, headers }
  const first = await client.send(call)
  const again = await service.client(gateways[1].url, credentials).send(call)
  assert.equal(again.text, success(first) && first.text)
  assert.equal(again.headers['idempotent-replayed'], 'true')
})

test('200 with one payout for duplicates through a gateway and an api of two processes each', async () => {
  const apiOfTwo = await service.role('api', { PROCESSES: '2' })
  const gateway = await service.role('gateway', { API_URL: apiOfTwo.url, PROCESSES: '2' })
  const outer = service.client(gateway.url, credentials)
  const beneficiary = textAt(await createBeneficiary(outer), 'id')
  const body = payoutText(beneficiary, '1.50')
  const answers = await Promise.all(Array.from({ length: 20 }, () => outer.post('/v1/payouts/fiat', body)))
  assert.equal(new Set(answers.map((answer) => textAt(success(answer), 'reference'))).size, 1)
  for (const { stderr } of [gateway, apiOfTwo])
    for (const number of [1, 2])
      await until(`process ${number} answers`, async () => {
        success(await outer.get('/v1/accounts'))
        return linesOf(stderr()).some((line) => line.includes(`"process":${number}`) && line.includes('"answered"'))
      })
  for (const running of [gateway, apiOfTwo]) assert.equal((await stop(running)).code, 0)
})

test('the request id of the client is in the logs of both processes', async () => {
  const id = `trace-${randomUUID()}`
  success(await client.send({ method: 'GET', target: '/v1/accounts', headers: { 'X-Request-Id': id } }))
  for (const { stderr } of [gateways[0], api])
    await until('a line with the id', () => linesOf(stderr()).some((line) => line.includes(`"requestId":"${id}"`)))
})

test('400 and 404 through the gateway, as from a single process', async () => {
  refused(await client.post('/v1/customers', { email: 1 }), 400, 'validation_failed')
  refused(await client.get(`/v1/customers/${randomUUID()}`), 404, 'not_found')
  refused(await client.get('/v1/customers/not-an-id'), 404, 'not_found')
})

test('200 through the gateway to references that a URL library would normalise', async () => {
  const beneficiary = textAt(await createBeneficiary(client), 'id')
  for (const reference of ['a/../b', '/..', '//x/y', '{x}', 'a?b#c', '%2e%2e', '\\..\\', "o'b", 'ü']) {
    success(await client.post('/v1/payouts/fiat', payoutText(beneficiary, '0.01', { reference })))
    const path = `/v1/transactions/${encodeURIComponent(reference)}`
    assert.equal(success(await client.get(path)).reference, reference)
  }
  for (const target of ['/v1/transactions/{x}', '/v1/transactions?idempotencyKey={|}'])
    success(await client.get(target))
  for (const target of ['/v1/transactions/%2E%2E', '/v1/transactions/..%2Faccounts'])
    refused(await client.get(target), 404, 'not_found')
})

test('401 for a nonce that was used on the other gateway', async () => {
  const nonce = randomUUID()
  success(await client.send({ method: 'GET', target: '/v1/accounts', nonce }))
  const other = service.client(gateways[1].url, credentials)
  refused(await other.send({ method: 'GET', target: '/v1/accounts', nonce }), 401, 'nonce_replayed')
  const both = randomUUID()
  const call = { method: 'GET', target: '/v1/accounts', nonce: both }
  const answers = await Promise.all([client, other, client, other].map((each) => each.send(call)))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 401, 401, 401])
})

const tokenOf = (at: Date, url: string, body = '') => {
  const key = deriveKey(service.masterKey, 'internal')
  const { partnerId } = credentials
  const caller = { partnerId, serviceAccountId: randomUUID(), name: 'x', permissions: ['accounts:read'] } as const
  const bound = { method: 'GET', url, body: Buffer.from(body) }
  return createInternalTokens({ key, clock: createManualClock(at) }).issue(caller, '127.0.0.1', bound)
}
const askApi = async (headers: Readonly<Record<string, string>>, path = '/v1/accounts') => {
  const answer = await fetch(`${api.url}${path}`, { headers })
  const body = (await answer.json()) as { code?: string }
  return [answer.status, body.code]
}

test('401 from the api process without an internal token, and with a tampered, misused or expired token', async () => {
  const fresh = tokenOf(new Date(), '/v1/accounts')
  assert.deepEqual(await askApi(fresh), [200, undefined])
  assert.deepEqual(await askApi({}), [401, 'signature_required'])
  assert.deepEqual(await askApi({}, '/v1/nowhere'), [401, 'signature_required'])
  const direct = await service.client(api.url, credentials).get('/v1/accounts')
  refused(direct, 401, 'signature_required')
  const [callerName, macName] = ['x-internal-caller', 'x-internal-caller-mac']
  const envelope = JSON.parse(Buffer.from(fresh[callerName] ?? '', 'base64url').toString()) as object
  const other = Buffer.from(JSON.stringify({ ...envelope, ip: '10.0.0.1' })).toString('base64url')
  assert.deepEqual(await askApi({ ...fresh, [callerName]: other }), [401, 'signature_invalid'])
  assert.deepEqual(await askApi({ ...fresh, [macName]: 'AAAA' }), [401, 'signature_invalid'])
  // The request target comes from the token headers, not from the request line.
  assert.deepEqual(await askApi(fresh, '/v1/customers'), [200, undefined])
  for (const target of ['/v1/customers', '/v1/accounts?limit=1', '/v1']) {
    const misused = { ...fresh, 'x-internal-target': Buffer.from(target).toString('base64url') }
    assert.deepEqual(await askApi(misused), [401, 'signature_invalid'], target)
  }
  for (const ms of [-65_000, 65_000])
    assert.deepEqual(await askApi(tokenOf(new Date(Date.now() + ms), '/v1/accounts')), [401, 'signature_invalid'])
})

test('502 when the api process is down, refuses the token or responds invalidly, and 504 when it does not respond', async () => {
  const gateway = await service.role('gateway', { API_URL: upstream.url, REQUEST_TIMEOUT_MS: '5000' })
  const outer = service.client(gateway.url, credentials)
  const unreachable = [502, 'downstream_unreachable'] as const
  const expected: Readonly<Record<UpstreamBehaviour, readonly [number, string]>> = {
    garbage: unreachable,
    page: unreachable,
    errorPage: unreachable,
    hangUp: unreachable,
    refusal: unreachable,
    silence: [504, 'downstream_timeout'],
  }
  for (const [manner, [status, code]] of Object.entries(expected) as [UpstreamBehaviour, readonly [number, string]][]) {
    upstream.behave(manner)
    refused(await outer.get('/v1/accounts'), status, code)
    const seen = upstream.requests.length
    refused(await outer.post('/v1/customers', { email: 'ada@example.com' }), status, code)
    assert.equal(upstream.requests.length, seen + 1, `${manner}: a write is sent once, never retried`)
  }
  const text = upstream.requests.join('')
  assert.doesNotMatch(
    text,
    /^(apikey|nonce|timestamp|signature): /im,
    'the gateway does not forward the credentials of the partner',
  )
  await upstream.close()
  refused(await outer.get('/v1/accounts'), 502, 'downstream_unreachable')
  refused(await outer.get('/v1/unknown'), 404, 'not_found')
})

test('an impersonation session can read but not write, has an audit line for each request, and expires', async () => {
  const staff = 'Sam Staff'
  const words = ['--partner', credentials.partnerId, '--staff', staff, '--minutes', '5', '--note', 'Ticket 7']
  const marked = await service.operator('impersonate', ...words)
  const session = service.client(gateways[0].url, marked)
  success(await session.get('/v1/accounts'))
  success(await session.get('/v1/customers'))
  refused(await session.post('/v1/customers', { email: 'eve@example.com' }), 403, 'impersonation_write_blocked')
  refused(await session.delete(`/v1/webhooks/${randomUUID()}`), 403, 'impersonation_write_blocked')
  const audit = () =>
    linesOf(gateways[0].stderr()).filter((line) => line.includes('"audit":true') && line.includes(`"${staff}"`))
  await until('a line for each', () => audit().length === 4)
  for (const line of audit()) assert.match(line, /"requestId":".+","audit":true,.*"method":"\w+","path":"\/v1\//)
  const database = createDatabase({ url: service.databaseUrl, connectionsMax: 1, log: createLog('silent') })
  const ended = sql`update access.service_accounts set expires_at = created_at where impersonated_by = ${staff}`
  assert.equal(await database.run(ended), 1)
  await database.close()
  await until('the session has ended', async () => (await session.get('/v1/accounts')).status === 401)
})

const readiness = async (running: RunningRole) => (await fetch(`${running.opsUrl}/readyz`)).status

test('502 and not ready while PostgreSQL is unreachable, and 200 when it is reachable again', async () => {
  await service.wire.cut()
  refused(await client.get('/v1/accounts'), 502, 'downstream_unreachable')
  assert.deepEqual(await askApi(tokenOf(new Date(), '/v1/accounts')), [502, 'downstream_unreachable'])
  for (const running of [...gateways, api]) assert.equal(await readiness(running), 503)
  assert.equal((await fetch(`${api.opsUrl}/healthz`)).status, 200)
  await service.wire.mend()
  for (const running of [...gateways, api]) await until('ready again', async () => (await readiness(running)) === 200)
  const beneficiary = textAt(await createBeneficiary(client), 'id')
  const sent = success(await client.post('/v1/payouts/fiat', payoutText(beneficiary, '1.00')))
  assert.equal((await finalTransaction(client, textAt(sent, 'reference'))).status, 'Completed')
})

test('504 while PostgreSQL does not respond, and 200 when it responds again', async () => {
  service.wire.hold()
  const waiting = Promise.all([client.get('/v1/accounts'), client.post('/v1/customers', { email: 'ada@example.com' })])
  assert.equal(await readiness(gateways[0]), 503)
  for (const answer of await waiting) refused(answer, 504, 'downstream_timeout')
  await service.wire.mend()
  await until('answers again', async () => (await client.get('/v1/accounts')).status === 200)
})

test('502 when the api process has stopped, which it does with exit code 0', async () => {
  assert.equal((await stop(api)).code, 0)
  refused(await client.get('/v1/accounts'), 502, 'downstream_unreachable')
})
