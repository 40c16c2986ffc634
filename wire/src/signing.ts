/** Signatures of requests and of webhook deliveries: pure functions of text and bytes. */
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

/** Percent-encodes all but the unreserved characters (RFC 3986 section 2.3), as UTF-8, with upper-case digits. */
function encodeRfc3986(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
}

/**
 * Decodes the query, encodes it by RFC 3986 and sorts it by encoded name, then value. Keeps duplicates and empty values.
 * A `+` is a plus sign. Throws a URIError if a percent-encoding is invalid.
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

/** Builds the canonical string: seven items joined with line feeds (interface document, Authentication). */
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
 * A key that signs deliveries, by Standard Webhooks. `v1` is HMAC-SHA256 with the raw key. `v1a` is Ed25519 with the
 * 32-byte private key of RFC 8032, the seed.
 */
export type SigningKey = { readonly kind: 'v1' | 'v1a'; readonly key: Uint8Array }

/** Standard Webhooks, Signature scheme: 24 to 64 bytes for HMAC. */
const symmetricBytesMin = 24
const symmetricBytesMax = 64
const seedBytes = 32
const publicBytes = 32
/** RFC 8410: the DER bytes before the raw Ed25519 private key. */
const pkcs8Prefix = Buffer.from('302e020100300506032b657004220420', 'hex')

/** Cached because creating a KeyObject costs more than a signature. Weak, so that an entry ends with its key. */
const privateKeys = new WeakMap<Uint8Array, KeyObject>()

function privateKeyOf(seed: Uint8Array): KeyObject {
  const cached = privateKeys.get(seed)
  if (cached !== undefined) return cached
  const key = createPrivateKey({ key: Buffer.concat([pkcs8Prefix, seed]), format: 'der', type: 'pkcs8' })
  privateKeys.set(seed, key)
  return key
}

/** The public key is the last 32 bytes of its DER encoding. */
const publicBytesOf = (seed: Uint8Array) =>
  createPublicKey(privateKeyOf(seed)).export({ format: 'der', type: 'spki' }).subarray(-publicBytes)

/** Decodes Base64 as in Standard Webhooks: standard alphabet, padded. Throws a TypeError for any other text. */
function keyBytes(text: string): Buffer {
  const bytes = Buffer.from(text, 'base64')
  if (bytes.toString('base64') !== text) throw new TypeError('the signing key is not Base64')
  return bytes
}

/**
 * Parses `whsec_` and a symmetric key, or `whsk_` and an Ed25519 seed, alone or followed by its public key. Throws a
 * TypeError for any other text.
 */
export function parseSigningKey(text: string): SigningKey {
  const [prefix, bytes] = [text.slice(0, text.indexOf('_') + 1), keyBytes(text.slice(text.indexOf('_') + 1))]
  if (prefix === 'whsec_' && bytes.length >= symmetricBytesMin && bytes.length <= symmetricBytesMax)
    return { kind: 'v1', key: bytes }
  if (prefix !== 'whsk_' || (bytes.length !== seedBytes && bytes.length !== seedBytes + publicBytes))
    throw new TypeError('not a signing key of webhook deliveries')
  const seed = bytes.subarray(0, seedBytes)
  if (bytes.length > seedBytes && !publicBytesOf(seed).equals(bytes.subarray(seedBytes)))
    throw new TypeError('the public key does not match the private key')
  return { kind: 'v1a', key: seed }
}

/** Returns the text form of a signing key, for storage. It can be parsed again. */
export function signingKeyText({ kind, key }: SigningKey): string {
  return kind === 'v1'
    ? `whsec_${Buffer.from(key).toString('base64')}`
    : `whsk_${Buffer.concat([key, publicBytesOf(key)]).toString('base64')}`
}

/** Returns the text form of the key that verifies deliveries: the same secret for `v1`, the public key for `v1a`. */
export function verifyingKeyText(key: SigningKey): string {
  return key.kind === 'v1' ? signingKeyText(key) : `whpk_${publicBytesOf(key.key).toString('base64')}`
}

/** Standard Webhooks: the scheme and the Base64 signature of `id.timestamp.body`, for example `v1,K5oZ...`. */
export function deliverySignature(
  { kind, key }: SigningKey,
  id: string,
  timestampSeconds: number,
  body: string | Uint8Array,
): string {
  const prefix = `${id}.${timestampSeconds}.`
  if (kind === 'v1') return `v1,${createHmac('sha256', key).update(prefix).update(body).digest('base64')}`
  const content = Buffer.concat([Buffer.from(prefix), typeof body === 'string' ? Buffer.from(body) : body])
  return `v1a,${sign(null, content, privateKeyOf(key)).toString('base64')}`
}
