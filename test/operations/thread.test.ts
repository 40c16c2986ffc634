/** `serve` with its sockets on a thread of their own, and without, as it is by default: nobody outside can tell. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { createLog } from '../../service/src/kernel/index.ts'
import { createDatabase, sql } from '../../service/src/postgres/index.ts'
import { type Answer, type Call, textAt } from '../support/client.ts'
import { startTestService, type TestService } from '../support/service.ts'

let threaded: TestService
let alone: TestService

before(async () => {
  ;[threaded, alone] = await Promise.all([startTestService({ env: { HTTP_THREAD: 'on' } }), startTestService()])
})
after(() => Promise.all([threaded.dispose(), alone.dispose()]))

const nonce = randomUUID()
const calls: readonly (readonly [title: string, status: number, call: Call])[] = [
  ['a read', 200, { method: 'GET', target: '/v1/accounts', nonce }],
  ['its nonce again', 401, { method: 'GET', target: '/v1/accounts', nonce }],
  ['a nonce is spent by a path that leads nowhere', 404, { method: 'GET', target: '/v1/nowhere' }],
  ['a method that is not there', 405, { method: 'PATCH', target: '/v1/accounts' }],
  ['a signature that does not hold', 401, { method: 'GET', target: '/v1/accounts', signed: { path: '/v1/other' } }],
  ['a timestamp long past', 401, { method: 'GET', target: '/v1/accounts', timestamp: '1' }],
  ['a body that the schema refuses', 400, { method: 'POST', target: '/v1/customers', body: { nobody: 'knows' } }],
  ['a body that is no UTF-8', 400, { method: 'POST', target: '/v1/customers', body: Buffer.from([0x22, 0xff, 0x22]) }],
  ['a body too large', 413, { method: 'POST', target: '/v1/customers', body: Buffer.alloc(300_000, 0x20) }],
  ['an encoded body', 415, { ...encoded(), method: 'POST', target: '/v1/customers' }],
  ['a query that nobody knows', 400, { method: 'GET', target: '/v1/accounts?a=%C3%A9' }],
]

function encoded(): Pick<Call, 'body' | 'headers'> {
  return { body: { email: 'ada@example.com' }, headers: { 'content-encoding': 'gzip' } }
}

const seen = ({ status, json, headers }: Answer) => {
  const { requestId: _id, ...problem } = json
  const { 'content-type': type, 'retry-after': retry, allow } = headers
  return { status, problem: status < 400 ? Object.keys(json) : problem, type, retry, allow }
}

for (const [title, status, call] of calls)
  test(`${title}: ${status} from both, word for word`, async () => {
    const [first, second] = [await threaded.client.send(call), await alone.client.send(call)]
    assert.equal(first.status, status, first.text)
    assert.deepEqual(seen(first), seen(second))
  })

test('text beyond ASCII passes the threads byte for byte', async () => {
  const name = 'Grüße, 私 \u{1F600} \u00ff\u0080'
  for (const { client } of [threaded, alone]) {
    const made = await client.send({
      method: 'POST',
      target: '/v1/customers',
      body: { partnerCustomerIdentifier: name },
    })
    assert.equal(made.status, 200, made.text)
    const read = await client.get(`/v1/customers/${textAt(made.json, 'guid')}`)
    assert.equal(textAt(read.json, 'partnerCustomerIdentifier'), name)
  }
})

test('a credential that cannot be opened is 500 for its caller, and nothing to the others', async () => {
  for (const service of [threaded, alone]) {
    const { partnerId } = service.credentials
    const account = ['service-account', 'create', '--partner', partnerId, '--name', 'Broken', '--permissions', 'all']
    const broken = service.clientOf(await service.operator(...account))
    const db = createDatabase({ url: service.databaseUrl, connectionsMax: 1, log: createLog('silent') })
    await db.run(sql`
      update access.service_accounts set api_secret_sealed = ${Buffer.from('00', 'hex')}
      where partner_id = ${partnerId} and name = 'Broken'`)
    await db.close()
    const answer = await broken.send({ method: 'GET', target: '/v1/accounts' })
    assert.equal(answer.status, 500, answer.text)
    assert.equal(textAt(answer.json, 'code'), 'internal_error')
    assert.equal((await service.client.get('/v1/accounts')).status, 200)
  }
})

test('every authenticated answer of both has the RateLimit fields, refusals too', async () => {
  for (const { client } of [threaded, alone])
    for (const target of ['/v1/accounts', '/v1/accounts?unknown=1']) {
      const { headers } = await client.send({ method: 'GET', target })
      assert.match(String(headers.ratelimit), /r=\d+/)
      assert.match(String(headers['ratelimit-policy']), /q=\d+/)
    }
})
