/**
 * Authenticates a signed request: reads the signature headers and the body, admits the request, verifies the signature
 * and counts the request against the rate limit. The nonce comes after it, in the dispatcher.
 */
import type { Access } from '../access/index.ts'
import type { Caller } from '../api/index.ts'
import type { Clock } from '../kernel/index.ts'
import type { AdmissionControl } from './admission.ts'
import { readBody } from './body.ts'
import { createRateLimiter } from './rate.ts'
import type { RawRequest } from './server.ts'
import { createSignatureVerifier, readSignatureHeaders } from './signature.ts'
import { createSignatureThrottle } from './signature-throttle.ts'

/** Signatures per turn of the event loop: they take less than a millisecond. */
const signaturesPerTurn = 8

export type Authenticated = {
  readonly caller: Caller
  /** 32 lower-case hexadecimal digits. */
  readonly nonce: string
  readonly body: Buffer
  readonly rateLimitHeaders: Readonly<Record<string, string>>
  /** Ends the request for the admission control. */
  readonly release: () => void
}

export type AuthenticationOptions = {
  readonly access: Pick<Access, 'credential' | 'recordUse'>
  readonly clock: Clock
  readonly windowSeconds: number
  readonly rate: { readonly perSecond: number; readonly burst: number }
  readonly bodyBytesMax: number
}

/** Refuses what `readSignatureHeaders`, `readBody`, `admit`, the signature verifier and the rate limiter refuse. */
export function createAuthentication(options: AuthenticationOptions, admission: AdmissionControl) {
  const { access, clock, windowSeconds, bodyBytesMax } = options
  const limiter = createRateLimiter({ clock, ...options.rate })
  const verifySignature = createSignatureVerifier({ credential: access.credential, clock, windowSeconds })
  const throttle = createSignatureThrottle(signaturesPerTurn)
  return async (request: RawRequest): Promise<Authenticated> => {
    const signed = readSignatureHeaders(request.headers)
    const body = await readBody(request.message, bodyBytesMax)
    // Admitted after the body has arrived, so that slow senders do not use up the capacity.
    const release = admission.admit()
    try {
      await throttle()
      const { method, path, query } = request
      const caller = await verifySignature(signed, { method, path, query, body })
      // After the signature, so that a forged request cannot use up the limit of another account.
      limiter.take(caller)
      access.recordUse(caller)
      return { caller, nonce: signed.nonce, body, rateLimitHeaders: limiter.headers(caller), release }
    } catch (error) {
      release()
      throw error
    }
  }
}
