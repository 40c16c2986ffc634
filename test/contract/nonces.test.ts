/** The nonce and the timestamp. Interface document, Authentication and Limits 1, 2; contract page, nonce. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { type Call, type Client, type JsonObject, nowSeconds, success, textAt } from '../support/client.ts'
import { useService } from '../support/fixture.ts'
import { assertProblem } from '../support/problem.ts'
import { accountWith, startTestService } from '../support/service.ts'
import { createBeneficiary, listAll, payoutText } from '../support/world.ts'

const service = await useService()
const { client } = service
const fewer = await accountWith(service, ['customers:read'])

const read = (call: Partial<Call>, as: Client = client) => as.send({ method: 'GET', target: '/v1/customers', ...call })
const replayed = { status: 401, code: 'nonce_replayed' }

/** The spellings of a GUID in .NET: the formats D, N, B and P, in lower and upper case. */
function spellings(guid: string): Readonly<Record<string, string>> {
  const bare = guid.replaceAll('-', '')
  return { D: guid, N: bare, B: `{${guid}}`, P: `(${guid})`, upperD: guid.toUpperCase(), upperN: bare.toUpperCase() }
}

for (const form of Object.keys(spellings(randomUUID())))
  test(`200 to a nonce in the format ${form}, and 401 to the same GUID in every other format`, async () => {
    const forms = spellings(randomUUID())
    success(await read({ nonce: forms[form] ?? '' }))
    for (const nonce of Object.values(forms)) assertProblem(await read({ nonce }), replayed)
  })

test('200 to GUIDs of any version', async () => {
  const own = randomUUID().slice(8)
  const nil = '00000000-0000-0000-0000-000000000000'
  for (const nonce of [nil, `ffffffff${own}`, `0198a3c4-1111-7abc-8def-${own.slice(-12)}`])
    success(await read({ nonce }))
})

test('401 when the same bytes are sent twice', async () => {
  const call = { nonce: randomUUID(), timestamp: String(nowSeconds()) }
  success(await read(call))
  assertProblem(await read(call), replayed)
})

test('200 to one and 401 to nineteen of twenty concurrent requests with one nonce', async () => {
  const nonce = randomUUID()
  const answers = await Promise.all(Array.from({ length: 20 }, () => read({ nonce })))
  assert.equal(answers.filter((answer) => answer.status === 200).length, 1)
  for (const answer of answers.filter((each) => each.status !== 200)) assertProblem(answer, replayed)
})

test('200 to a nonce after 401 for a wrong signature or timestamp', async () => {
  const nonce = randomUUID()
  assertProblem(await read({ nonce, signed: { secret: 'wrong' } }), { status: 401, code: 'signature_invalid' })
  assertProblem(await read({ nonce, timestamp: '1' }), { status: 401, code: 'timestamp_out_of_window' })
  success(await read({ nonce }))
})

test('401 to a nonce after 403 or 400: a valid signature consumes it', async () => {
  const denied = { nonce: randomUUID(), method: 'POST', body: '{}' }
  assertProblem(await read(denied, fewer), { status: 403, code: 'permission_denied' })
  assertProblem(await read(denied, fewer), replayed)
  const invalid = { nonce: randomUUID(), target: '/v1/customers?limit=0' }
  assertProblem(await read(invalid), { status: 400 })
  assertProblem(await read(invalid), replayed)
})

const target = '/v1/payouts/fiat'
const payout = async (fields: JsonObject = {}, amount = '1.00') =>
  payoutText(textAt(await createBeneficiary(client), 'id'), amount, fields)

test('200 to a payout and 401 to the same bytes: the payout is paid exactly once', async () => {
  const idempotencyKey = randomUUID()
  const call = { method: 'POST', target, nonce: randomUUID(), body: await payout({ idempotencyKey }) }
  success(await client.send(call))
  assertProblem(await client.send(call), replayed)
  success(await client.send({ ...call, nonce: randomUUID() }))
  assert.equal((await listAll(client, '/v1/payouts', `&idempotencyKey=${idempotencyKey}`)).length, 1)
})

test('200 to one and 401 to nineteen of twenty concurrent payouts with different keys and one nonce', async () => {
  const nonce = randomUUID()
  const keys = Array.from({ length: 20 }, () => randomUUID())
  const bodies = await Promise.all(keys.map((idempotencyKey) => payout({ idempotencyKey })))
  const answers = await Promise.all(bodies.map((body) => client.send({ method: 'POST', target, nonce, body })))
  assert.equal(answers.filter((answer) => answer.status === 200).length, 1)
  for (const answer of answers.filter((each) => each.status !== 200)) assertProblem(answer, replayed)
  const paid = await Promise.all(keys.map((key) => listAll(client, '/v1/payouts', `&idempotencyKey=${key}`)))
  assert.equal(paid.flat().length, 1)
})

test('401 to the nonce of every refused payout', async () => {
  const idempotencyKey = randomUUID()
  success(await client.post(target, await payout({ idempotencyKey })))
  const refusals = [
    { body: await payout(), status: 403, code: 'permission_denied', as: fewer },
    { body: '{', status: 400, code: 'malformed_json' },
    { body: await payout({ colour: 'red' }), status: 400, code: 'unknown_field' },
    { body: await payout({ currency: 'XXX' }), status: 400, code: 'validation_failed' },
    { body: payoutText(randomUUID(), '1.00'), status: 404, code: 'not_found' },
    { body: await payout({ idempotencyKey }), status: 422, code: 'idempotency_key_reused' },
  ]
  for (const { body, status, code, as = client } of refusals) {
    const call = { method: 'POST', target, nonce: randomUUID(), body }
    assertProblem(await as.send(call), { status, code })
    assertProblem(await as.send(call), replayed)
  }
})

test('401 to the nonce of a payout that was refused for insufficient funds', async () => {
  const body = async () => ({ method: 'POST', target, nonce: randomUUID(), body: await payout({}, '9000000.00') })
  for (let call = await body(); ; call = await body()) {
    const answer = await client.send(call)
    assertProblem(await client.send(call), replayed)
    if (answer.status === 200) continue
    assertProblem(answer, { status: 422, code: 'insufficient_funds' })
    break
  }
})

test('200 to two service accounts with the same nonce', async () => {
  const nonce = randomUUID()
  success(await read({ nonce }))
  success(await read({ nonce }, fewer))
})

test('200 to timestamps up to 300 s before or after the server time', async () => {
  for (const offset of [-290, -1, 1, 290]) success(await read({ timestamp: String(nowSeconds() + offset) }))
})

test('401 to timestamps more than 300 s before or after the server time', async () => {
  for (const offset of [-302, 302])
    assertProblem(await read({ timestamp: String(nowSeconds() + offset) }), {
      status: 401,
      code: 'timestamp_out_of_window',
    })
})

test('200 when the header names are in lower or upper case', async () => {
  for (const rename of [(name: string) => name.toLowerCase(), (name: string) => name.toUpperCase()]) {
    const nonce = randomUUID()
    const apiKey = service.credentials.apiKey
    const headers = { ApiKey: undefined, Nonce: undefined, [rename('ApiKey')]: apiKey, [rename('Nonce')]: nonce }
    success(await read({ nonce, headers }))
  }
})

test('401 when a signature header appears twice', async () => {
  const nonces = [randomUUID(), randomUUID()]
  for (const headers of [
    { Nonce: nonces },
    { ApiKey: [service.credentials.apiKey, 'other'] },
    { Signature: ['a', 'b'] },
  ])
    assertProblem(await read({ headers }), { status: 401 })
})

test('401 to a nonce that was used before the service stopped or crashed', async () => {
  const nonce = randomUUID()
  success(await read({ nonce }))
  await service.stop()
  const again = { dataDir: service.dataDir, env: { DATABASE_URL: service.databaseUrl } }
  const second = await startTestService(again)
  assert.deepEqual(second.credentials, service.credentials, 'the sandbox partner is the same')
  assertProblem(await read({ nonce }, second.client), replayed)
  const other = randomUUID()
  success(await read({ nonce: other }, second.client))
  await second.kill()
  const third = await startTestService(again)
  for (const used of [nonce, other]) assertProblem(await read({ nonce: used }, third.client), replayed)
  await third.stop()
})
