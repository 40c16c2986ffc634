import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { deliverySignature, readSigningKey, verifyingKeyText } from '@partner-payments/wire'
import { Webhook } from 'standardwebhooks'
import { signTestWebhook } from './sign-webhook.ts'
import { verifyWebhook } from './webhook.ts'

const secret = `whsec_${Buffer.from('a webhook secret of 32 characters').toString('base64')}`
const otherSecret = `whsec_${Buffer.from('another secret of 32 characters!!').toString('base64')}`
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
  const keys = [readSigningKey(secret), readSigningKey(privateKey)]
  assert.equal(
    headers['webhook-signature'],
    keys.map((key) => deliverySignature(key, id, timestampSeconds, body)).join(' '),
  )
  assert.equal(publicKey, verifyingKeyText(readSigningKey(privateKey)))
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
