/** Refusals of authentication, authorization and routing, generated from the operations table for every operation. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { permissions } from '@partner-payments/wire'
import { type Answer, type Call, type Client, createClient, nowSeconds, success } from '../support/client.ts'
import { useReceiver, useService } from '../support/fixture.ts'
import { assertCommonHeaders, assertProblem, indistinct } from '../support/problem.ts'
import { type Subject, subjects } from '../support/requests.ts'
import { accountWith, askedOf, impersonation, otherPartner } from '../support/service.ts'
import { createWorld, snapshot } from '../support/world.ts'

const trusting = { TRUSTED_PROXIES: '127.0.0.1' }
const service = await useService({ env: trusting })
/** The sandbox names the mistake in a signature of a known key; without simulations the service answers as in production. */
const withoutSimulations = await service.anotherProcess({ SIMULATIONS: 'off' })
const receiver = await useReceiver()
const { client, credentials } = service
const world = await createWorld(client, receiver.url, service)
const every = (kind: string) => permissions.filter((permission) => permission.endsWith(`:${kind}`))
const [readers, writers, elsewhere, alsoElsewhere, staff, stranger] = await Promise.all([
  accountWith(service, every('read')),
  accountWith(service, every('write')),
  accountWith(service, ['customers:read', 'customers:write']),
  accountWith(service, ['payouts:read', 'payouts:write']),
  impersonation(service),
  otherPartner(service),
])
const before = await snapshot(client)

const asked = askedOf(subjects)
let attempts = 0
/**
 * Sends the valid request of the subject with `change` applied, each from an address of its own: refusals beyond the budget of an
 * address are delayed (service/src/edge/gateway/requests.test.ts).
 */
function attempt(subject: Subject, change: Partial<Call> = {}, as: Client = client): Promise<Answer> {
  attempts += 1
  const headers = { 'X-Forwarded-For': `10.0.${attempts >> 8}.${attempts & 255}`, ...change.headers }
  return as.send({ method: subject.operation.method, ...subject.request(world), ...change, headers })
}

const signatureHeaders = ['ApiKey', 'Nonce', 'Timestamp', 'Signature'] as const

for (const subject of asked)
  test(`401 signature_required when any of the four headers is missing: ${subject.name}`, async () => {
    for (const name of signatureHeaders) {
      const answer = await attempt(subject, { headers: { [name]: undefined } })
      assertProblem(answer, { status: 401, code: 'signature_required' })
    }
    const none = Object.fromEntries(signatureHeaders.map((name) => [name, undefined]))
    assertProblem(await attempt(subject, { headers: none }), { status: 401, code: 'signature_required' })
  })

for (const subject of asked)
  test(`401 jwt_not_accepted when a bearer token is sent, signed or not: ${subject.name}`, async () => {
    const expected = { status: 401, code: 'jwt_not_accepted' }
    const none = Object.fromEntries(signatureHeaders.map((name) => [name, undefined]))
    for (const token of ['Bearer eyJhbGciOiJSUzI1NiJ9.e30.c2ln', 'bearer token', 'BEARER x']) {
      assertProblem(await attempt(subject, { headers: { Authorization: token } }), expected)
      assertProblem(await attempt(subject, { headers: { ...none, Authorization: token } }), expected)
    }
  })

for (const subject of asked)
  test(`401 timestamp_out_of_window when the timestamp is malformed, too old or too new: ${subject.name}`, async () => {
    const now = nowSeconds()
    const stamps = ['yesterday', '12.5', '1e9', '-1', `${now}x`, '0', `${now}000`, `0x${now.toString(16)}`]
    for (const timestamp of [...stamps, `${now - 320}`, `${now + 320}`, '9'.repeat(400)])
      assertProblem(await attempt(subject, { timestamp }), { status: 401, code: 'timestamp_out_of_window' })
  })

for (const subject of asked)
  test(`401 nonce_invalid when the nonce is not a GUID: ${subject.name}`, async () => {
    const guid = randomUUID()
    for (const nonce of ['nonce', '1', `${guid}0`, guid.slice(1), guid.replace(/^./, 'g'), `{${guid}`, '-'.repeat(36)])
      assertProblem(await attempt(subject, { nonce }), { status: 401, code: 'nonce_invalid' })
  })

for (const subject of asked)
  test(`401 nonce_replayed when the nonce was used for another operation: ${subject.name}`, async () => {
    const nonce = randomUUID()
    success(await client.send({ method: 'GET', target: '/v1/webhooks/event-types', nonce }))
    assertProblem(await attempt(subject, { nonce }), { status: 401, code: 'nonce_replayed' })
  })

for (const subject of asked)
  test(`401 signature_invalid when the signature covers a different request: ${subject.name}`, async () => {
    const { target } = subject.request(world)
    const others: readonly Partial<Call>[] = [
      { signed: { method: subject.operation.method === 'GET' ? 'POST' : 'GET' } },
      { signed: { method: subject.operation.method.toLowerCase() } },
      { signed: { path: `${target}/` } },
      { signed: { path: target.replace('/v1', '') } },
      { signed: { path: `${service.baseUrl}${target}` } },
      { signed: { query: 'limit=5' } },
      { signed: { timestamp: String(nowSeconds() - 1) } },
      { signed: { nonce: randomUUID() } },
      { signed: { secret: `${credentials.apiSecret}x` } },
      { signed: { body: Buffer.from('{"amount":1}') } },
      { headers: { Signature: 'AAAA' } },
      { headers: { Signature: 'not base64 at all!' } },
    ]
    for (const other of others) assertProblem(await attempt(subject, other), { status: 401, code: 'signature_invalid' })
  })

for (const subject of asked)
  test(`401 is the same for an unknown key and for a wrong signature: ${subject.name}`, async () => {
    const { baseUrl } = withoutSimulations
    const unknown = createClient(baseUrl, { ...credentials, apiKey: randomUUID() })
    const sameShape = createClient(baseUrl, { ...credentials, apiKey: `${credentials.apiKey.slice(0, -4)}aaaa` })
    const right = withoutSimulations.client
    const known = await attempt(subject, { signed: { nonce: randomUUID() } }, right)
    for (const client of [unknown, sameShape])
      assert.deepEqual(indistinct(await attempt(subject, {}, client)), indistinct(known))
    const stale = { timestamp: String(nowSeconds() - 900) }
    const staleKnown = await attempt(subject, { ...stale, signed: { nonce: randomUUID() } }, right)
    assert.deepEqual(
      indistinct(await attempt(subject, stale, unknown)),
      indistinct(staleKnown),
      'with an old timestamp',
    )
  })

for (const subject of asked)
  test(`403 permission_denied without ${subject.operation.permission}: ${subject.name}`, async () => {
    const opposite = subject.isWrite ? readers : writers
    const group = subject.operation.tag === 'customers' ? alsoElsewhere : elsewhere
    for (const account of [opposite, group])
      assertProblem(await attempt(subject, {}, account), { status: 403, code: 'permission_denied' })
  })

for (const subject of asked.filter((each) => each.isWrite))
  test(`403 impersonation_write_blocked when staff impersonate: ${subject.name}`, async () => {
    const expected = { status: 403, code: 'impersonation_write_blocked' }
    assertProblem(await attempt(subject, {}, staff), expected)
    if (subject.operation.body !== undefined)
      assertProblem(await attempt(subject, { body: '{"nope":1}' }, staff), expected)
  })

for (const subject of asked.filter((each) => !each.isWrite))
  test(`200 to an impersonated session and to an account with read permissions only: ${subject.name}`, async () => {
    // The content of a report is no JSON.
    assert.equal((await attempt(subject, {}, staff)).status, 200)
    const answer = await attempt(subject, {}, readers)
    assert.equal(answer.status, 200, answer.text)
    assertCommonHeaders(answer)
  })

for (const subject of asked.filter((each) => each.operation.params !== undefined))
  test(`404 when the path parameter does not match its schema: ${subject.name}`, async () => {
    const references = ['r'.repeat(141), '%20'.repeat(150)]
    const words = ['nope', '0', `${world.payout}0`, '%00', 'cus_', '..%2F..', "'%20or%201=1", 'x'.repeat(5000)]
    const free = subject.operation.path.includes('{reference}')
    for (const word of free ? references : words) {
      const target = subject.operation.path.replaceAll(/\{\w+\}/g, word)
      assertProblem(await attempt(subject, { target }), { status: 404, code: 'not_found' })
    }
  })

for (const subject of asked.filter((each) => each.operation.params !== undefined))
  test(`404, the same for an unknown id and for another partner's: ${subject.name}`, async () => {
    // A currency is a word of its own, whatever it belongs to.
    const target = subject.operation.path.replace('{currency}', 'EUR').replaceAll(/\{\w+\}/g, randomUUID())
    const unknown = await attempt(subject, { target })
    assertProblem(unknown, { status: 404, code: 'not_found' })
    const foreign = await attempt(subject, {}, stranger)
    assertProblem(foreign, { status: 404, code: 'not_found' })
    assert.deepEqual(indistinct(foreign), indistinct(await attempt(subject, { target }, stranger)))
  })

const matches = (path: string, target: string) => new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`).test(target)

for (const subject of asked)
  test(`405 when the resource does not support the method: ${subject.operation.path} of ${subject.id}`, async () => {
    const { target } = subject.request(world)
    const paths = subjects.filter((each) => matches(each.operation.path, target))
    const taken: readonly string[] = paths.map((each) => each.operation.method)
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'TRACE'].filter((each) => !taken.includes(each))) {
      const answer = await client.send({ method, target })
      assertProblem(answer, { status: 405, code: 'method_not_allowed' })
      // RFC 9110 section 15.5.6: a 405 must list the methods that the resource has.
      const allowed = String(answer.headers.allow).split(/\s*,\s*/)
      assert.ok(allowed.includes(subject.operation.method), `Allow: ${answer.headers.allow}`)
    }
  })

for (const subject of asked)
  test(`431 when the headers exceed 16 KiB: ${subject.name}`, async () => {
    const answer = await attempt(subject, { headers: { 'X-Padding': 'p'.repeat(17 * 1024) } })
    assertProblem(answer, { status: 431, code: 'headers_too_large' })
  })

test('401 before any other refusal when the request is not signed', async () => {
  const none = Object.fromEntries(signatureHeaders.map((name) => [name, undefined]))
  for (const type of ['nonsense', 'application/', '', 'text/plain'])
    for (const body of ['{', '[]', ' '.repeat(1000)]) {
      const headers = { ...none, 'Content-Type': type }
      const answer = await client.send({ method: 'PUT', target: '/v1/beneficiaries', body, headers })
      assertProblem(answer, { status: 401, code: 'signature_required' })
    }
})

test('404 when the path is unknown', async () => {
  for (const target of [
    '/index.html',
    '/v1',
    '/v1/',
    '/v2/customers',
    '/v1/invitations',
    '/V1/customers',
    '/v1//customers',
  ])
    for (const method of ['GET', 'POST'])
      assertProblem(await client.send({ method, target }), { status: 404, code: 'not_found' })
})

test('401 or 404 when an unsigned request has an unknown path', async () => {
  const none = Object.fromEntries(signatureHeaders.map((name) => [name, undefined]))
  const answer = await client.send({ method: 'GET', target: '/v1/nope', headers: none })
  assertProblem(answer, { status: answer.status === 404 ? 404 : 401, code: ['signature_required', 'not_found'] })
})

test('200 to every read afterwards: the refused requests changed nothing', async () => {
  assert.deepEqual(await snapshot(client), before)
})
