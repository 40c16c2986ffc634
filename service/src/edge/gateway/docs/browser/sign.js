/** Signs a request in the browser with WebCrypto, as docs/interface.md (Authentication) describes. */

const encode = (text) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0)

/** RFC 3986, sorted by encoded name, then value. `query` has no leading `?`. */
export function canonicalQuery(query) {
  return query
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair) => {
      const at = pair.indexOf('=')
      const parts = at === -1 ? [pair, ''] : [pair.slice(0, at), pair.slice(at + 1)]
      return parts.map((part) => encode(decodeURIComponent(part)))
    })
    .sort(([name, value], [otherName, otherValue]) => compare(name, otherName) || compare(value, otherValue))
    .map(([name, value]) => `${name}=${value}`)
    .join('&')
}

const hex = (bytes) => [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, '0')).join('')
const base64 = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes)))

/** Imports a PKCS #8 key in PEM. Throws an Error with a text for the developer. */
export async function importKey(pem) {
  if (globalThis.crypto?.subtle === undefined)
    throw new Error('The browser signs only on https and on localhost. Open the page there.')
  const match = /-----BEGIN (\w+ )?PRIVATE KEY-----([\s\S]+?)-----END/.exec(pem)
  if (match === null) throw new Error('The private key is not PEM: it begins with -----BEGIN PRIVATE KEY-----.')
  if (match[1] !== undefined)
    throw new Error('The private key is not PKCS #8. Convert it: openssl pkcs8 -topk8 -nocrypt -in key.pem')
  try {
    const bytes = Uint8Array.from(atob(match[2].replace(/\s/g, '')), (char) => char.charCodeAt(0))
    const algorithm = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }
    return await crypto.subtle.importKey('pkcs8', bytes, algorithm, false, ['sign'])
  } catch {
    throw new Error('The private key is not a valid RSA key.')
  }
}

/** Returns the four headers of a request, and the canonical string with the secret hidden. */
export async function signRequest({ apiKey, apiSecret, key }, { method, url, body }) {
  const { pathname, search } = new URL(url)
  const timestamp = String(Math.floor(Date.now() / 1000))
  const nonce = crypto.randomUUID()
  const digest = hex(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(body ?? '')))
  const canonical = (secret) =>
    [method, pathname, canonicalQuery(search.slice(1)), timestamp, nonce, secret, digest].join('\n')
  const bytes = new TextEncoder().encode(canonical(apiSecret))
  const signature = base64(await crypto.subtle.sign('RSASSA-PKCS1-v1_5', key, bytes))
  return {
    headers: { ApiKey: apiKey, Nonce: nonce, Timestamp: timestamp, Signature: signature },
    canonical: canonical('<API_SECRET>'),
  }
}
