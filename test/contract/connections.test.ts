/** Connections after a refusal, and requests that are not valid HTTP. */
import assert from 'node:assert/strict'
import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import { test } from 'node:test'
import { success } from '../support/client.ts'
import { useService } from '../support/fixture.ts'
import { assertProblem } from '../support/problem.ts'
import { until } from '../support/until.ts'

const service = await useService({ env: { PAGE_RATE_PER_SECOND: '20' } })
const { hostname, port } = new URL(service.baseUrl)

/** Sends raw text. Resolves to the received text when the server closes, or after `count` problems. */
function exchangeRaw(text: string, count = 1): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port) })
    let received = ''
    const finish = () => {
      socket.destroy()
      resolve(received)
    }
    socket.setTimeout(10_000, () => reject(new Error(`no end after 10 s, received: ${received}`)))
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1')
      const ends = received.match(/"requestId":"[^"]+"\}/g) ?? []
      if (ends.length >= count) finish()
    })
    socket.on('close', finish)
    socket.on('error', reject)
    socket.write(text, 'latin1')
  })
}

const head = (first: string, ...headers: readonly string[]) =>
  [first, `Host: ${hostname}`, ...headers, '', ''].join('\r\n')

test('401 to each of several pipelined requests, in order', async () => {
  const ids = [1, 2, 3]
  const text = ids.map((id) => head(`GET /v1/customers/${id}${'0'.repeat(3)} HTTP/1.1`)).join('')
  const received = await exchangeRaw(text, ids.length)
  assert.equal(received.match(/HTTP\/1\.1 401 /g)?.length, 3)
  const instances = [...received.matchAll(/"instance":"([^"]+)"/g)].map((match) => match[1])
  assert.deepEqual(
    instances,
    ids.map((id) => `/v1/customers/${id}000`),
  )
})

const malformed: Readonly<Record<string, string>> = {
  'no HTTP syntax': 'hello\r\n\r\n',
  'a broken request line': head('GET /v1/customers HTTP/9.9'),
  'an unknown method': head('BREW /v1/customers HTTP/1.1'),
  'two different lengths': head('POST /v1/customers HTTP/1.1', 'Content-Length: 2', 'Content-Length: 3'),
  'a length and chunks': head('POST /v1/customers HTTP/1.1', 'Content-Length: 2', 'Transfer-Encoding: chunked'),
  'a length that is not a number': head('POST /v1/customers HTTP/1.1', 'Content-Length: many'),
  'a broken chunk': `${head('POST /v1/customers HTTP/1.1', 'Transfer-Encoding: chunked')}zz\r\n`,
  'a header name with a space': head('GET /v1/customers HTTP/1.1', 'Api Key: x'),
  'no host': 'GET /v1/customers HTTP/1.1\r\n\r\n',
}
for (const [what, text] of Object.entries(malformed))
  test(`400 or 401 with a problem body when a request has ${what}`, async () => {
    const received = await exchangeRaw(text)
    assert.match(received, /^HTTP\/1\.1 (400|401) /)
    assert.match(received, /^content-type: application\/problem\+json/im)
    assert.match(received, /^x-request-id: \S/im)
    assert.match(received, /^date: \S/im)
    const body = JSON.parse(received.slice(received.indexOf('\r\n\r\n') + 4)) as Record<string, unknown>
    for (const field of ['type', 'title', 'status', 'detail', 'instance', 'code', 'requestId'])
      assert.ok(field in body, field)
  })

test('400 when the request target has a fragment, signed or not', async () => {
  const { client } = service
  for (const target of [
    '/v1/accounts#x',
    '/v1/accounts?limit=1#x',
    '/v1/accounts#',
    '/v1/nope#x',
    '/docs#x',
    '/#/v1',
  ]) {
    const received = await exchangeRaw(head(`GET ${target} HTTP/1.1`))
    assert.match(received, /^HTTP\/1\.1 400 /, target)
    assert.match(received, /"code":"malformed_request"/)
    assert.match(received, /fragment/)
    const answer = await client.send({ method: 'GET', target, headers: { Connection: 'close' } })
    assertProblem(answer, { status: 400, code: 'malformed_request' })
  }
  success(await client.send({ method: 'GET', target: '/v1/accounts' }))
})

test('501 when the request has a transfer coding besides chunked', async () => {
  for (const fields of [
    ['Transfer-Encoding: gzip, chunked'],
    ['Transfer-Encoding: gzip', 'Transfer-Encoding: chunked'],
  ]) {
    const received = await exchangeRaw(`${head('POST /v1/payouts/fiat HTTP/1.1', ...fields)}0\r\n\r\n`)
    assert.match(received, /^HTTP\/1\.1 501 .*"code":"transfer_coding_not_supported"/s)
  }
  const chunked = await exchangeRaw(`${head('POST /v1/payouts/fiat HTTP/1.1', 'Transfer-Encoding: Chunked')}0\r\n\r\n`)
  assert.match(chunked, /^HTTP\/1\.1 401 /)
})

test('405 with the methods of the resource when HTTP knows the method but the resource does not serve it, and 404 for no resource', async () => {
  const { client } = service
  for (const method of ['PROPFIND', 'OPTIONS', 'LOCK']) {
    const answer = await client.send({ method, target: '/v1/payouts' })
    assertProblem(answer, { status: 405, code: 'method_not_allowed' })
    assert.equal(answer.headers.allow, 'GET')
    assertProblem(await client.send({ method, target: '/v1/nope' }), { status: 404, code: 'not_found' })
    assertProblem(await client.send({ method, target: '/v1/customers/' }), { status: 404, code: 'not_found' })
    assert.match(await exchangeRaw(head(`${method} /v1/payouts HTTP/1.1`)), /^HTTP\/1\.1 401 /)
    for (const page of ['/', '/docs', '/console/sign-in']) {
      const refused = await exchangeRaw(head(`${method} ${page} HTTP/1.1`))
      assert.match(refused, /^HTTP\/1\.1 405 .*^allow: GET, HEAD/ims, `${method} ${page}`)
    }
  }
})

test('401 when one of several Authorization headers has a bearer token, and 400 to an unknown expectation', async () => {
  const tokens = ['Authorization: Basic YTpi', 'Authorization: Bearer token']
  const twice = await exchangeRaw(head('GET /v1/customers HTTP/1.1', ...tokens))
  assert.match(twice, /^HTTP\/1\.1 401 .*"code":"jwt_not_accepted"/s)
  const signed = { method: 'POST', target: '/v1/customers', body: '{', headers: { Expect: 'the unexpected' } } as const
  assertProblem(await service.client.send(signed), { status: 400, code: 'malformed_json' })
})

test('404 with a page, not JSON, when an address below the pages does not exist', async () => {
  for (const path of ['/console/nothing', '/console/team/invite', '/checkout/a/b/c']) {
    const answer = await fetch(new URL(path, service.baseUrl))
    assert.equal(answer.status, 404, path)
    assert.match(answer.headers.get('content-type') ?? '', /^text\/html/, path)
    assert.match(answer.headers.get('content-security-policy') ?? '', /frame-ancestors 'none'/, path)
    assert.match(await answer.text(), /<h1/, path)
  }
})

test('401 on a connection that remains usable after each refused request', async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  let reused = 0
  const send = (method: string, path: string, body = '') =>
    new Promise<number>((resolve, reject) => {
      const outgoing = request(
        { hostname, port, path, method, agent, headers: { 'Content-Type': 'nonsense' } },
        (incoming) => {
          if (outgoing.reusedSocket) reused += 1
          incoming.resume().on('end', () => resolve(incoming.statusCode ?? 0))
        },
      )
      outgoing.on('error', reject).end(body)
    })
  for (let round = 0; round < 3; round += 1) {
    assert.equal(await send('GET', '/v1/customers'), 401)
    assert.equal(await send('POST', '/v1/customers', '{'), 401)
    assert.equal(await send('PUT', '/v1/beneficiaries', ' '.repeat(10_000)), 401)
    assert.equal(await send('DELETE', '/v1/nope'), 401)
  }
  agent.destroy()
  assert.equal(reused, 11, 'every request but the first used the same connection')
})

test('a connection closes after 100 refusals before authentication, and 401 says so', async () => {
  const received = await exchangeRaw(head('GET /v1/accounts HTTP/1.1').repeat(5000), 5000)
  assert.equal(received.match(/HTTP\/1\.1 401 /g)?.length, 100)
  assert.equal(received.match(/^connection: close/gim)?.length, 1)
  success(await service.client.get('/v1/accounts'))
})

test('refusals of signed requests close no connection', async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  for (let count = 0; count < 101; count += 1) {
    const { status, headers } = await service.client.send({ method: 'GET', target: '/v1/nothing', agent })
    assert.deepEqual([status, headers['connection']], [404, 'keep-alive'])
  }
  agent.destroy()
})

test('a target with scheme and host is read as its path and query', async () => {
  for (const target of ['http://other.example/v1/accounts?limit=1', 'HTTP://[::1]:8080/v1/nope', 'https://a/v1'])
    assert.match(await exchangeRaw(head(`GET ${target} HTTP/1.1`)), /^HTTP\/1\.1 401 /, target)
  for (const target of ['http://a/nope', 'http://a?x=1/v1', 'http://a.example'])
    assert.doesNotMatch(await exchangeRaw(head(`GET ${target} HTTP/1.1`, 'Connection: close')), / 401 /, target)
})

test('public files are sent compressed, with 304 to a client that has them, and 429 beyond the rate of an address', async () => {
  const load = (headers: Readonly<Record<string, string>>) => fetch(`${service.baseUrl}/openapi.json`, { headers })
  const tags = new Set<string>()
  const texts = new Set<string>()
  const sizes: number[] = []
  for (const encoding of ['identity', 'gzip', 'br']) {
    const answer = await load({ 'accept-encoding': encoding })
    assert.deepEqual([answer.status, answer.headers.get('vary')], [200, 'accept-encoding'])
    assert.equal(answer.headers.get('content-encoding') ?? 'identity', encoding)
    sizes.push(Number(answer.headers.get('content-length')))
    const etag = answer.headers.get('etag') ?? ''
    tags.add(etag)
    texts.add(await answer.text())
    for (const known of [etag, `"x", W/${etag}`, '*']) {
      const unchanged = await load({ 'accept-encoding': encoding, 'if-none-match': known })
      assert.deepEqual([unchanged.status, await unchanged.text(), unchanged.headers.get('etag')], [304, '', etag])
    }
  }
  assert.deepEqual([tags.size, texts.size], [3, 1])
  assert.ok((sizes[0] ?? 0) > 5 * (sizes[1] ?? 0) && (sizes[1] ?? 0) > (sizes[2] ?? 0), sizes.join())
  assert.equal((await load({ 'accept-encoding': 'br;q=0, gzip;q=0.5' })).headers.get('content-encoding'), 'gzip')
  const statuses = new Set<number>()
  await until('the address asks too often', async () => {
    const answers = await Promise.all(Array.from({ length: 100 }, () => fetch(`${service.baseUrl}/docs`)))
    for (const { status } of answers) statuses.add(status)
    return statuses.has(429)
  })
  assert.deepEqual([...statuses].toSorted(), [200, 429])
  success(await service.client.get('/v1/accounts'))
})
