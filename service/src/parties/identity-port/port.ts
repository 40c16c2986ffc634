/** The port of an identity provider. A connector of another provider implements it; docs/guides/identity-providers.md says how. */
import { deliverySignature, type identity } from '@partner-payments/wire'
import { type Breaker, createBreaker, inTime, minuteMs, secondMs } from '../../kernel/index.ts'
import { timingSafeEqual } from 'node:crypto'

export type IdentityKind = identity.IdentityKind
export type IdentityReason = (typeof identity.identityReasons)[number]

export type IdentityRequest = {
  /** Names the verification at the provider. The same one starts no second verification. */
  readonly reference: string
  readonly kinds: readonly IdentityKind[]
  readonly customerType: 'Individual' | 'Business' | 'SoleTrader'
  /** The KYC fields of the kinds, and no others. */
  readonly subject: Readonly<Record<string, string>>
  /** Address to which the page of the provider leads back. Null: none. */
  readonly returnUrl: string | null
}

/** `providerSession`: null if the service did not learn of a session. `reference` names one then. */
export type IdentityErased = Pick<IdentityRequest, 'reference'> & { readonly providerSession: string | null }

export type StartedIdentity = { readonly providerSession: string; readonly url: string; readonly expiresAt: Date }

/** Findings of a provider: part of a report that is decided. */
export type IdentityEvidence = {
  readonly providerReference: string
  readonly documents: readonly {
    readonly type: (typeof identity.identityDocuments)[number]
    readonly issuingCountry: string | null
    /** `YYYY-MM-DD`, the last day on which it is valid. */
    readonly expiresOn: string | null
  }[]
  readonly fields: readonly { readonly field: string; readonly outcome: 'Matched' | 'Mismatched' }[]
}

/** `version` grows with each change at the provider: an older report never replaces a newer one. */
export type IdentityReport = { readonly version: bigint } & (
  | { readonly status: 'Open' | 'Processing' | 'Lapsed' }
  | { readonly status: 'Approved'; readonly evidence: IdentityEvidence }
  | { readonly status: 'Declined'; readonly reason: IdentityReason; readonly evidence: IdentityEvidence }
)

/** The headers and the raw body of a webhook, as they came. */
export type IdentityWebhook = {
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: Uint8Array
  readonly now: Date
}

/**
 * A webhook says only that something is new: the service then asks for the report. So a webhook that is lost, repeated, old or out
 * of order does no harm, and no data of a person comes in without having been asked for.
 */
export type IdentityHint = { readonly reference: string; readonly version: bigint }

/** The provider refuses the request for good: another attempt would be refused too. */
export class IdentityRefused extends Error {
  override readonly name = 'IdentityRefused'
}

export type IdentityProvider = {
  /** Names the provider in rows, paths and logs: letters, digits and hyphens. */
  readonly id: string
  /** How long a worker waits for an answer. The service stops waiting after it. */
  readonly timeoutMs: number
  /** Throws IdentityRefused, or an Error if the provider cannot be reached or answers invalidly. */
  readonly start: (request: IdentityRequest, signal: AbortSignal) => Promise<StartedIdentity>
  /** Undefined: the provider does not know the session, or no longer. Throws as `start` does. */
  readonly report: (providerSession: string, signal: AbortSignal) => Promise<IdentityReport | undefined>
  /**
   * Erases what the provider holds of a verification. Does nothing if it holds nothing. Throws IdentityRefused if the provider has to
   * keep it, or else as `start` does.
   */
  readonly erase: (verification: IdentityErased, signal: AbortSignal) => Promise<void>
  /** Checks the signature over the raw body. Undefined: it does not hold. */
  readonly readWebhook: (webhook: IdentityWebhook) => IdentityHint | undefined
}

// Calls of an identity provider, each within its time limit, behind a breaker.

export type IdentityCalls = Pick<IdentityProvider, 'id'> & {
  /** False while the breaker is open: a call would only wait for its time limit. */
  readonly mayCall: () => boolean
  readonly start: (request: Parameters<IdentityProvider['start']>[0]) => ReturnType<IdentityProvider['start']>
  readonly report: (providerSession: string) => ReturnType<IdentityProvider['report']>
  readonly erase: (verification: Parameters<IdentityProvider['erase']>[0]) => ReturnType<IdentityProvider['erase']>
}

/** `breaker`: tests pass one with a clock of their own. */
export function createIdentityCalls(provider: IdentityProvider, breaker: Breaker = createBreaker()): IdentityCalls {
  const call = async <T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> => {
    try {
      const answer = await inTime(provider.timeoutMs, work)
      breaker.answered()
      return answer
    } catch (error) {
      // A refusal is an answer.
      if (error instanceof IdentityRefused) breaker.answered()
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

// Signatures of webhooks by Standard Webhooks, for providers that sign so.

/** Standard Webhooks, Verifying: older and newer ones are refused, so that a recorded one cannot be replayed for ever. */
const toleranceMs = 5 * minuteMs

/** Reports whether one of the signatures is that of the key over id, time and raw body, and the time is near. */
export function holdsStandardSignature(key: Uint8Array, { headers, body, now }: IdentityWebhook): boolean {
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
