/**
 * The openssl command line generates the vectors (sdk/vectors/make.sh and make-webhook.sh). Their canonical queries are
 * written by hand.
 */
import assert from 'node:assert/strict'
import { createPrivateKey, createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import {
  canonicalQuery,
  canonicalString,
  deliverySignature,
  parseSigningKey,
  sha256Hex,
  signingKeyText,
  verifyingKeyText,
} from './signing.ts'

type Vector = Readonly<
  Record<'name' | 'method' | 'path' | 'query' | 'canonicalQuery' | 'body' | 'bodySha256' | 'canonical', string>
> & { readonly signature: string }
type Vectors = {
  readonly apiSecret: string
  readonly timestamp: string
  readonly nonce: string
  readonly vectors: readonly Vector[]
}

const read = (name: string) => readFileSync(new URL(`../../sdk/vectors/${name}`, import.meta.url), 'utf8')
const { apiSecret, timestamp, nonce, vectors } = JSON.parse(read('signing.json')) as Vectors
const privateKey = createPrivateKey(read('key.pem'))
const publicKey = createPublicKey(read('key.pem'))

test('the file contains at least nine request vectors', () => assert.ok(vectors.length >= 9))

for (const vector of vectors)
  test(`matches openssl: ${vector.name}`, () => {
    const body = Buffer.from(vector.body)
    assert.equal(sha256Hex(body), vector.bodySha256)
    assert.equal(canonicalQuery(vector.query), vector.canonicalQuery)
    const canonical = canonicalString({ ...vector, apiSecret, timestamp, nonce, body })
    assert.equal(canonical, vector.canonical)
    const signature = Buffer.from(vector.signature, 'base64')
    assert.ok(verify('sha256', Buffer.from(canonical), publicKey, signature))
    assert.deepEqual(sign('sha256', Buffer.from(canonical), privateKey), signature)
  })

test('a change of any of the seven items changes the canonical string', () => {
  const parts = { method: 'POST', path: '/v1/a', query: 'b=1', timestamp, nonce, apiSecret, body: Buffer.from('{}') }
  const changes = { method: 'PUT', path: '/v1/b', query: 'b=2', timestamp: '1', nonce: '2', apiSecret: '3' }
  const strings = [
    canonicalString(parts),
    ...Object.entries(changes).map(([name, value]) => canonicalString({ ...parts, [name]: value })),
    canonicalString({ ...parts, body: Buffer.from('{ }') }),
  ]
  assert.equal(new Set(strings).size, 8)
  for (const text of strings) assert.equal(text.split('\n').length, 7)
})

const word = fc.string({ unit: 'grapheme', maxLength: 8 }).map(encodeURIComponent)
const pairs = fc.array(fc.tuple(word, word), { maxLength: 8 })
const join = (list: readonly (readonly [string, string])[]) => list.map((pair) => pair.join('=')).join('&')

test('the canonical query does not depend on the order of the pairs and is idempotent', () => {
  fc.assert(
    fc.property(pairs, fc.infiniteStream(fc.nat(7)), (list, draws) => {
      const shuffled = list.map((pair) => ({ pair, at: draws.next().value })).toSorted((a, b) => a.at - b.at)
      const canonical = canonicalQuery(join(list))
      assert.equal(canonicalQuery(join(shuffled.map(({ pair }) => pair))), canonical)
      assert.equal(canonicalQuery(canonical), canonical)
      assert.match(canonical, /^(?:[A-Za-z0-9._~&=-]|%[0-9A-F]{2})*$/)
    }),
  )
})

test('the canonical query contains the same pairs as the query as sent', () => {
  fc.assert(
    fc.property(pairs, (list) => {
      const decodedPairs = (query: string) =>
        query
          .split('&')
          .filter(Boolean)
          .map((pair) => pair.split('=').map(decodeURIComponent).join('='))
          .toSorted()
      const sent = join(list)
      assert.deepEqual(decodedPairs(canonicalQuery(sent)), decodedPairs(sent))
    }),
  )
})

test('empty pairs, repeated equals signs, plus signs and invalid percent-encodings are canonicalised', () => {
  assert.equal(canonicalQuery(''), '')
  assert.equal(canonicalQuery('&&a=1&'), 'a=1')
  assert.equal(canonicalQuery('a=b=c'), 'a=b%3Dc')
  assert.equal(canonicalQuery('a+b=+'), 'a%2Bb=%2B')
  for (const invalid of ['a=%', 'a=%C3', '%zz=1', '%ff']) assert.throws(() => canonicalQuery(invalid), URIError)
})

test('the standardwebhooks package verifies a delivery and rejects any change of it', () => {
  const secret = Buffer.alloc(24, 7)
  const body = '{"eventId":"e","data":{"creditorName":"Zoë"}}'
  const seconds = Math.floor(Date.now() / 1000)
  const webhook = new Webhook(secret.toString('base64'))
  const headers = (id: string, at: number) => ({
    'webhook-id': id,
    'webhook-timestamp': String(at),
    'webhook-signature': deliverySignature({ kind: 'v1', key: secret }, 'e', seconds, body),
  })
  assert.deepEqual(webhook.verify(body, headers('e', seconds)), JSON.parse(body))
  assert.throws(() => webhook.verify(`${body} `, headers('e', seconds)))
  assert.throws(() => webhook.verify(body, headers('f', seconds)))
  assert.throws(() => webhook.verify(body, headers('e', seconds - 1)))
})

type WebhookVectors = Readonly<Record<'id' | 'secret' | 'privateKey' | 'publicKey', string>> & {
  readonly timestamp: number
  readonly vectors: readonly Readonly<Record<'name' | 'body' | 'v1' | 'v1a', string>>[]
}
const webhook = JSON.parse(read('webhook.json')) as WebhookVectors

test('the file contains at least four webhook vectors', () => assert.ok(webhook.vectors.length >= 4))

for (const { name, body, v1, v1a } of webhook.vectors)
  test(`v1 and v1a signatures match openssl: ${name}`, () => {
    for (const [text, signature] of [
      [webhook.secret, v1],
      [webhook.privateKey, v1a],
    ] as const)
      for (const bytes of [body, Buffer.from(body)])
        assert.equal(deliverySignature(parseSigningKey(text), webhook.id, webhook.timestamp, bytes), signature)
  })

test('a signing key round-trips, and its public key matches openssl', () => {
  for (const text of [webhook.secret, webhook.privateKey]) assert.equal(signingKeyText(parseSigningKey(text)), text)
  assert.equal(verifyingKeyText(parseSigningKey(webhook.privateKey)), webhook.publicKey)
  assert.equal(verifyingKeyText(parseSigningKey(webhook.secret)), webhook.secret)
})

test('a private key of node:crypto is accepted with and without its public key', () => {
  const { privateKey: made, publicKey: pair } = generateKeyPairSync('ed25519')
  const seed = made.export({ format: 'der', type: 'pkcs8' }).subarray(-32)
  const text = `whsk_${seed.toString('base64')}`
  const key = parseSigningKey(text)
  assert.deepEqual(key, { kind: 'v1a', key: seed })
  assert.deepEqual(parseSigningKey(signingKeyText(key)), key)
  const signature = Buffer.from(deliverySignature(key, 'e', 7, '{}').slice('v1a,'.length), 'base64')
  assert.ok(verify(null, Buffer.from('e.7.{}'), pair, signature))
  assert.ok(!verify(null, Buffer.from('e.8.{}'), pair, signature))
})

test('text that is not a signing key is refused', () => {
  const base64 = (bytes: number) => Buffer.alloc(bytes, 1).toString('base64')
  for (const text of [
    '',
    'whsec_',
    `whsec_${base64(23)}`,
    `whsec_${base64(65)}`,
    base64(32),
    `whpk_${base64(32)}`,
    `whsk_${base64(31)}`,
    `whsk_${base64(33)}`,
    `whsk_${base64(64)}`,
    `whsec_${base64(32)} `,
    `whsec_${base64(32).replaceAll('=', '')}`,
    `whsec_${base64(32).replace('A', '!')}`,
    `WHSEC_${base64(32)}`,
  ])
    assert.throws(() => parseSigningKey(text), TypeError, text)
})
