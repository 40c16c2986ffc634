/** Sends a call: signs and times each attempt, retries, and calls the log hooks. */
import { randomUUID } from 'node:crypto'
import {
  type ApiResponse,
  type CallInput,
  type CallOptions,
  type Route,
  buildBody,
  buildPath,
  buildQuery,
  isIdempotent,
} from './call.ts'
import type { Clock } from './clock.ts'
import { type OperationId, operations } from './generated/operations.ts'
import { type Hooks, type RetryLog, callHook } from './hooks.ts'
import { parseExactly, stringifyExactly } from './json.ts'
import { ApiConnectionError, ApiProblem, ApiTimeoutError, readProblem } from './problem.ts'
import { type Failure, withRetries } from './retry.ts'
import type { Signer } from './sign.ts'

export type Transport = {
  readonly baseUrl: URL
  readonly fetch: typeof fetch
  readonly sign: Signer
  readonly clock: Clock
  readonly hooks: Hooks
  readonly retries: number
  readonly backoffMs: number
  readonly timeoutMs: number
}

/** State shared by all attempts of a call. */
type Call = {
  readonly operation: OperationId
  readonly route: Route
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  readonly requestId: string
  readonly timeoutMs: number
  readonly signal: AbortSignal | undefined
}

const noBody = new Uint8Array(0)
const successStatuses: ReadonlySet<number> = new Set([200, 204])
/** Request ids that the service accepts. It replaces any other id with one of its own. */
const requestIdPattern = /^[A-Za-z0-9._-]{1,64}$/

/** Throws a TypeError if the call is invalid; then nothing is sent. */
function prepare(transport: Transport, operation: OperationId, input: CallInput, options: CallOptions) {
  const route: Route = operations[operation]
  const { requestId = randomUUID(), timeoutMs = transport.timeoutMs, signal } = options
  if (!requestIdPattern.test(requestId)) throw new TypeError('requestId has invalid characters or a wrong length')
  const url = new URL(
    transport.baseUrl.pathname.replace(/\/+$/, '') + buildPath(route, input.params),
    transport.baseUrl,
  )
  url.search = buildQuery(input.query)
  const { idempotencyKey } = options
  const value = buildBody(route, input.body, idempotencyKey)
  const body = value === undefined ? noBody : Buffer.from(stringifyExactly(value, route.requestAmounts))
  const retries = isIdempotent(route, value, idempotencyKey) ? (options.retries ?? transport.retries) : 0
  const headers: Record<string, string> =
    route.idempotencyKey === 'header' && idempotencyKey !== undefined ? { 'idempotency-key': idempotencyKey } : {}
  const call: Call = { operation, route, url, headers, body, requestId, timeoutMs, signal }
  return { call, retries }
}

/** Sends one signed request. Each has its own nonce and timestamp, because the service accepts a nonce once. */
async function exchange({ fetch: send, sign, clock }: Transport, call: Call, abort: AbortSignal) {
  const { route, url, headers, body, requestId } = call
  const timestamp = String(Math.floor(clock.nowMs() / 1000))
  const { pathname: path, search } = url
  const response = await send(url, {
    method: route.method,
    headers: {
      accept: route.content === true ? '*/*' : 'application/json',
      ...(body.length > 0 && { 'content-type': 'application/json' }),
      'x-request-id': requestId,
      ...headers,
      ...sign({ method: route.method, path, query: search.slice(1), body, timestamp }),
    },
    ...(body.length > 0 && { body }),
    // A signed request is never redirected to another host or path.
    redirect: 'manual',
    signal: abort,
  })
  if (!successStatuses.has(response.status)) return readProblem(response, requestId)
  // The timeout of the attempt ends here: a file may take as long as its reader needs.
  if (route.content === true) return { status: response.status, headers: response.headers, body: response.body }
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: parseBody(text, route) }
}

const parseBody = (text: string, route: Route) => (text === '' ? undefined : parseExactly(text, route.responseAmounts))

/**
 * Creates a signal for one attempt. AbortSignal.any would keep a listener on a signal that the caller uses for many
 * calls, and Node 20 may collect it before the timeout.
 */
function limitAttempt(timeoutMs: number, signal: AbortSignal | undefined) {
  const controller = new AbortController()
  const stop = () => controller.abort(signal?.reason)
  const timer = setTimeout(() => controller.abort(new DOMException('timeout', 'TimeoutError')), timeoutMs)
  if (signal?.aborted === true) stop()
  signal?.addEventListener('abort', stop, { once: true })
  const end = () => {
    clearTimeout(timer)
    signal?.removeEventListener('abort', stop)
  }
  return { signal: controller.signal, end }
}

/** Throws ApiProblem, ApiTimeoutError, ApiConnectionError, or the reason of the signal of the caller. */
async function attempt(transport: Transport, call: Call, number: number): Promise<ApiResponse<unknown>> {
  const { timeoutMs, signal, requestId } = call
  const log = logOf(call, number)
  const limit = limitAttempt(timeoutMs, signal)
  const startedAt = performance.now()
  callHook(transport.hooks.onRequest, log)
  let result: ApiProblem | ApiResponse<unknown>
  try {
    result = await exchange(transport, call, limit.signal)
  } catch (error) {
    if (signal?.aborted === true) throw error
    // Omits the query, which may contain personal data, and a password in the base URL.
    const url = call.url.origin + call.url.pathname
    if (limit.signal.aborted) throw new ApiTimeoutError(number, requestId, error, url, timeoutMs)
    throw new ApiConnectionError(number, requestId, error, `no usable response from ${url}`)
  } finally {
    limit.end()
  }
  const code = result instanceof ApiProblem ? { code: result.code } : {}
  callHook(transport.hooks.onResponse, {
    ...log,
    status: result.status,
    durationMs: performance.now() - startedAt,
    ...code,
  })
  if (result instanceof ApiProblem) throw result
  return result
}

const logOf = ({ operation, route, url, requestId }: Call, number: number) => ({
  operation,
  method: route.method,
  path: url.pathname,
  requestId,
  attempt: number,
})

function reasonOf(error: Failure): RetryLog['reason'] {
  if (error instanceof ApiProblem) return error.code
  return error instanceof ApiTimeoutError ? 'timeout' : 'connection_failed'
}

/** Calls an operation. Sends it once more if the service refused the timestamp and its `Date` corrects the clock. */
export async function sendCall(
  transport: Transport,
  operation: OperationId,
  input: CallInput = {},
  options: CallOptions = {},
): Promise<ApiResponse<unknown>> {
  const { clock, hooks, backoffMs } = transport
  const { call, retries } = prepare(transport, operation, input, options)
  let sent = 0
  let clockCorrected = false
  const onRetry = (error: Failure, delayMs: number) =>
    callHook(hooks.onRetry, { ...logOf(call, sent), reason: reasonOf(error), delayMs })
  const sendOnce = async (): Promise<ApiResponse<unknown>> => {
    const usedOffsetMs = clock.offsetMs()
    sent += 1
    try {
      return await attempt(transport, call, sent)
    } catch (error) {
      // A request with a refused timestamp had no effect, so it is safe to repeat even without an idempotency key.
      const isClockError = error instanceof ApiProblem && error.code === 'timestamp_out_of_window'
      if (!isClockError || clockCorrected || !clock.correct(error.headers, usedOffsetMs)) throw error
      clockCorrected = true
      onRetry(error, 0)
      return sendOnce()
    }
  }
  return withRetries(sendOnce, { retries, backoffMs, signal: options.signal, onRetry })
}
