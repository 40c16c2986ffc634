/** Responses (JSON, pages, problems) and private keys. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { problems } from '@partner-payments/wire'
import fc from 'fast-check'
import {
  assertSigned,
  drop,
  json,
  privateKeyPem,
  problem,
  type Respond,
  startScriptedApi,
} from '../../test/support/scripted-api.ts'
import * as sdk from './index.ts'
import { parseExactly, stringifyExactly } from './json.ts'
import { methods, operations } from './generated/operations.ts'
import { ApiConnectionError } from './problem.ts'
import { createClient } from './client.ts'

const classes = [
  [400, sdk.ValidationError],
  [401, sdk.AuthenticationError],
  [403, sdk.PermissionError],
  [404, sdk.NotFoundError],
  [405, sdk.ApiProblem],
  [408, sdk.ApiProblem],
  [409, sdk.ConflictError],
  [410, sdk.ApiProblem],
  [413, sdk.ApiProblem],
  [415, sdk.ApiProblem],
  [416, sdk.ApiProblem],
  [422, sdk.UnprocessableError],
  [429, sdk.RateLimitError],
  [431, sdk.ApiProblem],
  [500, sdk.ServerError],
  [501, sdk.ServerError],
  [502, sdk.ServerError],
  [503, sdk.ServerError],
  [504, sdk.ServerError],
] as const

const failure = (call: Promise<unknown>) =>
  call.then(
    () => assert.fail('the call did not fail'),
    (error: unknown) => error,
  )

for (const [status, Problem] of classes) {
  test(`${status} throws ${Problem.name}, which is an ApiProblem with a request id`, async (context) => {
    const { client } = await startScriptedApi(context, problem(status, 'some_code'))
    const error = await failure(client.accounts.list({}, { retries: 0 }))
    assert.ok(error instanceof Problem && error instanceof sdk.ApiProblem && error instanceof Error)
    assert.deepEqual(
      [error.constructor, error.name, error.status, error.code, error.detail, error.requestId],
      [Problem, Problem.name, status, 'some_code', 'D', 'r-1'],
    )
  })
}

test('every status of the problem catalogue is tested', () => {
  const tested = new Set<number>(classes.map(([status]) => status))
  for (const { status } of Object.values(problems)) assert.ok(tested.has(status), String(status))
})

test('ValidationError has a pointer to each invalid field', async (context) => {
  const errors = [{ pointer: '/kyc/city', code: 'too_long', message: 'm' }]
  const { client } = await startScriptedApi(context, json(400, { code: 'validation_failed', errors }))
  const error = await failure(client.customers.create({ email: 'x' }))
  assert.ok(error instanceof sdk.ValidationError)
  assert.deepEqual(error.errors, errors)
})

test('retryAfterSeconds reads seconds and a date', async (context) => {
  const at = new Date(Date.now() + 120_000).toUTCString()
  for (const [value, min, max] of [
    ['120', 120, 120],
    [at, 110, 121],
  ] as const) {
    const { client } = await startScriptedApi(context, problem(429, 'rate_limited', { 'retry-after': value }))
    const error = await failure(client.accounts.list())
    assert.ok(error instanceof sdk.RateLimitError && error.retryAfterSeconds !== undefined)
    assert.ok(error.retryAfterSeconds >= min && error.retryAfterSeconds <= max, String(error.retryAfterSeconds))
  }
})

test('an error without a problem body has the request id of the header, else the one that was sent', async (context) => {
  const proxy = await startScriptedApi(context, json(403, '<html>', { 'x-request-id': 'p-1' }))
  const first = await failure(proxy.client.accounts.list())
  assert.ok(first instanceof sdk.PermissionError)
  assert.deepEqual([first.code, first.requestId], ['http_403', 'p-1'])
  const silent = await startScriptedApi(context, json(403, '<html>'))
  const second = await failure(silent.client.accounts.list({}, { requestId: 'mine' }))
  assert.ok(second instanceof sdk.PermissionError)
  assert.equal(second.requestId, 'mine')
  const broken = await startScriptedApi(context, drop)
  const third = await failure(broken.client.accounts.list({}, { requestId: 'mine', retries: 0 }))
  assert.ok(third instanceof sdk.ApiConnectionError && !(third instanceof sdk.ApiTimeoutError))
  assert.deepEqual([third.requestId, third.attempts], ['mine', 1])
  const fourth = await failure(broken.client.customers.list({ email: 'ada@example.com' }, { retries: 0 }))
  assert.ok(fourth instanceof sdk.ApiConnectionError)
  assert.match(fourth.message, /^no usable response from http:\/\/127\.0\.0\.1:\d+\/v1\/customers after 1 attempt: \S/)
})

test('keeps amounts as text', () => {
  const text =
    '{"amount":9007199254740993.10,"userAmount":0.30,"n":7,"page":{"data":[{"amount":1.00},{"amount":-0.05}]}}'
  assert.deepEqual(parseExactly(text, ['amount', 'userAmount', 'page.data.*.amount']), {
    amount: '9007199254740993.10',
    userAmount: '0.30',
    n: 7,
    page: { data: [{ amount: '1.00' }, { amount: '-0.05' }] },
  })
})

test('keeps only the given paths as text, not an amount in custom fields', () => {
  const text = '{"amount":12.50,"customFields":{"amount":12.50,"quoted":"\\"amount\\":1"}}'
  assert.deepEqual(parseExactly(text, ['amount']), {
    amount: '12.50',
    customFields: { amount: 12.5, quoted: '"amount":1' },
  })
})

test('returns null and strings at an amount path unchanged', () => {
  assert.deepEqual(parseExactly('{"amount":null}', ['amount']), { amount: null })
  assert.deepEqual(parseExactly('{"amount":"1.0"}', ['amount']), { amount: '1.0' })
})

test('a field named __proto__ does not change the prototype', () => {
  const parsed = parseExactly('{"amount":1,"__proto__":{"admin":true}}', ['amount']) as object
  assert.equal(Object.getPrototypeOf(parsed), Object.prototype)
  assert.deepEqual(Object.keys(parsed), ['amount', '__proto__'])
})

test('parses everything except amounts as JSON.parse does', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 4 }), (text) => {
      assert.deepEqual(parseExactly(text, ['no.such.path']), JSON.parse(text))
    }),
    { numRuns: 500 },
  )
  for (const text of ['', '{', '{"a":01}', '[1,]', '{"a" 1}'])
    assert.throws(() => parseExactly(text, ['a']), SyntaxError)
})

test('writes decimal strings as number literals and everything else as JSON.stringify does', () => {
  assert.equal(
    stringifyExactly({ amount: '10000000.10', note: 'say "hi"', gone: undefined, list: [{ a: null }] }, ['amount']),
    '{"amount":10000000.10,"note":"say \\"hi\\"","list":[{"a":null}]}',
  )
  assert.equal(stringifyExactly({ amount: 12.5 }, ['amount']), '{"amount":12.5}')
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
      assert.equal(stringifyExactly(value, ['no.such.path']), JSON.stringify(value))
    }),
    { numRuns: 500 },
  )
})

test('refuses an amount that is not a decimal, so that it cannot inject JSON', () => {
  for (const amount of [
    '',
    '1,5',
    '1e3',
    ' 1',
    '01',
    '1}',
    '0x1',
    'NaN',
    Number.NaN,
    Number.POSITIVE_INFINITY,
    null,
    true,
  ])
    assert.throws(() => stringifyExactly({ amount }, ['amount']), TypeError, String(amount))
})

/** Serves the numbers from 0 to `count` - 1 in pages of `size`. The cursor is the number of the next item. */
const numbers =
  (count: number, size: number, cursorName = 'cursor'): Respond =>
  (response, number, request) => {
    const from = Number(new URL(request.url, 'http://x').searchParams.get(cursorName) ?? 0)
    const to = Math.min(count, from + size)
    const data = Array.from({ length: to - from }, (_, index) => ({ guid: String(from + index) }))
    const hasMore = to < count
    json(200, { data, hasMore, nextCursor: hasMore ? String(to) : null })(response, number, request)
  }
const queries = (requests: readonly { readonly url: string }[]) => requests.map(({ url }) => url.split('?')[1])

test('listAll returns the items of all pages, in order, with the filters on every page', async (context) => {
  const { client, requests } = await startScriptedApi(context, numbers(7, 3))
  const guids: string[] = []
  for await (const { guid } of client.customers.listAll({ email: 'a@b.c' })) guids.push(guid)
  assert.deepEqual(guids, ['0', '1', '2', '3', '4', '5', '6'])
  assert.deepEqual(queries(requests), [
    'email=a%40b.c&limit=100',
    'cursor=3&email=a%40b.c&limit=100',
    'cursor=6&email=a%40b.c&limit=100',
  ])
  for (const request of requests) assertSigned(request)
})

test('listAll requests a page only when the iteration reaches it, and ends after a break', async (context) => {
  const { client, requests } = await startScriptedApi(context, numbers(100, 2))
  const all = client.customers.listAll({ limit: 2 })
  assert.equal(requests.length, 0)
  for await (const { guid } of all) if (guid === '3') break
  assert.deepEqual(queries(requests), ['limit=2', 'cursor=2&limit=2'])
})

test('pages returns whole pages, and each iteration starts again', async (context) => {
  const { client } = await startScriptedApi(context, numbers(5, 2))
  const all = client.customers.listAll()
  for (let round = 0; round < 2; round += 1) {
    const sizes: (readonly [number, string | null])[] = []
    for await (const page of all.pages()) sizes.push([page.data.length, page.nextCursor])
    assert.deepEqual(sizes, [
      [2, '2'],
      [2, '4'],
      [1, null],
    ])
  }
})

test('continues from a given cursor, also in the event feed, whose last page has a cursor', async (context) => {
  const customers = await startScriptedApi(context, numbers(5, 2))
  assert.equal((await Array.fromAsync(customers.client.customers.listAll({ cursor: '3' }))).length, 2)
  const feed = await startScriptedApi(context, (response, count, request) => {
    const after = new URL(request.url, 'http://x').searchParams.get('after')
    const body = { data: [{ id: String(after) }], nextCursor: after === null ? 'a' : 'b', hasMore: after === null }
    json(200, body)(response, count, request)
  })
  const ids = (await Array.fromAsync(feed.client.webhooks.listAllEvents())).map(({ id }) => id)
  assert.deepEqual(ids, ['null', 'a'])
  assert.equal((await Array.fromAsync(feed.client.webhooks.listAllEvents({ after: 'x' }))).length, 1)
})

test('continues past an empty page, and passes on the options and the errors of the requests', async (context) => {
  const { client, requests } = await startScriptedApi(context, (response, count, request) => {
    if (count > 2) return drop(response, count, request)
    return json(200, { data: [], hasMore: true, nextCursor: String(count) })(response, count, request)
  })
  await assert.rejects(
    Array.fromAsync(client.webhooks.listAllDeliveries('w', {}, { retries: 0, requestId: 'r' })),
    ApiConnectionError,
  )
  assert.deepEqual(
    requests.map(({ headers }) => headers['x-request-id']),
    ['r', 'r', 'r'],
  )
})

test('every operation with a cursor has a method for all pages', async (context) => {
  const { client } = await startScriptedApi(context, json(200, { data: [], hasMore: false, nextCursor: null }))
  let count = 0
  for (const [namespace, names] of Object.entries(methods)) {
    const group = client[namespace as keyof typeof methods] as unknown as Readonly<Record<string, Function>>
    for (const [name, id] of Object.entries(names)) {
      const { cursor, params } = operations[id]
      if (cursor === undefined) continue
      count += 1
      const all = group[name.replace(/^list/, 'listAll')]?.(...params.map(() => 'x')) as AsyncIterable<unknown>
      assert.deepEqual(await Array.fromAsync(all), [])
    }
  }
  assert.ok(count >= 9, String(count))
})

const options = { baseUrl: 'http://127.0.0.1:1', apiKey: 'a', apiSecret: 's' }
const create = (pem: unknown, privateKeyPassphrase?: string) =>
  createClient({
    ...options,
    privateKeyPem: pem as string,
    ...(privateKeyPassphrase !== undefined && { privateKeyPassphrase }),
  })
const pkcs8 = (key: KeyObject) => key.export({ type: 'pkcs8', format: 'pem' }).toString()
const rsa = (modulusLength: number) => generateKeyPairSync('rsa', { modulusLength }).privateKey
const key = rsa(2048)
const encrypted = key
  .export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'correct horse' })
  .toString()
const encryptedPkcs1 = key
  .export({ type: 'pkcs1', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'correct horse' })
  .toString()
const lines = privateKeyPem.trimEnd().split('\n')
const label = (name: string) => privateKeyPem.replaceAll('PRIVATE KEY', name)

const mistakes: readonly (readonly [title: string, pem: unknown, message: RegExp, passphrase?: string])[] = [
  ['is missing', undefined, /is missing/],
  ['is empty', ' \n', /is empty/],
  ['is a file name', './keys/partner.pem', /is a file name. Pass the contents of the file/],
  ['is not a PEM', 'c2VjcmV0', /is not a PEM text/],
  ['is a public key', createPublicKey(key).export({ type: 'spki', format: 'pem' }).toString(), /is a public key/],
  [
    'is a PKCS#1 public key',
    createPublicKey(key).export({ type: 'pkcs1', format: 'pem' }).toString(),
    /is a public key/,
  ],
  ['is a certificate', label('CERTIFICATE'), /is a certificate/],
  ['is an OpenSSH key', label('OPENSSH PRIVATE KEY'), /is an OpenSSH key. Convert it/],
  ['has escaped line breaks', privateKeyPem.replaceAll('\n', '\\n'), /backslash and n instead of line breaks/],
  ['is cut off', lines.slice(0, -1).join('\n'), /is cut off/],
  ['is damaged', [lines[0], ...lines.slice(4)].join('\n'), /is damaged/],
  ['is an EC key', pkcs8(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey), /not an RSA .* type ec$/],
  ['is an Ed25519 key', pkcs8(generateKeyPairSync('ed25519').privateKey), /not an RSA .* type ed25519$/],
  ['is too short', pkcs8(rsa(1024)), /is too short: 1024 bits. The service requires RSA with 2048 bits/],
  ['is encrypted', encrypted, /is encrypted. Pass its passphrase as privateKeyPassphrase/],
  ['is encrypted in PKCS#1', encryptedPkcs1, /is encrypted. Pass its passphrase as privateKeyPassphrase/],
  ['has another passphrase', encrypted, /cannot be decrypted. Check privateKeyPassphrase/, 'wrong horse'],
]

for (const [title, pem, message, passphrase] of mistakes) {
  test(`createClient refuses a private key that ${title}, and says so`, () => {
    assert.throws(
      () => create(pem, passphrase),
      (error) => {
        assert.ok(error instanceof TypeError)
        assert.match(error.message, /^privateKeyPem /)
        assert.match(error.message, message)
        for (const line of String(pem)
          .split('\n')
          .filter((each) => each.length > 40))
          assert.ok(!error.message.includes(line), 'the message contains a part of the key')
        return true
      },
    )
  })
}

test('createClient accepts PKCS#8, PKCS#1, encrypted keys, CRLF and text around the key', () => {
  create(pkcs8(key))
  create(key.export({ type: 'pkcs1', format: 'pem' }).toString())
  create(encrypted, 'correct horse')
  create(encryptedPkcs1, 'correct horse')
  create(pkcs8(key).replaceAll('\n', '\r\n'))
  create(`Bag Attributes\n  friendlyName: partner\n${pkcs8(key)}`)
})
