/** Verification of webhook deliveries by Standard Webhooks, symmetric (`v1`) and asymmetric (`v1a`). */
import { createHmac, createPublicKey, timingSafeEqual, verify } from 'node:crypto'
import { eventAmounts } from './generated/operations.ts'
import type { EventData } from './generated/types.ts'
import { parseExactly } from './json.ts'

/** A delivered event; `data.eventType` is its type. `eventId` is the same on every retry: process each once. */
export type WebhookEvent = { readonly eventId: string; readonly data: EventData }

/**
 * Headers as a server or a framework provides them: in any case, with lists, as an object, pairs or the flat list
 * `rawHeaders`.
 */
export type WebhookHeaders =
  | Headers
  | Readonly<Record<string, string | readonly string[] | undefined>>
  | Iterable<readonly [string, string | readonly string[]]>
  | readonly string[]

export type VerifyOptions = {
  /** The maximum difference between the timestamp of the delivery and the current time. Default: 300. */
  readonly toleranceSeconds?: number
  readonly nowSeconds?: number
}

export type WebhookVerificationReason =
  | 'header_missing'
  | 'header_repeated'
  | 'timestamp_invalid'
  | 'timestamp_out_of_window'
  | 'signature_invalid'

/** The delivery is not authentic or is too old. Respond with 400 and ignore its body. The message names the likely cause and the remedy. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError'
  readonly reason: WebhookVerificationReason

  constructor(reason: WebhookVerificationReason, sentence: string) {
    super(`webhook verification failed: ${reason}. ${sentence}`)
    this.reason = reason
  }
}

function entriesOf(headers: WebhookHeaders): readonly (readonly [string, unknown])[] {
  // JavaScript callers may pass anything.
  const given: unknown = headers
  if (typeof given !== 'object' || given === null)
    throw new TypeError('The headers are missing: pass the headers of the request, such as `request.headers`.')
  if (Array.isArray(given) && given.every((each) => typeof each === 'string'))
    return given.flatMap((name, at) => (at % 2 === 0 ? [[name, given[at + 1]] as const] : []))
  if (!(Symbol.iterator in given)) return Object.entries(given)
  return [...(given as Iterable<readonly [string, unknown]>)].filter((entry) => Array.isArray(entry))
}

type ReadHeader = (name: string) => readonly string[]

/** Reads headers in any case and form. */
function headersOf(headers: WebhookHeaders): ReadHeader {
  const entries = entriesOf(headers)
  return (name) => {
    const values = entries
      .filter(([key]) => String(key).toLowerCase() === name)
      .flatMap(([, value]) => value as string | readonly string[])
      .filter((value) => typeof value === 'string' && value !== '')
    if (values.length > 0) return values
    const isRequest = entries.some(([key]) => key === 'headers') || (!Array.isArray(headers) && 'headers' in headers)
    throw new WebhookVerificationError(
      'header_missing',
      isRequest
        ? `The header ${name} is missing: pass the headers of the request, not the request.`
        : `The header ${name} is missing: pass all headers as received. A request without it is not a delivery of the service.`,
    )
  }
}

function single(read: ReadHeader, name: string): string {
  const [value = '', ...more] = read(name)
  if (more.length > 0)
    throw new WebhookVerificationError('header_repeated', `The header ${name} occurs more than once.`)
  return value
}

const isArrayBuffer = (value: unknown): value is ArrayBuffer =>
  ['[object ArrayBuffer]', '[object SharedArrayBuffer]'].includes(Object.prototype.toString.call(value))

/** Returns the signed bytes. Throws a TypeError if the body was parsed or is not the raw body. */
function bytesOf(rawBody: unknown): Buffer {
  if (typeof rawBody === 'string') return Buffer.from(rawBody, 'utf8')
  // Not by `instanceof`, because test runners pass bytes of another realm.
  if (ArrayBuffer.isView(rawBody)) return Buffer.from(rawBody.buffer, rawBody.byteOffset, rawBody.byteLength)
  if (isArrayBuffer(rawBody)) return Buffer.from(rawBody)
  if (rawBody === undefined || rawBody === null) throw new TypeError(`The body is missing. ${bodyCure}`)
  if (typeof (rawBody as { then?: unknown }).then === 'function')
    throw new TypeError('The body is a promise: await it first, such as `await request.text()`.')
  if (
    typeof (rawBody as { pipe?: unknown; getReader?: unknown }).pipe === 'function' ||
    rawBody instanceof ReadableStream
  )
    throw new TypeError('The body is a stream: read it to its end first, and pass its bytes.')
  throw new TypeError(`The body is parsed already, and the signature covers its bytes. ${bodyCure}`)
}
const bodyCure =
  "Pass it as received, before any parser: in Express by `express.raw({ type: 'application/json' })`, in a handler of fetch by `await request.text()`."

type Verify = (content: Buffer, signature: Buffer) => boolean

/** RFC 8410: the DER bytes before the raw 32-byte Ed25519 public key. */
const spkiPrefix = Buffer.from('302a300506032b6570032100', 'hex')

function ed25519(bytes: Buffer): Verify {
  if (bytes.length !== 32) throw new TypeError('the webhook public key does not have 32 bytes')
  const key = createPublicKey({ key: Buffer.concat([spkiPrefix, bytes]), format: 'der', type: 'spki' })
  return (content, signature) => verify(null, content, key, signature)
}

function hmac(bytes: Buffer): Verify {
  return (content, signature) => {
    const mac = createHmac('sha256', bytes).update(content).digest()
    return signature.length === mac.length && timingSafeEqual(signature, mac)
  }
}

const secretCure =
  'Pass the `secret` (whsec_...) or the `publicKey` (whpk_...) of the subscription, such as from an environment variable that is set.'

/** Accepts a public key (`whpk_...`) or a secret (`whsec_...`, or Base64 without the prefix). */
function verifierOf(key: unknown): { readonly scheme: 'v1,' | 'v1a,'; readonly verify: Verify } {
  if (typeof key !== 'string' || key.trim() === '') throw new TypeError(`The webhook secret is missing. ${secretCure}`)
  if (key.startsWith('whsk_')) throw new TypeError('a private key (whsk_) cannot verify; use the public key (whpk_)')
  const text = key.trim().replace(/^wh(?:sec|pk)_/, '')
  if (text === '') throw new TypeError(`The webhook secret is empty. ${secretCure}`)
  if (!/^[A-Za-z0-9+/_-]+={0,2}$/.test(text)) throw new TypeError(`The webhook secret is not Base64. ${secretCure}`)
  const bytes = Buffer.from(text, 'base64')
  return key.trim().startsWith('whpk_')
    ? { scheme: 'v1a,', verify: ed25519(bytes) }
    : { scheme: 'v1,', verify: hmac(bytes) }
}

function verifiersOf(secret: unknown) {
  const keys: readonly unknown[] = Array.isArray(secret) ? secret : [secret]
  if (keys.length === 0) throw new TypeError(`The list of webhook secrets is empty. ${secretCure}`)
  return keys.map(verifierOf)
}

/** Signatures that are checked per delivery, at most. A subscription has fewer active keys. */
const signaturesMax = 16

/** A key verifies only signatures of its own scheme. */
function hasValidSignature(
  candidates: readonly string[],
  content: Buffer,
  keys: ReturnType<typeof verifiersOf>,
): boolean {
  return keys.some((key) =>
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
 * Throws WebhookVerificationError if the delivery is not authentic or too old, and TypeError if an argument is invalid, for example a parsed
 * body. The message says what to do.
 */
export function verifyWebhook(
  secret: string | readonly string[],
  headers: WebhookHeaders,
  rawBody: string | Uint8Array | ArrayBuffer,
  { toleranceSeconds = 300, nowSeconds = Math.floor(Date.now() / 1000) }: VerifyOptions = {},
): WebhookEvent {
  const keys = verifiersOf(secret)
  const body = bytesOf(rawBody)
  const read = headersOf(headers)
  const [id, timestamp] = [single(read, 'webhook-id'), single(read, 'webhook-timestamp')]
  const signatures = read('webhook-signature').join(' ').split(' ', signaturesMax)
  if (!/^\d{1,12}$/.test(timestamp))
    throw new WebhookVerificationError('timestamp_invalid', 'The header webhook-timestamp is no number of seconds.')
  const ageSeconds = nowSeconds - Number(timestamp)
  if (Math.abs(ageSeconds) > toleranceSeconds)
    throw new WebhookVerificationError(
      'timestamp_out_of_window',
      `The delivery was signed ${Math.abs(ageSeconds)} seconds ${ageSeconds > 0 ? 'ago' : 'ahead of this clock'}, and ${toleranceSeconds} are tolerated: ` +
        'synchronize the clock, and verify a delivery when it arrives.',
    )
  const content = Buffer.concat([Buffer.from(`${id}.${timestamp}.`, 'utf8'), body])
  if (!hasValidSignature(signatures, content, keys))
    throw new WebhookVerificationError(
      'signature_invalid',
      body.length === 0
        ? `The body is empty, so no signature matches. ${bodyCure}`
        : 'No signature matches: the secret belongs to another subscription, or the body was changed. Pass the bytes as received, not parsed and serialised again.',
    )
  return parseExactly(body.toString('utf8'), eventAmounts) as WebhookEvent
}
