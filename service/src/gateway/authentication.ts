/**
 * Authenticates a signed request: reads the signature headers and the body, admits the request, verifies the signature
 * and counts the request against the rate limit. The nonce comes after it, in the dispatcher.
 */
import type { Access } from '../access/index.ts'
import { type Admitted, type Caller, Refusal } from '../api/index.ts'
import type { Clock } from '../kernel/index.ts'
import type { AdmissionControl } from './admission.ts'
import type { Incoming } from './incoming.ts'
import { type Deadline, startDeadline } from './deadline.ts'
import { createRateLimiter } from './rate.ts'
import type { RawRequest } from './server.ts'
import { createSignatureVerifier, readSentSignature, readSignatureHeaders, type SignatureHeaders } from './signature.ts'
import { createSignatureHints } from './signature-hints.ts'
import { createTurnThrottle } from './turn-throttle.ts'

/** Signatures per turn of the event loop: they take less than a millisecond. */
const signaturesPerTurn = 8

export type Authenticated = {
  readonly caller: Caller
  /** 32 lower-case hexadecimal digits. */
  readonly nonce: string
  readonly body: Buffer
  readonly rateLimitHeaders: Readonly<Record<string, string>>
  /** Applies the deadline of the request to its waits. */
  readonly deadline: Deadline
  /** Releases the request's place in the admission control. */
  readonly release: () => void
}

export type AuthenticationOptions = {
  readonly access: Pick<Access, 'credential' | 'recordUse'>
  readonly clock: Clock
  readonly windowSeconds: number
  readonly rate: { readonly perSecond: number; readonly burst: number }
  /** Names the mistake in a refused signature. */
  readonly sandbox: boolean
  readonly requestTimeoutMs: number
}

/** Refuses what `readSentSignature`, `readSignatureHeaders`, `incoming.read`, `admit`, the signature verifier and the rate limiter refuse. */
export function createAuthentication(
  options: AuthenticationOptions,
  admission: AdmissionControl,
  incoming: Incoming,
): (request: RawRequest, asked: Admitted) => Promise<Authenticated> {
  const { access, clock, windowSeconds } = options
  const limiter = createRateLimiter({ clock, ...options.rate })
  const verifySignature = createSignatureVerifier({ credential: access.credential, clock, windowSeconds })
  const throttle = createTurnThrottle(signaturesPerTurn)
  const receive = (request: RawRequest) => incoming.read(request.message)
  const hints = options.sandbox ? createSignatureHints({ access, clock }) : undefined

  const verify = async (signed: SignatureHeaders, request: RawRequest, body: Buffer, asked: Admitted) => {
    // Admitted after the body has arrived, so that slow senders do not use up the capacity.
    const deadline = startDeadline(options.requestTimeoutMs)
    const release = admission.admit(asked)
    const { socket } = request.message
    const endProtection = incoming.protect(socket)
    try {
      await throttle()
      const { method, path, query } = request
      const { caller, allows } = await deadline(verifySignature(signed, { method, path, query, body }))
      request.trace.caller = caller
      incoming.verified(socket)
      // After the signature, so that a forged request cannot use up the limit of another account.
      limiter.take(caller.serviceAccountId)
      // After the signature, so that a stranger does not learn which addresses an account has.
      if (allows?.(request.ip) === false)
        throw new Refusal('permission_denied', `The service account may not be used from the address ${request.ip}.`)
      access.recordUse(caller)
      const rateLimitHeaders = limiter.headers(caller.serviceAccountId)
      return { caller, nonce: signed.nonce, body, rateLimitHeaders, deadline, release }
    } catch (error) {
      release()
      throw error
    } finally {
      endProtection()
    }
  }

  return async (request, asked) => {
    const sent = readSentSignature(request.headers)
    let body: Buffer | undefined
    try {
      const signed = readSignatureHeaders(sent)
      body = await receive(request)
      return await verify(signed, request, body, asked)
    } catch (error) {
      if (hints === undefined) throw error
      throw await hints(error, sent, request, async () => body ?? (await receive(request)))
    }
  }
}
