/**
 * Verifies the signature of a request. The checks follow the failure table of the interface document, in the order of the
 * contract: bearer token, missing header, form of each header, window, known key and signature.
 */
import { constants, generateKeyPair, type KeyObject, verify } from 'node:crypto'
import { promisify } from 'node:util'
import { canonicalString, problems, signatureMistakes } from '@partner-payments/wire'
import { type Access, type Credential, isUnixSeconds, normalizeNonce } from '../../access/index.ts'
import { type Caller, type OpenNonce, Refusal } from '../../kernel/api/index.ts'
import { after, type Clock, type Log, minuteMs, secondMs } from '../../kernel/index.ts'

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
/** Matches a signature in hexadecimal. A base64 signature of this length never consists of hexadecimal digits only. */
const hexadecimal = /^[0-9a-f]{128,}$/i
const signatureHeaderNames = ['ApiKey', 'Nonce', 'Timestamp', 'Signature'] as const

const headerText = (value: string | string[] | undefined): string =>
  Array.isArray(value) ? value.join(', ') : (value ?? '')

/** The four headers as sent. */
export type SentSignature = Readonly<Record<'apiKey' | 'nonce' | 'timestamp' | 'signature', string>>

/** Reads the signature headers. Refuses: jwt_not_accepted, signature_required. */
export function readSentSignature(headers: Headers): SentSignature {
  if (/(?:^|,\s*)bearer(?:\s|$)/i.test(headerText(headers['authorization']))) throw new Refusal('jwt_not_accepted')
  const missing = signatureHeaderNames.filter((name) => headerText(headers[name.toLowerCase()]) === '')
  if (missing.length > 0) {
    const names = missing.map((name) => `\`${name}\``).join(', ')
    const what = missing.length === 1 ? `The header ${names} is missing.` : `The headers ${names} are missing.`
    throw new Refusal('signature_required', `${what} ${problems.signature_required.detail}`)
  }
  return {
    apiKey: headerText(headers['apikey']),
    nonce: headerText(headers['nonce']),
    timestamp: headerText(headers['timestamp']),
    signature: headerText(headers['signature']),
  }
}

/**
 * Parses the signature headers. Refuses: timestamp_out_of_window, nonce_invalid, signature_invalid. The refusals depend
 * only on the headers.
 */
export function readSignatureHeaders({
  apiKey,
  nonce: nonceAsSent,
  timestamp,
  signature,
}: SentSignature): SignatureHeaders {
  if (!isUnixSeconds(timestamp)) throw new Refusal('timestamp_out_of_window', signatureMistakes.timestamp_unit)
  const nonce = normalizeNonce(nonceAsSent)
  if (nonce === undefined) throw new Refusal('nonce_invalid')
  if (hexadecimal.test(signature)) throw new Refusal('signature_invalid', signatureMistakes.signature_hex)
  if (!base64.test(signature) || signature.length % 4 !== 0)
    throw new Refusal('signature_invalid', signatureMistakes.signature_encoding)
  return { apiKey, nonce, nonceAsSent, timestamp, signature: Buffer.from(signature, 'base64') }
}

type SignedRequest = {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly body: Uint8Array
}

/** Creates a signature verifier, which refuses (401): timestamp_out_of_window, signature_invalid. */
export function createSignatureVerifier(deps: {
  readonly credential: Access['credential']
  readonly clock: Clock
  readonly windowSeconds: number
}) {
  const { credential: find, clock, windowSeconds } = deps
  // The signature of an unknown key is verified with this key, so that the refusal takes as long as for a known key.
  const decoy = promisify(generateKeyPair)('rsa', { modulusLength: 2048 })

  return async (signed: SignatureHeaders, request: SignedRequest): Promise<Credential> => {
    const credential = await find(signed.apiKey)
    if (Math.abs(clock.now().getTime() - Number(signed.timestamp) * secondMs) > windowSeconds * secondMs)
      throw new Refusal('timestamp_out_of_window', `Timestamp must be within ${windowSeconds} seconds of now.`)
    const key = credential?.publicKey ?? (await decoy).publicKey
    const isValid = isSignatureValid(signed, request, credential?.apiSecret ?? '', key)
    if (!credential || !isValid) throw new Refusal('signature_invalid')
    return credential
  }
}

/** Verifies RSA with SHA-256 and PKCS#1 v1.5 padding over the canonical string (interface document, Authentication). */
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

// Checks the nonce of an authenticated request.

type NonceRequest = {
  readonly caller: Caller
  /** 32 lower-case hexadecimal digits. */
  readonly nonce: string
  readonly method: string
  readonly path: string
  readonly requestId: string
}

type NonceCheck = {
  readonly nonce: OpenNonce
  /** Consumes the nonce, unless it was already consumed. Refuses (401): nonce_replayed. */
  readonly consume: () => Promise<void>
  /**
   * Resolves when the nonce is on disk. Await it before you respond: a database crash could lose an unflushed nonce,
   * and then the request could be replayed.
   */
  readonly durable: () => Promise<void>
}

/** Margin for clock differences between processes, in addition to twice the window for which a nonce is stored. */
const nonceMarginMs = minuteMs
/**
 * Returns the time until which a nonce is stored. Rounds up to the second, so that the nonces of a batch share the
 * value.
 */
const nonceExpiry = (now: Date, windowSeconds: number): Date => {
  const exact = after(now, nonceMarginMs + 2 * windowSeconds * secondMs).getTime()
  return new Date(Math.ceil(exact / secondMs) * secondMs)
}

export function createNonceCheck(deps: {
  readonly access: Pick<Access, 'consumeNonce'>
  readonly clock: Clock
  readonly log: Log
  readonly windowSeconds: number
  /**
   * True: commits the nonce of a write asynchronously, because the durable commit of the write flushes the nonce too. A
   * read has no such commit and would wait twice. Requires that the response waits for `durable`.
   */
  readonly asyncCommitOfWrites: boolean
}): (request: NonceRequest) => NonceCheck {
  const { access, clock, log, windowSeconds, asyncCommitOfWrites } = deps
  return ({ caller, nonce: value, method, path, requestId }) => {
    const { partnerId, serviceAccountId, impersonatedBy } = caller
    const expiresAt = nonceExpiry(clock.now(), windowSeconds)
    const nonce = { partnerId, serviceAccountId, nonce: value, expiresAt, consumed: false }
    let durable = (): Promise<void> => Promise.resolve()
    return {
      nonce,
      consume: async () => {
        if (nonce.consumed) return
        const consumed = await access.consumeNonce(nonce, asyncCommitOfWrites && method !== 'GET')
        nonce.consumed = true
        if (!consumed.fresh) throw new Refusal('nonce_replayed')
        durable = consumed.durable
        if (impersonatedBy !== undefined)
          log.info({ requestId, audit: true, impersonatedBy, partnerId, method, path }, 'impersonated request')
      },
      durable: () => durable(),
    }
  }
}
