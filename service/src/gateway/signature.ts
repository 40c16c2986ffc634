/**
 * Who is calling: the rows of the document's failure table, in the order of the contract: bearer token -> any of the
 * four headers missing -> well-formed -> known key -> window -> signature -> (rate) -> nonce.
 */
import { constants, generateKeyPair, verify, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import { canonicalString } from '@partner-payments/wire'
import type { Access } from '../access/index.ts'
import { type Caller, Refusal } from '../api/index.ts'
import { type Clock, secondMs } from '../kernel/index.ts'

export type Headers = Readonly<Record<string, string | string[] | undefined>>

/** What the four headers say, well-formed and not yet believed. */
export type Claim = {
  readonly apiKey: string
  /** 32 lower-case hexadecimal digits, whatever the spelling. */
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

const one = (value: string | string[] | undefined): string => (Array.isArray(value) ? value.join(', ') : (value ?? ''))

/** Refuses: jwt_not_accepted, signature_required, timestamp_out_of_window, nonce_invalid, signature_invalid. */
export function readClaim(headers: Headers): Claim {
  if (/^bearer(\s|$)/i.test(one(headers['authorization']))) throw new Refusal('jwt_not_accepted')
  const apiKey = one(headers['apikey'])
  const nonceAsSent = one(headers['nonce'])
  const timestamp = one(headers['timestamp'])
  const signature = one(headers['signature'])
  if (apiKey === '' || nonceAsSent === '' || timestamp === '' || signature === '')
    throw new Refusal('signature_required', 'The headers ApiKey, Nonce, Timestamp and Signature are required.')
  if (!/^\d{1,12}$/.test(timestamp))
    throw new Refusal('timestamp_out_of_window', 'Timestamp must be Unix time in seconds.')
  const nonce = readNonce(nonceAsSent)
  if (nonce === undefined) throw new Refusal('nonce_invalid', 'Nonce must be a GUID.')
  if (!base64.test(signature) || signature.length % 4 !== 0) throw badSignature()
  return { apiKey, nonce, nonceAsSent, timestamp, signature: Buffer.from(signature, 'base64') }
}

export const badSignature = () => new Refusal('signature_invalid', 'The signature does not verify for this API key.')

export type SignedRequest = {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly body: Uint8Array
}

/** Refuses (401): timestamp_out_of_window, signature_invalid; (429) rate_limited. */
export type Identify = (claim: Claim, request: SignedRequest) => Promise<Caller>

export function createIdentify(deps: {
  readonly credential: Access['credential']
  readonly clock: Clock
  readonly windowSeconds: number
  /** Throws rate_limited. Called once the signature holds, so that nobody can spend another's allowance. */
  readonly spendAllowance: (caller: Caller) => void
}): Identify {
  const { credential: find, clock, windowSeconds, spendAllowance } = deps
  // An unknown key costs what a known one costs: a verification that cannot succeed.
  const decoy = promisify(generateKeyPair)('rsa', { modulusLength: 2048 })

  return async (claim, request) => {
    const credential = await find(claim.apiKey)
    if (Math.abs(clock.now().getTime() - Number(claim.timestamp) * secondMs) > windowSeconds * secondMs)
      throw new Refusal('timestamp_out_of_window', `Timestamp must be within ${windowSeconds} seconds of now.`)
    const key = credential?.publicKey ?? (await decoy).publicKey
    const holds = verifies(claim, request, credential?.apiSecret ?? '', key)
    if (!credential || !holds) throw badSignature()
    spendAllowance(credential.caller)
    return credential.caller
  }
}

/** RSA with SHA-256 and PKCS#1 v1.5 padding over the canonical string (interface document, Authentication). */
function verifies(claim: Claim, request: SignedRequest, apiSecret: string, key: KeyObject): boolean {
  const { timestamp, nonceAsSent, signature } = claim
  let text: string
  try {
    text = canonicalString({ ...request, timestamp, nonce: nonceAsSent, apiSecret })
  } catch {
    return false // a query whose percent-encoding is broken has no canonical form
  }
  return verify('sha256', Buffer.from(text, 'utf8'), { key, padding: constants.RSA_PKCS1_PADDING }, signature)
}
