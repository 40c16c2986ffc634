/**
 * Pure: the formats of API keys, tokens of public links, nonces and timestamps. A key or token contains the partner's
 * id, so that the service finds the shard without a global index.
 */
import { randomBytes, isUuid } from '../kernel/index.ts'
import { createPublicKey } from 'node:crypto'

const prefix = 'pk_'
const partnerBytes = 16
const randomPartBytes = 15
const form = new RegExp(`^${prefix}[A-Za-z0-9_-]{42}$`)

export function newApiKey(partnerId: string): string {
  const partner = Buffer.from(partnerId.replaceAll('-', ''), 'hex')
  return prefix + Buffer.concat([partner, randomBytes(randomPartBytes)]).toString('base64url')
}

/** Reads the partner's id from an API key. Undefined: the text is not an API key of this service. */
export function apiKeyPartnerId(apiKey: string): string | undefined {
  return form.test(apiKey) ? partnerIn(apiKey.slice(prefix.length)) : undefined
}

const linkTokenRandomBytes = 32
const linkTokenForm = /^[A-Za-z0-9_-]{64}$/

/** Creates the token of a public link: the partner's id and 256 random bits. Anybody with the link may see the page. */
export function newLinkToken(partnerId: string): string {
  const partner = Buffer.from(partnerId.replaceAll('-', ''), 'hex')
  return Buffer.concat([partner, randomBytes(linkTokenRandomBytes)]).toString('base64url')
}

/** Reads the partner's id from a token. Undefined: the text is not the token of a link. */
export function linkTokenPartnerId(token: string): string | undefined {
  return linkTokenForm.test(token) ? partnerIn(token) : undefined
}

function partnerIn(encoded: string): string {
  const hex = Buffer.from(encoded, 'base64url').subarray(0, partnerBytes).toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

/** The spellings of a GUID: with or without hyphens, in braces, in parentheses, or without. */
const guid = /^(?:\{(?<b>[0-9a-f-]{36})\}|\((?<p>[0-9a-f-]{36})\)|(?<h>[0-9a-f-]{36})|(?<n>[0-9a-f]{32}))$/i

/** Normalizes every spelling of a GUID to 32 lower-case hexadecimal digits. Undefined: the text is not a GUID. */
export function normalizeNonce(text: string): string | undefined {
  const groups = guid.exec(text)?.groups
  if (!groups) return undefined
  if (groups['n']) return groups['n'].toLowerCase()
  const inner = groups['b'] ?? groups['p'] ?? groups['h'] ?? ''
  return isUuid(inner) ? inner.replaceAll('-', '').toLowerCase() : undefined
}

/** Reports whether the text is a Unix time in seconds. Milliseconds have 13 digits until the year 2286. */
export const isUnixSeconds = (text: string): boolean => /^\d{1,12}$/.test(text)

// Public keys that may sign requests.

const start = '-----BEGIN PUBLIC KEY-----'
const bitsMin = 2048
/** Keys are limited in size, because a verification takes longer with a larger key. */
const bitsMax = 4096
const exponentMax = 65_537n

/** Explains why a PEM text is not a valid public key of a service account. Undefined: it is valid. */
export function publicKeyMistake(pem: string): string | undefined {
  // Node would derive a public key from a private one, but a private key must stay with its owner.
  if (pem.includes('PRIVATE KEY'))
    return 'is a private key: make a new pair, keep its private key and send the public one'
  if (!pem.trimStart().startsWith(start)) return 'must be a public key in PEM (SPKI)'
  try {
    const { asymmetricKeyType, asymmetricKeyDetails } = createPublicKey(pem)
    const bits = asymmetricKeyDetails?.modulusLength ?? 0
    if (asymmetricKeyType !== 'rsa' || bits < bitsMin || bits > bitsMax)
      return `must be an RSA key of ${bitsMin} to ${bitsMax} bits`
    if ((asymmetricKeyDetails?.publicExponent ?? 0n) > exponentMax)
      return `must have an exponent of ${exponentMax} or less`
    return undefined
  } catch {
    return 'is not a well-formed public key'
  }
}
