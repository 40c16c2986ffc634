import assert from 'node:assert/strict'
import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import * as wire from '@partner-payments/wire'
import fc from 'fast-check'
import { canonicalQuery, canonicalString, createSigner } from './sign.ts'

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
