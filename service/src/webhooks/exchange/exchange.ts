/** One HTTP exchange: sends a signed POST and reads the response within limits of time and size. */
import { createRequire } from 'node:module'
import type * as undici from 'undici'
import { type Clock, minuteMs, secondMs } from '../../kernel/index.ts'
import type { AttemptResult } from '../queue/schedule.ts'
import { AddressRefused, createGuard, type Resolve } from './guard.ts'
import type { Proxy } from './proxy.ts'
import { deliverySignature, type SigningKey } from '@partner-payments/wire'

/** Time limit of an exchange, from the start of the name lookup to the last byte of the response. */
export const exchangeTimeoutMsDefault = 15 * secondMs
const connectTimeoutMsMax = 5 * secondMs
/** Far above the size of any event. Receivers may rely on this limit. */
const bodyBytesMax = 64 * 1024

export type ExchangeOptions = {
  readonly clock: Clock
  readonly allowLoopback: boolean
  readonly resolve: Resolve
  readonly timeoutMs: number
  /** All connections go through the proxy, except those to loopback. */
  readonly proxy?: Proxy | undefined
}

/**
 * Called once, after `send` has returned. `undefined`: the exchange was abandoned, and the endpoint may or may not have
 * received the request.
 */
export type OnResult = (result: AttemptResult | undefined) => void

export type Exchange = {
  readonly send: (request: DeliveryRequest, onResult: OnResult) => void
  /** Ends all requests in progress at once, and every later request as well. */
  readonly abandon: () => void
  readonly close: () => Promise<void>
}

export type LocalExchange = Omit<Exchange, 'send'> & {
  readonly send: (request: LocalRequest, onResult: OnResult) => void
}

const require = createRequire(import.meta.url)

/**
 * Creates an HTTP agent. The time limit covers the whole exchange, so the limits of its parts are off. README.md, The agent, has the
 * reasons. The first agent loads the package, so that only processes that send webhooks load it.
 */
function createAgent(connect: undici.buildConnector.connector) {
  const { Agent } = require('undici') as typeof undici
  return new Agent({
    connect,
    allowH2: false,
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: 4 * secondMs,
    keepAliveMaxTimeout: minuteMs,
  })
}

export function createExchange({ clock, allowLoopback, resolve, timeoutMs, proxy }: ExchangeOptions): LocalExchange {
  const connectTimeoutMs = Math.min(connectTimeoutMsMax, timeoutMs)
  const guard = createGuard({ allowLoopback, resolve, connectTimeoutMs, proxy })
  const agent = createAgent(guard.connect)
  const timeLimit = createTimeLimit(timeoutMs)
  const destinationOf = createDestinations()
  let abandoned = false

  const send: LocalExchange['send'] = (request, onResult) => {
    if (abandoned) return queueMicrotask(() => onResult(undefined))
    const { origin, path } = destinationOf(request.target)
    const startedAt = clock.now()
    const startMs = performance.now()
    const end = (response: EndpointResponse) => {
      timeLimit.end(reader)
      if (abandoned) return onResult(undefined)
      const durationMs = Math.round(performance.now() - startMs)
      const address = response.status === undefined ? undefined : guard.addressOf(origin)
      onResult({ startedAt, durationMs, ...response, ...(address === undefined ? {} : { address }) })
    }
    const reader = createResponseReader(end)
    timeLimit.start(reader, startMs)
    const body = Buffer.from(envelope(request.eventId, request.data))
    if (body.length > bodyBytesMax)
      return queueMicrotask(() => reader.stop(`the event has more than ${bodyBytesMax} bytes`))
    const headers = requestHeaders(request, body, startedAt)
    agent.dispatch({ origin, path, method: 'POST', headers, body }, reader)
  }

  return {
    send,
    abandon: () => {
      abandoned = true
      timeLimit.stopAll()
    },
    close: () => agent.destroy(),
  }
}

// Stops exchanges that exceed the time limit.

type TimeLimit = {
  readonly start: (reader: ResponseReader, startMs: number) => void
  readonly end: (reader: ResponseReader) => void
  readonly stopAll: () => void
}

/**
 * Creates the time limit. One timer serves all exchanges: they have the same limit, so the oldest one reaches it first.
 * The timer of `AbortSignal.timeout` would not keep the process alive until the attempts end.
 */
function createTimeLimit(timeoutMs: number): TimeLimit {
  /** The start of each exchange, oldest first. */
  const underWay = new Map<ResponseReader, number>()
  let timer: NodeJS.Timeout | undefined

  const stopLate = () => {
    timer = undefined
    for (const [reader, startMs] of underWay) {
      const remainingMs = startMs + timeoutMs - performance.now()
      if (remainingMs > 0) {
        clearTimeout(timer)
        timer = setTimeout(stopLate, Math.ceil(remainingMs))
        return
      }
      reader.stop(`no complete response within ${timeoutMs} ms`)
    }
  }

  return {
    start: (reader, startMs) => {
      underWay.set(reader, startMs)
      timer ??= setTimeout(stopLate, timeoutMs)
    },
    end: (reader) => {
      underWay.delete(reader)
      if (underWay.size > 0) return
      clearTimeout(timer)
      timer = undefined
    },
    stopAll: () => {
      for (const reader of underWay.keys()) reader.stop()
    },
  }
}

// Reads the response of an endpoint within limits, and names each failure for the partner.

/** The reader closes the connection after this many bytes of the body. */
const responseBytesMax = 64 * 1024
/** The attempt log keeps the first bytes of the body, up to this many. */
const keptBytesMax = 8 * 1024

type EndpointResponse = {
  status?: number
  /** Reason why the exchange failed. */
  error?: string
  responseBody?: string
  /** The Retry-After header as sent. */
  retryAfter?: string
}

type ResponseReader = undici.Dispatcher.DispatchHandler & {
  /** Ends the exchange at once with the bytes read so far. Later calls have no effect. */
  readonly stop: (error?: string) => void
}

/** Created once, because its stack would cost more than the rest of `stop`, and no code reads it. */
const stopped = new Error('the exchange was ended')

/**
 * Creates a handler for undici's `dispatch`, which costs half as much as `request` with its body stream. Calls `onEnd` once.
 * Copies the bytes that it keeps, because a chunk may be a small view of a large buffer.
 */
function createResponseReader(onEnd: (response: EndpointResponse) => void): ResponseReader {
  const response: EndpointResponse = {}
  let controller: undici.Dispatcher.DispatchController | undefined
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

/** Converts the bytes to text that PostgreSQL can store: replaces invalid UTF-8 and NUL, and drops a partial character at the end. */
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

// Builds the signed HTTP request of a delivery.

const userAgent = 'PartnerPayments-Webhooks/2'

/** One delivery to send. An unchanged target stays the same object, so that its URL is parsed once. */
export type DeliveryRequest = {
  readonly eventId: string
  /** The exact JSON text of `data`. */
  readonly data: string
  readonly target: DeliveryTarget
}
export type DeliveryTarget = { readonly url: string; readonly keys: readonly SigningKey[] }

/** `headers` are added to those that every delivery has. */
type LocalRequest = DeliveryRequest & { readonly headers?: Readonly<Record<string, string>> }

/**
 * Builds the body, which has exactly two fields (interface document, Events). `data` is inserted as text, because its
 * bytes must not change.
 */
const envelope = (eventId: string, data: string) => `{"eventId":"${eventId}","data":${data}}`

/**
 * Builds the header names and values, alternating. Standard Webhooks: the event id, the time of this attempt in seconds, and one
 * signature per key, separated by spaces.
 */
function requestHeaders({ eventId, target, headers }: LocalRequest, body: Buffer, startedAt: Date): string[] {
  const timestamp = Math.floor(startedAt.getTime() / secondMs)
  const signatures = target.keys.map((key) => deliverySignature(key, eventId, timestamp, body)).join(' ')
  const flat = [
    'content-type',
    'application/json',
    'user-agent',
    userAgent,
    'webhook-id',
    eventId,
    'webhook-timestamp',
    String(timestamp),
    'webhook-signature',
    signatures,
  ]
  if (headers !== undefined) for (const [name, value] of Object.entries(headers)) flat.push(name, value)
  return flat
}

type Destination = { readonly origin: string; readonly path: string }

/** Parses the URL of each target once. */
function createDestinations(): (target: DeliveryTarget) => Destination {
  const destinations = new WeakMap<DeliveryTarget, Destination>()
  return (target) => {
    const known = destinations.get(target)
    if (known !== undefined) return known
    const { origin, pathname, search } = new URL(target.url)
    const destination = { origin, path: `${pathname}${search}` }
    destinations.set(target, destination)
    return destination
  }
}
