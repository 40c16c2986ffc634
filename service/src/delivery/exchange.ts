/** One HTTP exchange: a signed POST, and what came back within the time and the bytes allowed. */
import { deliverySignature } from '@partner-payments/wire'
import { Agent } from 'undici'
import { type Clock, minuteMs, secondMs } from '../kernel/index.ts'
import type { AttemptResult, Claim } from '../rooms/webhooks/index.ts'
import { AddressRefused, createGuard, type Resolve } from './guard.ts'

/** From the first byte out to the last byte in. */
export const exchangeTimeoutMsDefault = 15 * secondMs
const connectTimeoutMsMax = 5 * secondMs
/** Of an answer this much is read, and the first part of it kept for the log of attempts. */
const answerBytesMax = 64 * 1024
export const answerKeptBytesMax = 8 * 1024
const userAgent = 'PartnerPayments-Webhooks/2'

export type ExchangeOptions = {
  readonly clock: Clock
  readonly allowLoopback: boolean
  readonly resolve: Resolve
  readonly timeoutMs: number
}

export type Exchange = {
  /** Never rejects for what the endpoint does; rejects with `abandon`'s reason once that is aborted. */
  readonly post: (claim: Claim, abandon: AbortSignal) => Promise<AttemptResult>
  readonly close: () => Promise<void>
}

/** Interface document, Events: exactly two fields. Spliced, since `data` must not change by a byte. */
export const envelope = (eventId: string, data: string) => `{"eventId":"${eventId}","data":${data}}`

/** Standard Webhooks: id, seconds of this attempt, and a signature per key, separated by spaces. */
function headersOf(claim: Claim, body: string, timestamp: number): Record<string, string> {
  const signatures = claim.keys.map((key) => deliverySignature(key, claim.eventId, timestamp, body))
  return {
    'content-type': 'application/json',
    'user-agent': userAgent,
    'webhook-id': claim.eventId,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatures.join(' '),
  }
}

export function createExchange({ clock, allowLoopback, resolve, timeoutMs }: ExchangeOptions): Exchange {
  const connectTimeoutMs = Math.min(connectTimeoutMsMax, timeoutMs)
  const guard = createGuard({ allowLoopback, resolve, connectTimeoutMs })
  // An agent of our own: no proxy from the environment, no redirects, nothing shared with other callers. The time limit
  // is on the whole exchange (`signal`), so the limits on its parts are off.
  const agent = new Agent({
    connect: guard.connect,
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: 4 * secondMs,
    keepAliveMaxTimeout: minuteMs,
  })

  const post = async (claim: Claim, abandon: AbortSignal): Promise<AttemptResult> => {
    const url = new URL(claim.url)
    const startedAt = clock.now()
    const startMs = performance.now()
    const body = envelope(claim.eventId, claim.data)
    // Not AbortSignal.timeout: its timer would let the process end, and with it the attempt.
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(), timeoutMs)
    const got: { status?: number; retryAfter?: string; responseBody?: string; address?: string; error?: string } = {}
    try {
      const answer = await agent.request({
        origin: url.origin,
        path: `${url.pathname}${url.search}`,
        method: 'POST',
        headers: headersOf(claim, body, Math.floor(startedAt.getTime() / secondMs)),
        body,
        signal: AbortSignal.any([late.signal, abandon]),
      })
      got.status = answer.statusCode
      const address = guard.addressOf(url.origin)
      if (address !== undefined) got.address = address
      const retryAfter = answer.headers['retry-after']
      if (typeof retryAfter === 'string') got.retryAfter = retryAfter
      await readAnswer(answer.body, got)
    } catch (error) {
      if (abandon.aborted) throw error
      got.error = late.signal.aborted ? `no complete answer within ${timeoutMs} ms` : publicText(error)
    } finally {
      clearTimeout(timer)
    }
    return { startedAt, durationMs: Math.max(0, Math.round(performance.now() - startMs)), ...got }
  }

  return { post, close: () => agent.destroy() }
}

/** Keeps the head of the answer even where the rest does not come. What exceeds the limit is not waited for. */
async function readAnswer(body: AsyncIterable<Uint8Array>, got: { responseBody?: string }): Promise<void> {
  const kept: Uint8Array[] = []
  let bytes = 0
  try {
    for await (const chunk of body) {
      if (bytes < answerKeptBytesMax) kept.push(chunk)
      bytes += chunk.length
      // Leaving the loop destroys the stream, and with it the connection.
      if (bytes >= answerBytesMax) break
    }
  } finally {
    const text = keptText(Buffer.concat(kept))
    if (text !== '') got.responseBody = text
  }
}

/** As text that PostgreSQL can hold: UTF-8 with its errors replaced, no NUL, no half character at the cut. */
function keptText(bytes: Buffer): string {
  const stream = bytes.length > answerKeptBytesMax
  return new TextDecoder().decode(bytes.subarray(0, answerKeptBytesMax), { stream }).replaceAll('\u0000', '\uFFFD')
}

const reasons: Readonly<Record<string, string>> = {
  ENOTFOUND: 'the name of the endpoint does not resolve',
  EAI_AGAIN: 'the name of the endpoint does not resolve at the moment',
  ECONNREFUSED: 'the endpoint refused the connection',
  ECONNRESET: 'the endpoint closed the connection before its answer was complete',
  UND_ERR_SOCKET: 'the endpoint closed the connection before its answer was complete',
  UND_ERR_CONNECT_TIMEOUT: 'the endpoint did not accept the connection in time',
  ETIMEDOUT: 'the endpoint did not accept the connection in time',
  EHOSTUNREACH: 'the endpoint cannot be reached',
  ENETUNREACH: 'the endpoint cannot be reached',
  UND_ERR_HEADERS_OVERFLOW: 'the headers of the answer are too large',
  CERT_HAS_EXPIRED: 'the certificate of the endpoint has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate of the endpoint is not trusted',
  SELF_SIGNED_CERT_IN_CHAIN: 'the certificate of the endpoint is not trusted',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the certificate of the endpoint is not trusted',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate of the endpoint is for another name',
}

/** For the partner's eyes: from a closed list, since the text of an error can name addresses. */
function publicText(error: unknown): string {
  if (error instanceof AddressRefused) return error.message
  const { name, code } = (error ?? {}) as { readonly name?: unknown; readonly code?: unknown }
  if (name === 'HTTPParserError') return 'the answer is not valid HTTP'
  if (typeof code !== 'string') return 'the exchange failed'
  return reasons[code] ?? `the exchange failed (${code})`
}
