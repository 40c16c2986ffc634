/**
 * Verifies the signature of a request. The checks follow the failure table of the interface document, in the order of the
 * contract: bearer token, missing header, form of each header, window, known key and signature.
 */
import { constants, generateKeyPair, verify, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import { canonicalString } from '@partner-payments/wire'
import type { Access } from '../access/index.ts'
import { type Caller, Refusal } from '../api/index.ts'
import { type Clock, secondMs } from '../kernel/index.ts'

export type Headers = Readonly<Record<string, string | string[] | undefined>>

/** The four headers: well-formed, not yet verified. */
export type SignatureHeaders = {
  readonly apiKey: string
  /** 32 lower-case hexadecimal digits, for every spelling of the GUID. */
  readonly nonce: string
  readonly nonceAsSent: string
  readonly timestamp: string
  readonly signature: Buffer
}

const base64 = /^[A-Za-z0-9+/]+={0,2}$/
/** The spellings of a GUID: hyphens or not, braces or parentheses or neither. */
const guid = /^(?:\{(?<b>[0-9a-f-]{36})\}|\((?<p>[0-9a-f-]{36})\)|(?<h>[0-9a-f-]{36})|(?<n>[0-9a-f]{32}))$/i
const hyphenated = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

function readNonce(text: string): string | undefined {
  const groups = guid.exec(text)?.groups
  if (!groups) return undefined
  if (groups['n']) return groups['n'].toLowerCase()
  const inner = groups['b'] ?? groups['p'] ?? groups['h'] ?? ''
  return hyphenated.test(inner) ? inner.replaceAll('-', '').toLowerCase() : undefined
}

const textOf = (value: string | string[] | undefined): string =>
  Array.isArray(value) ? value.join(', ') : (value ?? '')

/** Refuses: jwt_not_accepted, signature_required, timestamp_out_of_window, nonce_invalid, signature_invalid. */
export function readSignatureHeaders(headers: Headers): SignatureHeaders {
  if (/^bearer(\s|$)/i.test(textOf(headers['authorization']))) throw new Refusal('jwt_not_accepted')
  const apiKey = textOf(headers['apikey'])
  const nonceAsSent = textOf(headers['nonce'])
  const timestamp = textOf(headers['timestamp'])
  const signature = textOf(headers['signature'])
  if (apiKey === '' || nonceAsSent === '' || timestamp === '' || signature === '')
    throw new Refusal('signature_required')
  if (!/^\d{1,12}$/.test(timestamp))
    throw new Refusal('timestamp_out_of_window', 'Timestamp must be Unix time in seconds, for example 1767225600.')
  const nonce = readNonce(nonceAsSent)
  if (nonce === undefined) throw new Refusal('nonce_invalid')
  if (!base64.test(signature) || signature.length % 4 !== 0) throw new Refusal('signature_invalid')
  return { apiKey, nonce, nonceAsSent, timestamp, signature: Buffer.from(signature, 'base64') }
}

type SignedRequest = {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly body: Uint8Array
}

/** The result refuses (401): timestamp_out_of_window, signature_invalid. */
export function createSignatureVerifier(deps: {
  readonly credential: Access['credential']
  readonly clock: Clock
  readonly windowSeconds: number
}) {
  const { credential: find, clock, windowSeconds } = deps
  // For an unknown key a verification that must fail, so that it takes as long as for a known key.
  const decoy = promisify(generateKeyPair)('rsa', { modulusLength: 2048 })

  return async (signed: SignatureHeaders, request: SignedRequest): Promise<Caller> => {
    const credential = await find(signed.apiKey)
    if (Math.abs(clock.now().getTime() - Number(signed.timestamp) * secondMs) > windowSeconds * secondMs)
      throw new Refusal('timestamp_out_of_window', `Timestamp must be within ${windowSeconds} seconds of now.`)
    const key = credential?.publicKey ?? (await decoy).publicKey
    const isValid = isSignatureValid(signed, request, credential?.apiSecret ?? '', key)
    if (!credential || !isValid) throw new Refusal('signature_invalid')
    return credential.caller
  }
}

/** RSA with SHA-256 and PKCS#1 v1.5 padding over the canonical string (interface document, Authentication). */
function isSignatureValid(
  signed: SignatureHeaders,
  request: SignedRequest,
  apiSecret: string,
  key: KeyObject,
): boolean {
  const { timestamp, nonceAsSent, signature } = signed
  let text: string
  try {
    text = canonicalString({ ...request, timestamp, nonce: nonceAsSent, apiSecret })
  } catch {
    return false // A query with invalid percent-encoding has no canonical form.
  }
  return verify('sha256', Buffer.from(text, 'utf8'), { key, padding: constants.RSA_PKCS1_PADDING }, signature)
}
