import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { runInNewContext } from 'node:vm'
import { deliverySignature, readSigningKey, verifyingKeyText } from '@partner-payments/wire'
import { Webhook } from 'standardwebhooks'
import { type WebhookVerificationReason, WebhookVerificationError, verifyWebhook } from './webhook.ts'

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
    deliverySignature({ kind: 'v1', key: raw }, id, nowSeconds, body),
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

test('accepts headers in every form and case that servers and frameworks give', () => {
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

/** Calls it as a JavaScript program does, without types. */
const call = (key: unknown, headers: unknown, rawBody: unknown) => () =>
  verifyWebhook(key as string, headers as Headers, rawBody as string, { nowSeconds })
const genuine = () => headersOf(referenceSignature(secret))

test('a body that is parsed, missing, awaited or unread gets a sentence with its cure', () => {
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
    message: /not parsed and written again/,
  })
})

test('a secret that is missing or no secret gets a sentence with its cure', () => {
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

test('headers that are missing or no headers get a sentence with their cure', () => {
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
  const next = readSigningKey(`whsk_${seed.toString('base64')}`)
  const both = `${v1a} ${deliverySignature(next, vectorFile.id, vectorFile.timestamp, text)}`
  assert.equal(verificationOf(verifyingKeyText(next), both, text), true)
  assert.equal(verificationOf(verifyingKeyText(next), v1a, text), 'signature_invalid')
  assert.equal(verificationOf([verifyingKeyText(next), vectorFile.publicKey], v1a, text), true)
})

test('rejects a changed or truncated Ed25519 signature, and a valid one after sixteen others', () => {
  const { body: text, v1a } = first
  assert.equal(verificationOf(vectorFile.publicKey, v1a, `${text} `), 'signature_invalid')
  for (const signature of ['v1a,', v1a.slice(0, -8), `${v1a.slice(0, -2)}AAAA`, v1a.replace('v1a,', 'v1a,AAAA')])
    assert.equal(verificationOf(vectorFile.publicKey, signature, text), 'signature_invalid', signature)
  assert.equal(verificationOf(vectorFile.publicKey, `${'v1a,AAAA '.repeat(16)}${v1a}`, text), 'signature_invalid')
})
