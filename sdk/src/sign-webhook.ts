/** Signs deliveries for a partner's own tests as the service signs them: Standard Webhooks `v1` and `v1a`. */
import { type KeyObject, createHmac, createPrivateKey, createPublicKey, randomUUID, sign } from 'node:crypto'
import { eventAmounts } from './generated/operations.ts'
import type { EventData } from './generated/types.ts'
import { stringifyExactly } from './json.ts'

/** The data of an event, complete or reduced to what the test needs. Amounts are decimal strings or numbers. */
export type TestPayload = EventData | { readonly eventType: string; readonly [name: string]: unknown }

export type TestWebhook = {
  /** A secret (`whsec_...`, or Base64 without the prefix) signs by `v1`. */
  readonly secret?: string
  /** An Ed25519 private key (`whsk_...` or PKCS#8 PEM) signs by `v1a`. With both keys, the delivery has two signatures. */
  readonly privateKey?: string
  /** The `data` of the event. */
  readonly payload: TestPayload
  /** Default: a new UUID. Pass the same id again to test a repeated delivery. */
  readonly eventId?: string
  /** Default: now. Pass an old time to test the refusal of an old delivery. */
  readonly timestampSeconds?: number
}

export type SignedTestWebhook = {
  /** The raw body of the request. */
  readonly body: string
  readonly headers: Readonly<Record<'content-type' | 'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string>>
  /** The public key (`whpk_...`) that `verifyWebhook` accepts. Present with `privateKey`. */
  readonly publicKey: string | undefined
}

/** RFC 8410: the DER bytes before the raw Ed25519 private key. */
const pkcs8Prefix = Buffer.from('302e020100300506032b657004220420', 'hex')
const seedBytes = 32

function readEd25519(text: string): KeyObject {
  if (text.includes('-----BEGIN ')) {
    const key = createPrivateKey(text)
    if (key.asymmetricKeyType !== 'ed25519') throw new TypeError('privateKey is not an Ed25519 private key')
    return key
  }
  const bytes = Buffer.from(text.replace(/^whsk_/, ''), 'base64')
  // The seed, alone or followed by its public key.
  if (!text.startsWith('whsk_') || (bytes.length !== seedBytes && bytes.length !== 2 * seedBytes))
    throw new TypeError('privateKey is neither "whsk_..." nor an Ed25519 private key in PEM')
  const der = Buffer.concat([pkcs8Prefix, bytes.subarray(0, seedBytes)])
  return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
}

function publicKeyText(key: KeyObject): string {
  const der = createPublicKey(key).export({ format: 'der', type: 'spki' })
  return `whpk_${der.subarray(-32).toString('base64')}`
}

function hmacSignature(secret: string, content: Buffer): string {
  if (/^wh(?:pk|sk)_/.test(secret))
    throw new TypeError('secret is not a secret (whsec_...); pass a private key as privateKey')
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  if (key.length === 0) throw new TypeError('secret is empty')
  return `v1,${createHmac('sha256', key).update(content).digest('base64')}`
}

/**
 * Creates a delivery that `verifyWebhook` accepts with the same secret, or with the returned public key. Send `body` and
 * `headers` to your own endpoint. Throws a TypeError if a key is invalid.
 */
export function signTestWebhook(options: TestWebhook): SignedTestWebhook {
  const { secret, privateKey, payload, eventId = randomUUID() } = options
  if (secret === undefined && privateKey === undefined)
    throw new TypeError('signTestWebhook needs secret or privateKey')
  const timestamp = String(options.timestampSeconds ?? Math.floor(Date.now() / 1000))
  const body = stringifyExactly({ eventId, data: payload }, eventAmounts)
  const content = Buffer.from(`${eventId}.${timestamp}.${body}`, 'utf8')
  const key = privateKey === undefined ? undefined : readEd25519(privateKey)
  const signatures: string[] = []
  if (secret !== undefined) signatures.push(hmacSignature(secret, content))
  if (key !== undefined) signatures.push(`v1a,${sign(null, content, key).toString('base64')}`)
  return {
    body,
    headers: {
      'content-type': 'application/json',
      'webhook-id': eventId,
      'webhook-timestamp': timestamp,
      'webhook-signature': signatures.join(' '),
    },
    publicKey: key === undefined ? undefined : publicKeyText(key),
  }
}
