/** Signatures of requests and webhooks. */
import assert from 'node:assert/strict'
import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { runInNewContext } from 'node:vm'
import * as wire from '@partner-payments/wire'
import { Webhook } from 'standardwebhooks'
import fc from 'fast-check'
import { verifyWebhook, WebhookVerificationError, type WebhookVerificationReason } from './webhook.ts'
import { canonicalQuery, canonicalString, createSigner } from './sign.ts'
import { signTestWebhook } from './sign-webhook.ts'

const secret = `whsec_${Buffer.from('a webhook secret of 32 characters').toString('base64')}`
const otherSecret = `whsec_${Buffer.from('another secret of 32 characters!!').toString('base64')}`

const id = '018f3c5e-7d1a-7c3e-9a52-6f1f0a9f4d21'
const nowSeconds = 1_767_225_600
const body =
  `{"eventId":"${id}","data":{"eventType":"transaction.status.changed","amount":9007199254740993.10,` +
  '"customFields":{"amount":1.5},"currency":"EUR"}}'

/** Signed by the reference implementation of Standard Webhooks. */
const referenceSignature = (key: string, at = nowSeconds) => new Webhook(key).sign(id, new Date(at * 1000), body)
const headersOf = (signature: string, at = nowSeconds) => ({
  'webhook-id': id,
  'webhook-timestamp': String(at),
  'webhook-signature': signature,
})
const rejects = (run: () => unknown, reason: WebhookVerificationReason) =>
  assert.throws(run, (error) => (error as { reason?: unknown }).reason === reason)

test('accepts signatures of the reference implementation and of the service', () => {
  const raw = Buffer.from(secret.slice(6), 'base64')
  for (const signature of [
    referenceSignature(secret),
    wire.deliverySignature({ kind: 'v1', key: raw }, id, nowSeconds, body),
  ]) {
    for (const rawBody of [body, Buffer.from(body)]) {
      const event = verifyWebhook(secret, headersOf(signature), rawBody, { nowSeconds })
      assert.equal(event.eventId, id)
      assert.equal(event.data.eventType, 'transaction.status.changed')
    }
  }
})

test('keeps the amount exact and the custom fields unchanged', () => {
  const { data } = verifyWebhook(secret, headersOf(referenceSignature(secret)), body, { nowSeconds })
  assert.equal(data.amount, '9007199254740993.10')
  assert.deepEqual(data.customFields, { amount: 1.5 })
})

test('accepts headers in every form and case that servers and frameworks provide', () => {
  const plain = headersOf(referenceSignature(secret))
  const pairs = Object.entries(plain)
  const titled = pairs.map(([name, value]) => [name.replaceAll(/\b\w/g, (char) => char.toUpperCase()), value] as const)
  const iterable = {
    *[Symbol.iterator]() {
      yield* titled
    },
  } // Like the headers of another implementation of fetch.
  for (const headers of [
    plain,
    new Headers(plain),
    new Map(titled),
    pairs,
    iterable,
    titled.flat(),
    ['Host', 'webhook-id', ...titled.flat()],
    Object.fromEntries(titled),
    Object.fromEntries(pairs.map(([name, value]) => [name, [value]])),
    Object.fromEntries(pairs.map(([name, value]) => [name.toUpperCase(), [value]])),
    { ...plain, 'webhook-signature': ['v1,AAAA', plain['webhook-signature']] },
    { ...plain, other: undefined, 'Webhook-Id': undefined },
  ])
    assert.equal(verifyWebhook(secret, headers, body, { nowSeconds }).eventId, id)
  for (const wrong of [
    { ...plain, 'webhook-id': [id, id] },
    { ...plain, 'Webhook-Id': id },
    { ...plain, 'webhook-timestamp': ['1', '2'] },
  ])
    rejects(() => verifyWebhook(secret, wrong, body, { nowSeconds }), 'header_repeated')
})

test('accepts the body as text, bytes, a view of larger bytes and an ArrayBuffer', () => {
  const bytes = new TextEncoder().encode(`--${body}--`)
  const { buffer } = new TextEncoder().encode(body)
  const ofAnotherRealm = runInNewContext('new Uint8Array(bytes)', { bytes: [...Buffer.from(body)] }) as Uint8Array
  assert.ok(!(ofAnotherRealm instanceof Uint8Array))
  for (const rawBody of [body, Buffer.from(body), bytes.subarray(2, -2), buffer, ofAnotherRealm])
    assert.equal(verifyWebhook(secret, headersOf(referenceSignature(secret)), rawBody, { nowSeconds }).eventId, id)
})

/** Calls `verifyWebhook` as a JavaScript program does, without types. */
const call = (key: unknown, headers: unknown, rawBody: unknown) => () =>
  verifyWebhook(key as string, headers as Headers, rawBody as string, { nowSeconds })
const genuine = () => headersOf(referenceSignature(secret))

test('a body that is parsed, missing, a promise or unread causes an error message with the remedy', () => {
  for (const [rawBody, sentence] of [
    [JSON.parse(body), /parsed already.*before any parser: in Express by `express\.raw/],
    [{ length: 60_000_000 }, /parsed already/],
    [[1, 2], /parsed already/],
    [17, /parsed already/],
    [undefined, /^The body is missing\..*before any parser/],
    [null, /^The body is missing/],
    [Promise.resolve(body), /promise: await it/],
    [new Response(body).body, /stream: read it to its end/],
    [Readable.from([body]), /stream: read it to its end/],
  ] as const)
    assert.throws(
      call(secret, genuine(), rawBody),
      (error) => error instanceof TypeError && sentence.test(error.message),
    )
  assert.throws(call(secret, genuine(), ''), {
    reason: 'signature_invalid',
    message: /signature_invalid\. The body is empty.*before any parser/,
  })
  const rewritten = JSON.stringify(JSON.parse(body))
  assert.throws(call(secret, genuine(), rewritten), {
    reason: 'signature_invalid',
    message: /not parsed and serialised again/,
  })
})

test('a missing or invalid secret has an error message with the remedy', () => {
  for (const [key, sentence] of [
    [undefined, /secret is missing\. Pass the `secret` \(whsec_/],
    [null, /secret is missing/],
    ['', /secret is missing/],
    [[], /list of webhook secrets is empty\. Pass/],
    [[secret, undefined], /secret is missing/],
    ['whsec_', /secret is empty\. Pass/],
    [`"${secret}"`, /secret is not Base64\. Pass/],
    [{ secret }, /secret is missing/],
  ] as const)
    assert.throws(call(key, genuine(), body), (error) => error instanceof TypeError && sentence.test(error.message))
  assert.equal(verifyWebhook(`${secret}\n`, genuine(), body, { nowSeconds }).eventId, id)
})

test('missing or invalid headers have an error message with the remedy', () => {
  for (const headers of [undefined, null, 'webhook-id'])
    assert.throws(call(secret, headers, body), { name: 'TypeError', message: /pass the headers of the request/ })
  for (const headers of [{}, [], ['webhook-id'], [['webhook-id']], new Headers(), [1, null]])
    assert.throws(call(secret, headers, body), {
      reason: 'header_missing',
      message: /webhook-id is missing: pass all headers/,
    })
  for (const request of [
    { headers: genuine(), method: 'POST' },
    new Request('https://a.example', { headers: genuine() }),
  ])
    assert.throws(call(secret, request, body), { reason: 'header_missing', message: /not the request/ })
})

test('accepts one valid signature among several, and either secret during a rotation', () => {
  const signatures = `v1a,AAAA v1,AAAA ${referenceSignature(otherSecret)} ${referenceSignature(secret)}`
  assert.equal(verifyWebhook(secret, headersOf(signatures), body, { nowSeconds }).eventId, id)
  assert.equal(
    verifyWebhook([otherSecret, secret], headersOf(referenceSignature(secret)), body, { nowSeconds }).eventId,
    id,
  )
})

test('rejects a wrong secret, body, id or timestamp, and a missing or malformed signature', () => {
  const headers = headersOf(referenceSignature(secret))
  const check = (changed: Partial<typeof headers>, text = body, key = secret) =>
    rejects(() => verifyWebhook(key, { ...headers, ...changed }, text, { nowSeconds }), 'signature_invalid')
  check({}, body, otherSecret)
  check({}, `${body} `)
  check({ 'webhook-id': '018f3c5e-7d1a-7c3e-9a52-6f1f0a9f4d22' })
  check({ 'webhook-timestamp': String(nowSeconds + 1) })
  check({ 'webhook-signature': 'v1,' })
  check({ 'webhook-signature': referenceSignature(secret).replace('v1,', 'v2,') })
  check({ 'webhook-signature': referenceSignature(secret).slice(0, -8) })
})

test('rejects a timestamp outside the tolerance window, to the second', () => {
  const at = (seconds: number, toleranceSeconds?: number) => () =>
    verifyWebhook(secret, headersOf(referenceSignature(secret, nowSeconds + seconds), nowSeconds + seconds), body, {
      nowSeconds,
      ...(toleranceSeconds !== undefined && { toleranceSeconds }),
    })
  for (const seconds of [-300, 0, 300]) assert.equal(at(seconds)().eventId, id)
  for (const seconds of [-301, 301]) rejects(at(seconds), 'timestamp_out_of_window')
  rejects(at(-11, 10), 'timestamp_out_of_window')
})

test('rejects missing headers and a timestamp that is not a number', () => {
  const headers = headersOf(referenceSignature(secret))
  for (const name of Object.keys(headers))
    rejects(() => verifyWebhook(secret, { ...headers, [name]: undefined }, body, { nowSeconds }), 'header_missing')
  for (const text of ['abc', '1767225600.5', '-1', 'NaN'])
    rejects(
      () => verifyWebhook(secret, { ...headers, 'webhook-timestamp': text }, body, { nowSeconds }),
      'timestamp_invalid',
    )
})

test('throws for an empty secret', () => {
  for (const empty of ['', 'whsec_', 'whpk_'])
    assert.throws(() => verifyWebhook(empty, headersOf(referenceSignature(secret)), body, { nowSeconds }), TypeError)
})

test('throws for a private key and for a public key of the wrong length', () => {
  for (const key of [
    `whsk_${Buffer.alloc(64, 1).toString('base64')}`,
    `whpk_${Buffer.alloc(31, 1).toString('base64')}`,
  ])
    assert.throws(() => verifyWebhook(key, headersOf(referenceSignature(secret)), body, { nowSeconds }), TypeError)
})

/** Generated by the openssl command line: sdk/vectors/make-webhook.sh. */
const vectorFile = JSON.parse(readFileSync(new URL('../vectors/webhook.json', import.meta.url), 'utf8')) as {
  readonly timestamp: number
  readonly vectors: readonly { readonly body: string; readonly v1: string; readonly v1a: string }[]
} & Readonly<Record<'id' | 'secret' | 'privateKey' | 'publicKey', string>>

const [first] = vectorFile.vectors
assert.ok(first)

/** Some vector bodies are not JSON. They are verified first, and only then fail to parse. */
const verificationOf = (key: string | readonly string[], signature: string, text: string) => {
  const at = vectorFile.timestamp
  try {
    verifyWebhook(key, { ...headersOf(signature, at), 'webhook-id': vectorFile.id }, text, { nowSeconds: at })
    return true
  } catch (error) {
    if (error instanceof WebhookVerificationError) return error.reason
    return !(error instanceof TypeError)
  }
}

test('accepts HMAC and Ed25519 signatures of openssl, each only with its own key', () => {
  assert.ok(vectorFile.vectors.length >= 4)
  for (const { body: text, v1, v1a } of vectorFile.vectors) {
    assert.equal(verificationOf(vectorFile.secret, v1, text), true)
    assert.equal(verificationOf(vectorFile.publicKey, v1a, text), true)
    assert.equal(verificationOf(vectorFile.secret, v1a, text), 'signature_invalid')
    assert.equal(verificationOf(vectorFile.publicKey, v1, text), 'signature_invalid')
    // Valid signature bytes with the prefix of the other scheme.
    assert.equal(verificationOf(vectorFile.publicKey, v1a.replace('v1a,', 'v1,'), text), 'signature_invalid')
    assert.equal(verificationOf(vectorFile.secret, v1.replace('v1,', 'v1a,'), text), 'signature_invalid')
  }
})

test('accepts both schemes during a change of scheme, and either of two public keys', () => {
  const { body: text, v1, v1a } = first
  assert.equal(verificationOf([vectorFile.secret, vectorFile.publicKey], v1a, text), true)
  assert.equal(verificationOf([vectorFile.secret, vectorFile.publicKey], v1, text), true)
  assert.equal(verificationOf(vectorFile.publicKey, `${v1} ${v1a}`, text), true)
  const seed = generateKeyPairSync('ed25519').privateKey.export({ format: 'der', type: 'pkcs8' }).subarray(-32)
  const next = wire.parseSigningKey(`whsk_${seed.toString('base64')}`)
  const both = `${v1a} ${wire.deliverySignature(next, vectorFile.id, vectorFile.timestamp, text)}`
  assert.equal(verificationOf(wire.verifyingKeyText(next), both, text), true)
  assert.equal(verificationOf(wire.verifyingKeyText(next), v1a, text), 'signature_invalid')
  assert.equal(verificationOf([wire.verifyingKeyText(next), vectorFile.publicKey], v1a, text), true)
})

test('rejects a changed or truncated Ed25519 signature, and a valid one after sixteen others', () => {
  const { body: text, v1a } = first
  assert.equal(verificationOf(vectorFile.publicKey, v1a, `${text} `), 'signature_invalid')
  for (const signature of ['v1a,', v1a.slice(0, -8), `${v1a.slice(0, -2)}AAAA`, v1a.replace('v1a,', 'v1a,AAAA')])
    assert.equal(verificationOf(vectorFile.publicKey, signature, text), 'signature_invalid', signature)
  assert.equal(verificationOf(vectorFile.publicKey, `${'v1a,AAAA '.repeat(16)}${v1a}`, text), 'signature_invalid')
})

type Vector = Readonly<
  Record<'name' | 'method' | 'path' | 'query' | 'canonicalQuery' | 'body' | 'bodySha256' | 'canonical', string>
> & { readonly signature: string }
type Vectors = {
  readonly apiSecret: string
  readonly timestamp: string
  readonly nonce: string
  readonly vectors: readonly Vector[]
}

const read = (name: string) => readFileSync(new URL(`../vectors/${name}`, import.meta.url), 'utf8')
const { apiSecret, timestamp, nonce, vectors } = JSON.parse(read('signing.json')) as Vectors
const privateKeyPem = read('key.pem')
const sign = createSigner({ apiKey: 'ak_vectors', apiSecret, privateKeyPem })

test('the openssl vectors are complete', () => assert.equal(vectors.length, 9))

for (const vector of vectors) {
  test(`signs as openssl does: ${vector.name}`, () => {
    const request = { ...vector, body: Buffer.from(vector.body), timestamp, nonce }
    assert.equal(canonicalQuery(vector.query), vector.canonicalQuery)
    assert.equal(canonicalString(request, apiSecret), vector.canonical)
    assert.deepEqual(sign(request), {
      ApiKey: 'ak_vectors',
      Nonce: nonce,
      Timestamp: timestamp,
      Signature: vector.signature,
    })
  })
}

test('produces the same canonical string as the service for any request', () => {
  const word = fc.string({ unit: 'grapheme', maxLength: 12 })
  const name = word.map((text) => encodeURIComponent(text))
  const pair = fc.tuple(name, name).map(([key, value]) => `${key}=${value}`)
  const parts = fc.record({
    method: fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE'),
    path: word,
    query: fc.array(fc.oneof(pair, name)).map((pairs) => pairs.join('&')),
    timestamp: word,
    nonce: word,
    body: fc.uint8Array(),
  })
  fc.assert(
    fc.property(parts, word, (request, secret) => {
      assert.equal(canonicalString(request, secret), wire.canonicalString({ ...request, apiSecret: secret }))
    }),
    { numRuns: 500 },
  )
})

test('refuses an invalid percent-encoding as the service does', () => {
  for (const query of ['a=%', 'a=%C3', '%zz']) {
    assert.throws(() => canonicalQuery(query), URIError)
    assert.throws(() => wire.canonicalQuery(query), URIError)
  }
})

test('generates a new nonce and timestamp for each request', () => {
  const request = { method: 'GET', path: '/v1/accounts', query: '', body: new Uint8Array(0) }
  const [first, second] = [sign(request), sign(request)]
  assert.notEqual(first.Nonce, second.Nonce)
  assert.match(first.Nonce, new RegExp(wire.uuidPattern))
  assert.ok(Math.abs(Number(first.Timestamp) - Date.now() / 1000) < 60)
  const canonical = canonicalString({ ...request, timestamp: first.Timestamp, nonce: first.Nonce }, apiSecret)
  const signature = Buffer.from(first.Signature, 'base64')
  assert.ok(verify('sha256', Buffer.from(canonical), createPublicKey(privateKeyPem), signature))
})

test('refuses a key that is not RSA', () => {
  const { privateKey } = generateKeyPairSync('ed25519')
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  assert.throws(
    () => createSigner({ apiKey: 'a', apiSecret, privateKeyPem: pem }),
    /not an RSA private key, but a key of type ed25519/,
  )
})

const payload = { eventType: 'partner.customer.deposit.completed', amount: '9007199254740993.10', currency: 'EUR' }
const pem = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
const privateKey = `whsk_${Buffer.alloc(32, 7).toString('base64')}`

test('verifyWebhook accepts a delivery signed with a secret, with exact amounts', () => {
  const { headers, body, publicKey } = signTestWebhook({ secret, payload })
  const event = verifyWebhook(secret, headers, body)
  assert.equal(event.eventId, headers['webhook-id'])
  assert.deepEqual(event.data, payload)
  assert.match(body, /"amount":9007199254740993\.10,/)
  assert.equal(headers['content-type'], 'application/json')
  assert.equal(publicKey, undefined)
  assert.throws(() => verifyWebhook(otherSecret, headers, body), /signature_invalid/)
})

test('verifyWebhook accepts a delivery signed with an Ed25519 key, by the returned public key', () => {
  for (const given of [pem, privateKey, `whsk_${Buffer.alloc(64, 7).toString('base64')}`]) {
    const { headers, body, publicKey } = signTestWebhook({ privateKey: given, payload })
    assert.match(String(publicKey), /^whpk_[A-Za-z0-9+/]{43}=$/)
    assert.equal(verifyWebhook(String(publicKey), headers, body).data.eventType, payload.eventType)
    assert.throws(() => verifyWebhook(secret, headers, body), /signature_invalid/)
  }
})

test('signs exactly as the service does', () => {
  const timestampSeconds = 1_767_225_600
  const { headers, body, publicKey } = signTestWebhook({ secret, privateKey, payload, timestampSeconds })
  const id = headers['webhook-id']
  const keys = [wire.parseSigningKey(secret), wire.parseSigningKey(privateKey)]
  assert.equal(
    headers['webhook-signature'],
    keys.map((key) => wire.deliverySignature(key, id, timestampSeconds, body)).join(' '),
  )
  assert.equal(publicKey, wire.verifyingKeyText(wire.parseSigningKey(privateKey)))
})

test('the reference implementation of Standard Webhooks accepts the delivery', () => {
  const { headers, body } = signTestWebhook({ secret, payload })
  assert.equal((new Webhook(secret).verify(body, { ...headers }) as { eventId: string }).eventId, headers['webhook-id'])
})

test('a test can repeat an event id, and create an old delivery and one with both signatures', () => {
  const eventId = '018f3c5e-7d1a-7c3e-9a52-6f1f0a9f4d21'
  const { headers, body } = signTestWebhook({ secret, privateKey, payload, eventId })
  assert.equal(verifyWebhook(secret, headers, body).eventId, eventId)
  assert.equal(headers['webhook-signature'].split(' ').length, 2)
  const old = signTestWebhook({ secret, payload, timestampSeconds: Math.floor(Date.now() / 1000) - 301 })
  assert.throws(() => verifyWebhook(secret, old.headers, old.body), /timestamp_out_of_window/)
})

test('refuses a missing key, a public key and a key of another type', () => {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
  const refuses = (keys: { readonly secret?: string; readonly privateKey?: string }, message: RegExp) =>
    assert.throws(
      () => signTestWebhook({ ...keys, payload }),
      (error) => {
        assert.ok(error instanceof TypeError)
        assert.match(error.message, message)
        return true
      },
    )
  refuses({}, /needs secret or privateKey/)
  refuses({ secret: 'whsec_' }, /secret is empty/)
  refuses({ secret: privateKey }, /pass a private key as privateKey/)
  refuses({ privateKey: `whpk_${Buffer.alloc(32).toString('base64')}` }, /neither "whsk_..." nor/)
  refuses({ privateKey: rsa.export({ type: 'pkcs8', format: 'pem' }).toString() }, /not an Ed25519 private key/)
})
