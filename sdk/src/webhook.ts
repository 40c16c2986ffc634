/** Verifying deliveries: Standard Webhooks, symmetric (`v1`) and asymmetric (`v1a`). */
import { createHmac, createPublicKey, timingSafeEqual, verify } from 'node:crypto'
import { eventAmounts } from './generated/operations.ts'
import type { EventData } from './generated/types.ts'
import { parseExactly } from './json.ts'

/** One delivered event; `data.eventType` tells which. `eventId` is the same on every retry: process it once. */
export type WebhookEvent = { readonly eventId: string; readonly data: EventData }

export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>

export type VerifyOptions = {
  /** How far the delivery's timestamp may be from this clock; 300 unless told. */
  readonly toleranceSeconds?: number
  readonly nowSeconds?: number
}

export type WebhookFault = 'header_missing' | 'timestamp_invalid' | 'timestamp_out_of_window' | 'signature_invalid'

/** The delivery is not to be believed: answer 400 and do nothing else. */
export class WebhookRefused extends Error {
  override readonly name = 'WebhookRefused'
  readonly fault: WebhookFault

  constructor(fault: WebhookFault) {
    super(`the delivery is not genuine: ${fault}`)
    this.fault = fault
  }
}

function header(headers: WebhookHeaders, name: string): string {
  const value = headers instanceof Headers ? headers.get(name) : headers[name]
  const text = Array.isArray(value) ? undefined : value
  if (typeof text !== 'string' || text === '') throw new WebhookRefused('header_missing')
  return text
}

type Verify = (content: Buffer, signature: Buffer) => boolean

/** RFC 8410: all that stands before the 32 bytes of an Ed25519 public key in DER. */
const spkiPrefix = Buffer.from('302a300506032b6570032100', 'hex')

function ed25519(bytes: Buffer): Verify {
  if (bytes.length !== 32) throw new TypeError('the public key of the webhook has not 32 bytes')
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

/** `whpk_` and a public key, or `whsec_` and a secret, as it was shown when the subscription was created. */
function verifierOf(key: string): { readonly kind: 'v1,' | 'v1a,'; readonly verify: Verify } {
  const bytes = (prefix: RegExp) => Buffer.from(key.replace(prefix, ''), 'base64')
  if (key.startsWith('whsk_')) throw new TypeError('a private key signs; verify with the public one, whpk_')
  return key.startsWith('whpk_')
    ? { kind: 'v1a,', verify: ed25519(bytes(/^whpk_/)) }
    : { kind: 'v1,', verify: hmac(bytes(/^whsec_/)) }
}

/** More than an endpoint can have keys: what else is there costs a verification each. */
const signaturesMax = 16

/** A key believes signatures of its own kind only. */
function isSigned(signatures: string, content: Buffer, keys: readonly string[]): boolean {
  const given = signatures.split(' ', signaturesMax)
  return keys
    .map(verifierOf)
    .some((key) =>
      given.some(
        (each) => each.startsWith(key.kind) && key.verify(content, Buffer.from(each.slice(key.kind.length), 'base64')),
      ),
    )
}

/**
 * Answers the event of a genuine delivery; `rawBody` is the body as received, before any parser. `secret` is what the
 * subscription shows: `whsec_...`, or the public key `whpk_...`. While it is being rotated, give both. Throws
 * WebhookRefused for a delivery that is not genuine or too old.
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
  if (!/^\d{1,12}$/.test(timestamp)) throw new WebhookRefused('timestamp_invalid')
  if (Math.abs(nowSeconds - Number(timestamp)) > toleranceSeconds) throw new WebhookRefused('timestamp_out_of_window')
  const body = Buffer.from(rawBody as Uint8Array)
  const content = Buffer.concat([Buffer.from(`${id}.${timestamp}.`, 'utf8'), body])
  if (!isSigned(signatures, content, typeof secret === 'string' ? [secret] : secret))
    throw new WebhookRefused('signature_invalid')
  return parseExactly(body.toString('utf8'), eventAmounts) as WebhookEvent
}
