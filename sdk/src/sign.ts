/** Request signatures. Sources: interface document, Authentication; the OpenAPI document for the canonical query. */
import { createHash, randomUUID, sign } from 'node:crypto'
import { readPrivateKey } from './key.ts'

export type Signer = (request: SignedRequest) => SignatureHeaders

export type SignedRequest = {
  readonly method: string
  /** The public path exactly as called, without the query. */
  readonly path: string
  /** The query as sent, without the leading `?`. */
  readonly query: string
  readonly body: Uint8Array
  /** Generated if absent, like `nonce`. */
  readonly timestamp?: string
  readonly nonce?: string
}

export type SignatureHeaders = {
  readonly ApiKey: string
  readonly Nonce: string
  readonly Timestamp: string
  readonly Signature: string
}

export type Credentials = {
  readonly apiKey: string
  readonly apiSecret: string
  /** PKCS#8 or PKCS#1, PEM. */
  readonly privateKeyPem: string
  /** The passphrase of an encrypted private key. */
  readonly privateKeyPassphrase?: string
}

/**
 * Percent-encodes all but the unreserved characters of RFC 3986 section 2.3. `encodeURIComponent` leaves five others
 * unencoded.
 */
function encodeRfc3986(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
}

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

/**
 * Decodes the query, encodes it by RFC 3986 and sorts it by encoded name, then value. Keeps duplicates and empty
 * values. A `+` is a literal plus sign, not a space. Throws a URIError if a percent-encoding is invalid.
 */
export function canonicalQuery(query: string): string {
  return query
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair) => {
      const at = pair.indexOf('=')
      const [name, value] = at === -1 ? [pair, ''] : [pair.slice(0, at), pair.slice(at + 1)]
      return [encodeRfc3986(decodeURIComponent(name)), encodeRfc3986(decodeURIComponent(value))] as const
    })
    .sort(([a, x], [b, y]) => compare(a, b) || compare(x, y))
    .map(([name, value]) => `${name}=${value}`)
    .join('&')
}

/** Joins the seven items with line feeds. */
export function canonicalString(request: Required<SignedRequest>, apiSecret: string): string {
  const { method, path, query, timestamp, nonce, body } = request
  const digest = createHash('sha256').update(body).digest('hex')
  return [method, path, canonicalQuery(query), timestamp, nonce, apiSecret, digest].join('\n')
}

/** Throws a TypeError that states what is wrong with the credentials. Parses the key once. */
export function createSigner({ apiKey, apiSecret, privateKeyPem, privateKeyPassphrase }: Credentials): Signer {
  for (const [name, value] of Object.entries({ apiKey, apiSecret }))
    if (typeof value !== 'string' || value === '') throw new TypeError(`${name} is missing`)
  const key = readPrivateKey(privateKeyPem, privateKeyPassphrase)
  return (request) => {
    const timestamp = request.timestamp ?? String(Math.floor(Date.now() / 1000))
    const nonce = request.nonce ?? randomUUID()
    const canonical = canonicalString({ ...request, timestamp, nonce }, apiSecret)
    // The default padding of Node for RSA keys is PKCS#1 v1.5.
    const signature = sign('sha256', Buffer.from(canonical, 'utf8'), key).toString('base64')
    return { ApiKey: apiKey, Nonce: nonce, Timestamp: timestamp, Signature: signature }
  }
}
