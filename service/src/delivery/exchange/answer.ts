/** What an endpoint answers, read as far as the limits go and no further, and what the partner is told of a failure. */
import type { Dispatcher } from 'undici'
import { AddressRefused } from './guard.ts'

/** Of an answer this much is read, and the first part of it kept for the log of attempts. */
export const answerBytesMax = 64 * 1024
export const answerKeptBytesMax = 8 * 1024

export type Answer = {
  status?: number
  /** Why the exchange did not come to its end. */
  error?: string
  responseBody?: string
  /** As sent. */
  retryAfter?: string
}

export type Reading = Dispatcher.DispatchHandler & {
  /** Ends the exchange at once, with what has been read. Whatever comes later changes nothing. */
  readonly stop: (error?: string) => void
}

/** Made once: nobody sees it, and its stack would cost more than the rest of the end. */
const stopped = new Error('the exchange was ended')

/**
 * A handler for `dispatch`, which costs half of what `request` and its stream of the body cost. `ended` is called once.
 * What is kept of the body is copied: a chunk may be a small view of a large buffer.
 */
export function createReading(ended: (answer: Answer) => void): Reading {
  const answer: Answer = {}
  let controller: Dispatcher.DispatchController | undefined
  let kept: Buffer | undefined
  let bytes = 0
  let over = false

  const end = (error?: string) => {
    if (over) return
    over = true
    if (error !== undefined) answer.error = error
    if (kept !== undefined) answer.responseBody = keptText(kept, bytes)
    ended(answer)
  }
  const stop = (error?: string) => {
    end(error)
    controller?.abort(stopped)
  }
  return {
    stop,
    onRequestStart: (given) => {
      controller = given
      // It ended while it waited for its connection.
      if (over) given.abort(stopped)
    },
    onResponseStart: (_controller, status, headers) => {
      // RFC 9110 section 15.2: the final answer is still to come.
      if (status < 200) return
      answer.status = status
      const retryAfter = headers['retry-after']
      if (typeof retryAfter === 'string') answer.retryAfter = retryAfter
    },
    onResponseData: (_controller, chunk) => {
      kept ??= Buffer.allocUnsafeSlow(answerKeptBytesMax)
      if (bytes < answerKeptBytesMax) chunk.copy(kept, bytes)
      bytes += chunk.length
      // What exceeds the limit is not waited for: the connection is closed.
      if (bytes >= answerBytesMax) stop()
    },
    onResponseEnd: () => end(),
    onResponseError: (_controller, error) => end(publicText(error)),
  }
}

/** As text that PostgreSQL can hold: UTF-8 with its errors replaced, no NUL, no half character at the cut. */
function keptText(kept: Buffer, bytes: number): string {
  const stream = bytes > answerKeptBytesMax
  const text = new TextDecoder().decode(kept.subarray(0, Math.min(bytes, answerKeptBytesMax)), { stream })
  return text.replaceAll('\u0000', '\uFFFD')
}

const reasons: Readonly<Record<string, string>> = {
  ENOTFOUND: 'the name of the endpoint does not resolve',
  ENODATA: 'the name of the endpoint does not resolve',
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
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'the certificate of the endpoint is not trusted',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate of the endpoint is for another name',
  PROXY_FAILED: 'the egress proxy of this service did not connect to the endpoint',
}

/** For the partner's eyes: from a closed list, since the text of an error can name addresses. */
function publicText(error: unknown): string {
  if (error instanceof AddressRefused) return error.message
  const { name, code } = (error ?? {}) as { readonly name?: unknown; readonly code?: unknown }
  if (name === 'HTTPParserError') return 'the answer is not valid HTTP'
  if (typeof code !== 'string') return 'the exchange failed'
  return reasons[code] ?? `the exchange failed (${code})`
}
