/** The signature of requests and of deliveries: pure functions over text and bytes. */
import { createHash, createHmac, createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto'

export type SignedParts = {
  readonly method: string
  /** The public path exactly as called, without the query. */
  readonly path: string
  /** The query as sent, without the leading `?`. */
  readonly query: string
  readonly timestamp: string
  readonly nonce: string
  readonly apiSecret: string
  readonly body: Uint8Array
}

/** RFC 3986 section 2.3: everything but the unreserved characters is percent-encoded, as UTF-8, in upper case. */
function encodeRfc3986(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
}

/**
 * Decoded and encoded again by RFC 3986, sorted by name then value (as encoded), duplicates and empty values kept, no
 * leading `?`. A `+` is a plus sign. Throws a URIError where a percent-encoding is broken.
 */
export function canonicalQuery(query: string): string {
  return query
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair) => {
      const at = pair.indexOf('=')
      const name = at === -1 ? pair : pair.slice(0, at)
      const value = at === -1 ? '' : pair.slice(at + 1)
      return [encodeRfc3986(decodeURIComponent(name)), encodeRfc3986(decodeURIComponent(value))] as const
    })
    .sort(([a, x], [b, y]) => (a < b ? -1 : a > b ? 1 : x < y ? -1 : x > y ? 1 : 0))
    .map(([name, value]) => `${name}=${value}`)
    .join('&')
}

export function sha256Hex(body: Uint8Array): string {
  return createHash('sha256').update(body).digest('hex')
}

/** Interface document, Authentication: seven items joined with a line feed. */
export function canonicalString(parts: SignedParts): string {
  return [
    parts.method,
    parts.path,
    canonicalQuery(parts.query),
    parts.timestamp,
    parts.nonce,
    parts.apiSecret,
    sha256Hex(parts.body),
  ].join('\n')
}

/**
 * What signs deliveries, by Standard Webhooks: `v1` is HMAC-SHA256 under the raw key, `v1a` is Ed25519 under the 32 bytes
 * of RFC 8032's private key, the seed.
 */
export type SigningKey = { readonly kind: 'v1' | 'v1a'; readonly key: Uint8Array }

/** Standard Webhooks, Signature scheme: 24 to 64 bytes for HMAC. */
const symmetricBytesMin = 24
const symmetricBytesMax = 64
const seedBytes = 32
const publicBytes = 32
/** RFC 8410: all that stands before the bytes of an Ed25519 key in DER. */
const pkcs8Prefix = Buffer.from('302e020100300506032b657004220420', 'hex')

/** By the bytes of the key as an object: making a KeyObject costs more than a signature, and who holds it may drop it. */
const privateKeys = new WeakMap<Uint8Array, KeyObject>()

function privateKeyOf(seed: Uint8Array): KeyObject {
  const known = privateKeys.get(seed)
  if (known !== undefined) return known
  const key = createPrivateKey({ key: Buffer.concat([pkcs8Prefix, seed]), format: 'der', type: 'pkcs8' })
  privateKeys.set(seed, key)
  return key
}

/** The last 32 bytes of its DER are the key. */
const publicBytesOf = (seed: Uint8Array) =>
  createPublicKey(privateKeyOf(seed)).export({ format: 'der', type: 'spki' }).subarray(-publicBytes)

/** Base64 as Standard Webhooks writes keys: padded, standard alphabet, nothing else. */
function keyBytes(text: string): Buffer {
  const bytes = Buffer.from(text, 'base64')
  if (bytes.toString('base64') !== text) throw new TypeError('the key is not Base64')
  return bytes
}

/**
 * `whsec_` and the key, or `whsk_` and the seed with the public key behind it (64 bytes, as Ed25519 keys are commonly
 * kept) or without. Throws a TypeError for anything else.
 */
export function readSigningKey(text: string): SigningKey {
  const [prefix, bytes] = [text.slice(0, text.indexOf('_') + 1), keyBytes(text.slice(text.indexOf('_') + 1))]
  if (prefix === 'whsec_' && bytes.length >= symmetricBytesMin && bytes.length <= symmetricBytesMax)
    return { kind: 'v1', key: bytes }
  if (prefix !== 'whsk_' || (bytes.length !== seedBytes && bytes.length !== seedBytes + publicBytes))
    throw new TypeError('not a key that signs deliveries')
  const seed = bytes.subarray(0, seedBytes)
  if (bytes.length > seedBytes && !publicBytesOf(seed).equals(bytes.subarray(seedBytes)))
    throw new TypeError('the public half of the key is not of its private half')
  return { kind: 'v1a', key: seed }
}

/** What the sender keeps: `readSigningKey` reads it. */
export function signingKeyText({ kind, key }: SigningKey): string {
  return kind === 'v1'
    ? `whsec_${Buffer.from(key).toString('base64')}`
    : `whsk_${Buffer.concat([key, publicBytesOf(key)]).toString('base64')}`
}

/** What the receiver verifies with: the same secret for `v1`, the public key for `v1a`. */
export function verifyingKeyText(key: SigningKey): string {
  return key.kind === 'v1' ? signingKeyText(key) : `whpk_${publicBytesOf(key.key).toString('base64')}`
}

/** Standard Webhooks: the kind, and the signature over `id.timestamp.body` in Base64. */
export function deliverySignature(
  { kind, key }: SigningKey,
  id: string,
  timestampSeconds: number,
  body: string | Uint8Array,
): string {
  const head = `${id}.${timestampSeconds}.`
  if (kind === 'v1') return `v1,${createHmac('sha256', key).update(head).update(body).digest('base64')}`
  const content = Buffer.concat([Buffer.from(head), typeof body === 'string' ? Buffer.from(body) : body])
  return `v1a,${sign(null, content, privateKeyOf(key)).toString('base64')}`
}
