/** The signature of requests and of deliveries: pure functions over text and bytes. */
import { createHash, createHmac } from 'node:crypto'

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

/** Standard Webhooks, symmetric `v1`: HMAC-SHA256 over `id.timestamp.body`, Base64. `secret` is the raw key. */
export function deliverySignature(secret: Uint8Array, id: string, timestampSeconds: number, body: string): string {
  const mac = createHmac('sha256', secret).update(`${id}.${timestampSeconds}.${body}`, 'utf8').digest('base64')
  return `v1,${mac}`
}
