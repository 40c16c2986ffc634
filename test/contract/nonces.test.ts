/** The nonce and the timestamp. Interface document, Authentication and Limits 1, 2; contract page, nonce. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { type Call, type Client, type JsonObject, nowSeconds, success, textAt } from '../support/client.ts'
import { assertProblem } from '../support/problem.ts'
import { accountWith, startTestService } from '../support/service.ts'
import { createBeneficiary, listAll, payoutText } from '../support/world.ts'

const service = await startTestService()
after(() => service.dispose())
const { client } = service
const fewer = await accountWith(service, ['customers:read'])

const read = (call: Partial<Call>, as: Client = client) => as.send({ method: 'GET', target: '/v1/customers', ...call })
const replayed = { status: 401, code: 'nonce_replayed' }

/** The spellings of one GUID that .NET, the home of the word, reads and writes: D, N, B and P, in both cases. */
function spellings(guid: string): Readonly<Record<string, string>> {
  const bare = guid.replaceAll('-', '')
  return { D: guid, N: bare, B: `{${guid}}`, P: `(${guid})`, upperD: guid.toUpperCase(), upperN: bare.toUpperCase() }
}

for (const form of Object.keys(spellings(randomUUID())))
  test(`200 to a nonce spelled in form ${form}, and 401 to the same GUID in every other form`, async () => {
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

test('401 when the same request comes twice, byte for byte', async () => {
  const call = { nonce: randomUUID(), timestamp: String(nowSeconds()) }
  success(await read(call))
  assertProblem(await read(call), replayed)
})

test('200 to one and 401 to nineteen when twenty bear one nonce at once', async () => {
  const nonce = randomUUID()
  const answers = await Promise.all(Array.from({ length: 20 }, () => read({ nonce })))
  assert.equal(answers.filter((answer) => answer.status === 200).length, 1)
  for (const answer of answers.filter((each) => each.status !== 200)) assertProblem(answer, replayed)
})

test('401 to a wrong signature does not use the nonce up', async () => {
  const nonce = randomUUID()
  assertProblem(await read({ nonce, signed: { secret: 'wrong' } }), { status: 401, code: 'signature_invalid' })
  assertProblem(await read({ nonce, timestamp: '1' }), { status: 401, code: 'timestamp_out_of_window' })
  success(await read({ nonce }))
})

test('403 and 400 use the nonce up: the signature held', async () => {
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

test('200 to a payout once, and 401 to the same bytes again: it is paid once', async () => {
  const idempotencyKey = randomUUID()
  const call = { method: 'POST', target, nonce: randomUUID(), body: await payout({ idempotencyKey }) }
  success(await client.send(call))
  assertProblem(await client.send(call), replayed)
  success(await client.send({ ...call, nonce: randomUUID() }))
  assert.equal((await listAll(client, '/v1/payouts', `&idempotencyKey=${idempotencyKey}`)).length, 1)
})

test('200 to one and 401 to nineteen when twenty payouts with keys of their own bear one nonce at once', async () => {
  const nonce = randomUUID()
  const keys = Array.from({ length: 20 }, () => randomUUID())
  const bodies = await Promise.all(keys.map((idempotencyKey) => payout({ idempotencyKey })))
  const answers = await Promise.all(bodies.map((body) => client.send({ method: 'POST', target, nonce, body })))
  assert.equal(answers.filter((answer) => answer.status === 200).length, 1)
  for (const answer of answers.filter((each) => each.status !== 200)) assertProblem(answer, replayed)
  const paid = await Promise.all(keys.map((key) => listAll(client, '/v1/payouts', `&idempotencyKey=${key}`)))
  assert.equal(paid.flat().length, 1)
})

test('a payout that is refused, wherever, uses the nonce up', async () => {
  const idempotencyKey = randomUUID()
  success(await client.post(target, await payout({ idempotencyKey })))
  const refused: readonly (readonly [string, number, string, Client?])[] = [
    [await payout(), 403, 'permission_denied', fewer],
    ['{', 400, 'malformed_json'],
    [await payout({ colour: 'red' }), 400, 'unknown_field'],
    [await payout({ currency: 'XXX' }), 400, 'validation_failed'],
    [payoutText(randomUUID(), '1.00'), 404, 'not_found'],
    [await payout({ idempotencyKey }), 422, 'idempotency_key_reused'],
  ]
  for (const [body, status, code, as = client] of refused) {
    const call = { method: 'POST', target, nonce: randomUUID(), body }
    assertProblem(await as.send(call), { status, code })
    assertProblem(await as.send(call), replayed)
  }
})

test('a payout that finds too little money uses the nonce up, and is not paid when it comes again', async () => {
  const body = async () => ({ method: 'POST', target, nonce: randomUUID(), body: await payout({}, '9000000.00') })
  for (let call = await body(); ; call = await body()) {
    const answer = await client.send(call)
    assertProblem(await client.send(call), replayed)
    if (answer.status === 200) continue
    assertProblem(answer, { status: 422, code: 'insufficient_funds' })
    break
  }
})

test('200 to two service accounts with one nonce: it is unique for each', async () => {
  const nonce = randomUUID()
  success(await read({ nonce }))
  success(await read({ nonce }, fewer))
})

test('200 to timestamps within 300 s either way', async () => {
  for (const offset of [-290, -1, 1, 290]) success(await read({ timestamp: String(nowSeconds() + offset) }))
})

test('401 beyond 300 s either way', async () => {
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

test('401 when a signature header comes twice', async () => {
  const nonces = [randomUUID(), randomUUID()]
  for (const headers of [
    { Nonce: nonces },
    { ApiKey: [service.credentials.apiKey, 'other'] },
    { Signature: ['a', 'b'] },
  ])
    assertProblem(await read({ headers }), { status: 401 })
})

test('401 to a nonce used before the service was restarted, by order or by a power cut', async () => {
  const nonce = randomUUID()
  success(await read({ nonce }))
  await service.stop()
  const again = { dataDir: service.dataDir, env: { DATABASE_URL: service.databaseUrl } }
  const second = await startTestService(again)
  assert.deepEqual(second.credentials, service.credentials, 'the sandbox partner stays')
  assertProblem(await read({ nonce }, second.client), replayed)
  const other = randomUUID()
  success(await read({ nonce: other }, second.client))
  await second.kill()
  const third = await startTestService(again)
  for (const used of [nonce, other]) assertProblem(await read({ nonce: used }, third.client), replayed)
  await third.stop()
})
