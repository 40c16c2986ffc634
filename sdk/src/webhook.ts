/** Verification of webhook deliveries by Standard Webhooks, symmetric (`v1`) and asymmetric (`v1a`). */
import { createHmac, createPublicKey, timingSafeEqual, verify } from 'node:crypto'
import { eventAmounts } from './generated/operations.ts'
import type { EventData } from './generated/types.ts'
import { parseExactly } from './json.ts'

/** A delivered event; `data.eventType` is its type. `eventId` is the same on every retry: process each once. */
export type WebhookEvent = { readonly eventId: string; readonly data: EventData }

export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>

export type VerifyOptions = {
  /** The maximum difference between the timestamp of the delivery and the current time. Default: 300. */
  readonly toleranceSeconds?: number
  readonly nowSeconds?: number
}

export type WebhookVerificationReason =
  | 'header_missing'
  | 'timestamp_invalid'
  | 'timestamp_out_of_window'
  | 'signature_invalid'

/** The delivery is not authentic or is too old. Respond with 400 and ignore its body. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError'
  readonly reason: WebhookVerificationReason

  constructor(reason: WebhookVerificationReason) {
    super(`webhook verification failed: ${reason}`)
    this.reason = reason
  }
}

function header(headers: WebhookHeaders, name: string): string {
  const value = headers instanceof Headers ? headers.get(name) : headers[name]
  const text = Array.isArray(value) ? undefined : value
  if (typeof text !== 'string' || text === '') throw new WebhookVerificationError('header_missing')
  return text
}

type Verify = (content: Buffer, signature: Buffer) => boolean

/** RFC 8410: the DER bytes before the raw 32-byte Ed25519 public key. */
const spkiPrefix = Buffer.from('302a300506032b6570032100', 'hex')

function ed25519(bytes: Buffer): Verify {
  if (bytes.length !== 32) throw new TypeError('the webhook public key does not have 32 bytes')
  const key = createPublicKey({ key: Buffer.concat([spkiPrefix, bytes]), format: 'der', type: 'spki' })
  return (content, signature) => verify(null, content, key, signature)
}

function hmac(bytes: Buffer): Verify {
  if (bytes.length === 0) throw new TypeError('the webhook secret is empty')
  return (content, signature) => {
    const mac = createHmac('sha256', bytes).update(content).digest()
    return signature.length === mac.length && timingSafeEqual(signature, mac)
  }
}

/** Accepts a public key (`whpk_...`) or a secret (`whsec_...`, or Base64 without the prefix). */
function verifierOf(key: string): { readonly scheme: 'v1,' | 'v1a,'; readonly verify: Verify } {
  const bytes = (prefix: RegExp) => Buffer.from(key.replace(prefix, ''), 'base64')
  if (key.startsWith('whsk_')) throw new TypeError('a private key (whsk_) cannot verify; use the public key (whpk_)')
  return key.startsWith('whpk_')
    ? { scheme: 'v1a,', verify: ed25519(bytes(/^whpk_/)) }
    : { scheme: 'v1,', verify: hmac(bytes(/^whsec_/)) }
}

/** More than the active keys of a subscription. Bounds the number of verifications per delivery. */
const signaturesMax = 16

/** A key verifies only signatures of its own scheme. */
function hasValidSignature(signatures: string, content: Buffer, keys: readonly string[]): boolean {
  const candidates = signatures.split(' ', signaturesMax)
  return keys
    .map(verifierOf)
    .some((key) =>
      candidates.some(
        (candidate) =>
          candidate.startsWith(key.scheme) &&
          key.verify(content, Buffer.from(candidate.slice(key.scheme.length), 'base64')),
      ),
    )
}

/**
 * Verifies a delivery and returns its event. `rawBody` is the body as received, before any parser. `secret` is the secret
 * (`whsec_...`) or the public key (`whpk_...`) of the subscription; during a rotation, pass both the old and the new one.
 * Throws WebhookVerificationError if the delivery is not authentic or too old.
 */
export function verifyWebhook(
  secret: string | readonly string[],
  headers: WebhookHeaders,
  rawBody: string | Uint8Array,
  { toleranceSeconds = 300, nowSeconds = Math.floor(Date.now() / 1000) }: VerifyOptions = {},
): WebhookEvent {
  const id = header(headers, 'webhook-id')
  const timestamp = header(headers, 'webhook-timestamp')
  const signatures = header(headers, 'webhook-signature')
  if (!/^\d{1,12}$/.test(timestamp)) throw new WebhookVerificationError('timestamp_invalid')
  if (Math.abs(nowSeconds - Number(timestamp)) > toleranceSeconds)
    throw new WebhookVerificationError('timestamp_out_of_window')
  const body = Buffer.from(rawBody as Uint8Array)
  const content = Buffer.concat([Buffer.from(`${id}.${timestamp}.`, 'utf8'), body])
  if (!hasValidSignature(signatures, content, typeof secret === 'string' ? [secret] : secret))
    throw new WebhookVerificationError('signature_invalid')
  return parseExactly(body.toString('utf8'), eventAmounts) as WebhookEvent
}
