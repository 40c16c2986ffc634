/** The port of an identity provider. A connector implements it (docs/guides/identity-providers.md). */
import { deliverySignature, type identity } from '@partner-payments/wire'
import { createBreaker, withTimeLimit, minuteMs, secondMs } from '../../kernel/index.ts'
import { timingSafeEqual } from 'node:crypto'

export type IdentityKind = identity.IdentityKind
export type IdentityReason = (typeof identity.identityReasons)[number]

type IdentityRequest = {
  /** Identifies the verification at the provider. A repeated reference does not start a second verification. */
  readonly reference: string
  readonly kinds: readonly IdentityKind[]
  readonly customerType: 'Individual' | 'Business' | 'SoleTrader'
  /** Only the KYC fields that the requested kinds verify. */
  readonly subject: Readonly<Record<string, string>>
  /** The URL to which the provider's page returns the customer. Null: none. */
  readonly returnUrl: string | null
}

/** The verification to erase. `providerSession`: null if the service does not know the session; `reference` then identifies it. */
export type IdentityErasureRequest = Pick<IdentityRequest, 'reference'> & { readonly providerSession: string | null }

type StartedIdentity = { readonly providerSession: string; readonly url: string; readonly expiresAt: Date }

/** The findings of a provider in a decided report. */
export type IdentityEvidence = {
  readonly providerReference: string
  readonly documents: readonly {
    readonly type: (typeof identity.identityDocuments)[number]
    readonly issuingCountry: string | null
    /** `YYYY-MM-DD`, the last valid day. */
    readonly expiresOn: string | null
  }[]
  readonly fields: readonly { readonly field: string; readonly outcome: 'Matched' | 'Mismatched' }[]
}

/** `version` grows with each change at the provider, so that an older report never replaces a newer one. */
export type IdentityReport = { readonly version: bigint } & (
  | { readonly status: 'Open' | 'Processing' | 'Lapsed' }
  | { readonly status: 'Approved'; readonly evidence: IdentityEvidence }
  | { readonly status: 'Declined'; readonly reason: IdentityReason; readonly evidence: IdentityEvidence }
)

/** The headers and the raw body of a received webhook. */
type IdentityWebhook = {
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: Uint8Array
  readonly now: Date
}

/**
 * A webhook only says that there is a newer version, and the service then requests the report. Lost, repeated, old or reordered webhooks
 * therefore do no harm, and the service receives only data that it requested.
 */
export type IdentityHint = { readonly reference: string; readonly version: bigint }

/** The provider refuses the request permanently, so that another attempt would fail too. */
export class IdentityRequestRefused extends Error {
  override readonly name = 'IdentityRequestRefused'
}

export type IdentityProvider = {
  /** The name of the provider in rows, paths and logs: letters, digits and hyphens. */
  readonly id: string
  /** How long a worker waits for an answer. */
  readonly timeoutMs: number
  /** Starts a verification. Throws IdentityRefused, or an Error if the provider cannot be reached or answers invalidly. */
  readonly start: (request: IdentityRequest, signal: AbortSignal) => Promise<StartedIdentity>
  /** Reads the report. Undefined: the provider does not know the session (any longer). Throws like `start`. */
  readonly report: (providerSession: string, signal: AbortSignal) => Promise<IdentityReport | undefined>
  /**
   * Erases the provider's data of a verification, if there is any. Throws IdentityRefused if the provider must keep it, and otherwise
   * like `start`.
   */
  readonly erase: (verification: IdentityErasureRequest, signal: AbortSignal) => Promise<void>
  /** Checks the signature over the raw body. Undefined: it is invalid. */
  readonly readWebhook: (webhook: IdentityWebhook) => IdentityHint | undefined
}

// Calls of an identity provider, with a time limit and a breaker.

export type IdentityCalls = Pick<IdentityProvider, 'id'> & {
  /** False while the breaker is open: a call would only wait for its time limit. */
  readonly mayCall: () => boolean
  readonly start: (request: Parameters<IdentityProvider['start']>[0]) => ReturnType<IdentityProvider['start']>
  readonly report: (providerSession: string) => ReturnType<IdentityProvider['report']>
  readonly erase: (verification: Parameters<IdentityProvider['erase']>[0]) => ReturnType<IdentityProvider['erase']>
}

export function createIdentityCalls(provider: IdentityProvider): IdentityCalls {
  const breaker = createBreaker()
  const call = async <T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> => {
    try {
      const answer = await withTimeLimit(provider.timeoutMs, work)
      breaker.answered()
      return answer
    } catch (error) {
      // A refusal counts as an answer.
      if (error instanceof IdentityRequestRefused) breaker.answered()
      else breaker.failed()
      throw error
    }
  }
  return {
    id: provider.id,
    mayCall: () => breaker.state() !== 'open',
    start: (request) => call((signal) => provider.start(request, signal)),
    erase: (verification) => call((signal) => provider.erase(verification, signal)),
    report: (providerSession) => call((signal) => provider.report(providerSession, signal)),
  }
}

// Signatures of webhooks, for providers that follow Standard Webhooks.

/** Standard Webhooks, "Verifying": a webhook outside of this tolerance is refused, so that a recorded one cannot be replayed later. */
const toleranceMs = 5 * minuteMs

/** Reports whether one of the signatures covers id, time and raw body under the key, and the time is within the tolerance. */
export function hasStandardSignature(key: Uint8Array, { headers, body, now }: IdentityWebhook): boolean {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures } = headers
  if (id === undefined || signatures === undefined || timestamp === undefined || !/^\d{1,12}$/.test(timestamp))
    return false
  const seconds = Number(timestamp)
  if (Math.abs(now.getTime() - seconds * secondMs) > toleranceMs) return false
  const expected = Buffer.from(deliverySignature({ kind: 'v1', key }, id, seconds, body))
  return signatures.split(' ').some((each) => {
    const given = Buffer.from(each)
    return given.length === expected.length && timingSafeEqual(given, expected)
  })
}
