/** Verifying deliveries: Standard Webhooks, symmetric (`v1`). */
import { createHmac, timingSafeEqual } from 'node:crypto'
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

/** `whsec_` and Base64, as it was shown when the subscription was created. */
function keyOf(secret: string): Buffer {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  if (key.length === 0) throw new TypeError('the webhook secret is empty')
  return key
}

function isSigned(signatures: string, content: Buffer, secrets: readonly string[]): boolean {
  const given = signatures
    .split(' ')
    .filter((each) => each.startsWith('v1,'))
    .map((each) => Buffer.from(each.slice(3), 'base64'))
  const expected = secrets.map((secret) => createHmac('sha256', keyOf(secret)).update(content).digest())
  return expected.some((mac) => given.some((each) => each.length === mac.length && timingSafeEqual(each, mac)))
}

/**
 * Answers the event of a genuine delivery; `rawBody` is the body as received, before any parser. While a secret is being
 * rotated, give both. Throws WebhookRefused for a delivery that is not genuine or too old.
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
