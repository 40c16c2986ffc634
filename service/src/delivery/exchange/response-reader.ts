/** Reads the response of an endpoint within limits, and names each failure for the partner. */
import type { Dispatcher } from 'undici'
import { AddressRefused } from './guard.ts'

/** The reader closes the connection after this many bytes of the body. */
const responseBytesMax = 64 * 1024
/** The attempt log keeps the first bytes of the body, up to this many. */
const keptBytesMax = 8 * 1024

export type EndpointResponse = {
  status?: number
  /** Reason why the exchange failed. */
  error?: string
  responseBody?: string
  /** The Retry-After header as sent. */
  retryAfter?: string
}

export type ResponseReader = Dispatcher.DispatchHandler & {
  /** Ends the exchange at once with the bytes read so far. Later calls have no effect. */
  readonly stop: (error?: string) => void
}

/** Created once, because its stack would cost more than the rest of `stop`, and no code reads it. */
const stopped = new Error('the exchange was ended')

/**
 * Creates a handler for undici's `dispatch`, which costs half as much as `request` with its body stream. Calls `onEnd` once.
 * Copies the bytes that it keeps, because a chunk may be a small view of a large buffer.
 */
export function createResponseReader(onEnd: (response: EndpointResponse) => void): ResponseReader {
  const response: EndpointResponse = {}
  let controller: Dispatcher.DispatchController | undefined
  let kept: Buffer | undefined
  let bytes = 0
  let ended = false

  const end = (error?: string) => {
    if (ended) return
    ended = true
    if (error !== undefined) response.error = error
    if (kept !== undefined) response.responseBody = keptText(kept, bytes)
    onEnd(response)
  }
  const stop = (error?: string) => {
    end(error)
    controller?.abort(stopped)
  }
  return {
    stop,
    onRequestStart: (started) => {
      controller = started
      // The exchange was stopped while the request waited for a connection.
      if (ended) started.abort(stopped)
    },
    onResponseStart: (_controller, status, headers) => {
      // RFC 9110 section 15.2: an interim response; the final one follows.
      if (status < 200) return
      response.status = status
      const retryAfter = headers['retry-after']
      if (typeof retryAfter === 'string') response.retryAfter = retryAfter
    },
    onResponseData: (_controller, chunk) => {
      kept ??= Buffer.allocUnsafeSlow(keptBytesMax)
      if (bytes < keptBytesMax) chunk.copy(kept, bytes)
      bytes += chunk.length
      if (bytes >= responseBytesMax) stop()
    },
    onResponseEnd: () => end(),
    onResponseError: (_controller, error) => end(publicText(error)),
  }
}

/** Text that PostgreSQL can store: invalid UTF-8 and NUL replaced, no partial character at the cut. */
function keptText(kept: Buffer, bytes: number): string {
  const stream = bytes > keptBytesMax
  const text = new TextDecoder().decode(kept.subarray(0, Math.min(bytes, keptBytesMax)), { stream })
  return text.replaceAll('\u0000', '\uFFFD')
}

const reasons: Readonly<Record<string, string>> = {
  ENOTFOUND: 'the host name of the endpoint does not resolve',
  ENODATA: 'the host name of the endpoint does not resolve',
  EAI_AGAIN: 'the host name of the endpoint does not resolve at the moment',
  ECONNREFUSED: 'the endpoint refused the connection',
  ECONNRESET: 'the endpoint closed the connection before its response was complete',
  UND_ERR_SOCKET: 'the endpoint closed the connection before its response was complete',
  UND_ERR_CONNECT_TIMEOUT: 'the endpoint did not accept the connection in time',
  ETIMEDOUT: 'the endpoint did not accept the connection in time',
  EHOSTUNREACH: 'the endpoint cannot be reached',
  ENETUNREACH: 'the endpoint cannot be reached',
  UND_ERR_HEADERS_OVERFLOW: 'the response headers are too large',
  CERT_HAS_EXPIRED: 'the certificate of the endpoint has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate of the endpoint is not trusted',
  SELF_SIGNED_CERT_IN_CHAIN: 'the certificate of the endpoint is not trusted',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the certificate of the endpoint is not trusted',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'the certificate of the endpoint is not trusted',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate of the endpoint is for another name',
  PROXY_FAILED: 'the egress proxy of this service could not connect to the endpoint',
}

/** Partners see this text. It comes from a closed list, because the text of an error can contain addresses. */
function publicText(error: unknown): string {
  if (error instanceof AddressRefused) return error.message
  const { name, code } = (error ?? {}) as { readonly name?: unknown; readonly code?: unknown }
  if (name === 'HTTPParserError') return 'the response is not valid HTTP'
  if (typeof code !== 'string') return 'the exchange failed'
  return reasons[code] ?? `the exchange failed (${code})`
}
