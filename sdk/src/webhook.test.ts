import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { deliverySignature, readSigningKey, verifyingKeyText } from '@partner-payments/wire'
import { Webhook } from 'standardwebhooks'
import { type WebhookFault, WebhookRefused, verifyWebhook } from './webhook.ts'

const secret = `whsec_${Buffer.from('a webhook secret of 32 characters').toString('base64')}`
const other = `whsec_${Buffer.from('another secret of 32 characters!!').toString('base64')}`
const id = '018f3c5e-7d1a-7c3e-9a52-6f1f0a9f4d21'
const nowSeconds = 1_767_225_600
const body =
  `{"eventId":"${id}","data":{"eventType":"transaction.status.changed","amount":9007199254740993.10,` +
  '"customFields":{"amount":1.5},"currency":"EUR"}}'

/** Signed by the reference implementation of Standard Webhooks. */
const oracle = (key: string, at = nowSeconds) => new Webhook(key).sign(id, new Date(at * 1000), body)
const headersOf = (signature: string, at = nowSeconds) => ({
  'webhook-id': id,
  'webhook-timestamp': String(at),
  'webhook-signature': signature,
})
const refused = (run: () => unknown, fault: WebhookFault) =>
  assert.throws(run, (error) => (error as { fault?: unknown }).fault === fault)

test('believes what the reference implementation signed, and what the service signs', () => {
  const raw = Buffer.from(secret.slice(6), 'base64')
  for (const signature of [oracle(secret), deliverySignature({ kind: 'v1', key: raw }, id, nowSeconds, body)]) {
    for (const rawBody of [body, Buffer.from(body)]) {
      const event = verifyWebhook(secret, headersOf(signature), rawBody, { nowSeconds })
      assert.equal(event.eventId, id)
      assert.equal(event.data.eventType, 'transaction.status.changed')
    }
  }
})

test('keeps the amount exact, and the custom fields as they are', () => {
  const { data } = verifyWebhook(secret, headersOf(oracle(secret)), body, { nowSeconds })
  assert.equal(data.amount, '9007199254740993.10')
  assert.deepEqual(data.customFields, { amount: 1.5 })
})

test('reads headers of fetch and of node:http alike', () => {
  const headers = headersOf(oracle(secret))
  assert.equal(verifyWebhook(secret, new Headers(headers), body, { nowSeconds }).eventId, id)
  refused(() => verifyWebhook(secret, { ...headers, 'webhook-id': [id, id] }, body, { nowSeconds }), 'header_missing')
})

test('believes one good signature among several, and either secret of a rotation', () => {
  const signatures = `v1a,AAAA v1,AAAA ${oracle(other)} ${oracle(secret)}`
  assert.equal(verifyWebhook(secret, headersOf(signatures), body, { nowSeconds }).eventId, id)
  assert.equal(verifyWebhook([other, secret], headersOf(oracle(secret)), body, { nowSeconds }).eventId, id)
})

test('refuses another secret, another body, another id, another timestamp, and no signature at all', () => {
  const headers = headersOf(oracle(secret))
  const check = (changed: Partial<typeof headers>, text = body, key = secret) =>
    refused(() => verifyWebhook(key, { ...headers, ...changed }, text, { nowSeconds }), 'signature_invalid')
  check({}, body, other)
  check({}, `${body} `)
  check({ 'webhook-id': '018f3c5e-7d1a-7c3e-9a52-6f1f0a9f4d22' })
  check({ 'webhook-timestamp': String(nowSeconds + 1) })
  check({ 'webhook-signature': 'v1,' })
  check({ 'webhook-signature': oracle(secret).replace('v1,', 'v2,') })
  check({ 'webhook-signature': oracle(secret).slice(0, -8) })
})

test('refuses a delivery from outside the window, either way, to the second', () => {
  const at = (seconds: number, toleranceSeconds?: number) => () =>
    verifyWebhook(secret, headersOf(oracle(secret, nowSeconds + seconds), nowSeconds + seconds), body, {
      nowSeconds,
      ...(toleranceSeconds !== undefined && { toleranceSeconds }),
    })
  for (const seconds of [-300, 0, 300]) assert.equal(at(seconds)().eventId, id)
  for (const seconds of [-301, 301]) refused(at(seconds), 'timestamp_out_of_window')
  refused(at(-11, 10), 'timestamp_out_of_window')
})

test('refuses missing headers and a timestamp that is no number', () => {
  const headers = headersOf(oracle(secret))
  for (const name of Object.keys(headers))
    refused(() => verifyWebhook(secret, { ...headers, [name]: undefined }, body, { nowSeconds }), 'header_missing')
  for (const text of ['abc', '1767225600.5', '-1', 'NaN'])
    refused(
      () => verifyWebhook(secret, { ...headers, 'webhook-timestamp': text }, body, { nowSeconds }),
      'timestamp_invalid',
    )
})

test('refuses to work with an empty secret, under which anyone could sign', () => {
  for (const empty of ['', 'whsec_', 'whpk_'])
    assert.throws(() => verifyWebhook(empty, headersOf(oracle(secret)), body, { nowSeconds }), TypeError)
})

test('refuses to work with a private key, and with a public one of another length', () => {
  for (const key of [
    `whsk_${Buffer.alloc(64, 1).toString('base64')}`,
    `whpk_${Buffer.alloc(31, 1).toString('base64')}`,
  ])
    assert.throws(() => verifyWebhook(key, headersOf(oracle(secret)), body, { nowSeconds }), TypeError)
})

/** Made by the openssl command line: sdk/vectors/make-webhook.sh. */
const made = JSON.parse(readFileSync(new URL('../vectors/webhook.json', import.meta.url), 'utf8')) as {
  readonly timestamp: number
  readonly vectors: readonly { readonly body: string; readonly v1: string; readonly v1a: string }[]
} & Readonly<Record<'id' | 'secret' | 'privateKey' | 'publicKey', string>>

const [first] = made.vectors
assert.ok(first)

/** A body of the vectors that is no JSON is believed too; only then is it read. */
const believes = (key: string | readonly string[], signature: string, text: string) => {
  const at = made.timestamp
  try {
    verifyWebhook(key, { ...headersOf(signature, at), 'webhook-id': made.id }, text, { nowSeconds: at })
    return true
  } catch (error) {
    if (error instanceof WebhookRefused) return error.fault
    return !(error instanceof TypeError)
  }
}

test('believes what openssl signed with HMAC and with Ed25519, and neither with the key of the other', () => {
  assert.ok(made.vectors.length >= 4)
  for (const { body: text, v1, v1a } of made.vectors) {
    assert.equal(believes(made.secret, v1, text), true)
    assert.equal(believes(made.publicKey, v1a, text), true)
    assert.equal(believes(made.secret, v1a, text), 'signature_invalid')
    assert.equal(believes(made.publicKey, v1, text), 'signature_invalid')
    // The right bytes under the name of the other kind.
    assert.equal(believes(made.publicKey, v1a.replace('v1a,', 'v1,'), text), 'signature_invalid')
    assert.equal(believes(made.secret, v1.replace('v1,', 'v1a,'), text), 'signature_invalid')
  }
})

test('believes either kind while a subscription moves from one to the other, and each of two public keys', () => {
  const { body: text, v1, v1a } = first
  assert.equal(believes([made.secret, made.publicKey], v1a, text), true)
  assert.equal(believes([made.secret, made.publicKey], v1, text), true)
  assert.equal(believes(made.publicKey, `${v1} ${v1a}`, text), true)
  const seed = generateKeyPairSync('ed25519').privateKey.export({ format: 'der', type: 'pkcs8' }).subarray(-32)
  const next = readSigningKey(`whsk_${seed.toString('base64')}`)
  const both = `${v1a} ${deliverySignature(next, made.id, made.timestamp, text)}`
  assert.equal(believes(verifyingKeyText(next), both, text), true)
  assert.equal(believes(verifyingKeyText(next), v1a, text), 'signature_invalid')
  assert.equal(believes([verifyingKeyText(next), made.publicKey], v1a, text), true)
})

test('refuses an Ed25519 signature after any change, of any length, and behind more than an endpoint has', () => {
  const { body: text, v1a } = first
  assert.equal(believes(made.publicKey, v1a, `${text} `), 'signature_invalid')
  for (const signature of ['v1a,', v1a.slice(0, -8), `${v1a.slice(0, -2)}AAAA`, v1a.replace('v1a,', 'v1a,AAAA')])
    assert.equal(believes(made.publicKey, signature, text), 'signature_invalid', signature)
  assert.equal(believes(made.publicKey, `${'v1a,AAAA '.repeat(16)}${v1a}`, text), 'signature_invalid')
})
