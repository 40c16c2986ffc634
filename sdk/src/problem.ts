/** The errors of a call. Each has the id of its request. */
import type { Problem } from './generated/types.ts'

export type FieldError = NonNullable<Problem['errors']>[number]

/** A code of the problem catalogue, or `http_<status>` if a proxy responded without a code. */
export type ProblemCode = Problem['code'] | `http_${number}`

export type ProblemResponse = {
  readonly status: number
  readonly headers: Headers
  readonly body: Partial<Problem>
  /** The id that the request was sent with. */
  readonly requestId: string
}

/** RFC 9110 section 10.2.3: `Retry-After` is a number of seconds or a date. */
function readRetryAfter(headers: Headers): number | undefined {
  const value = headers.get('retry-after')
  if (value === null) return undefined
  if (/^\d+$/.test(value)) return Number(value)
  const at = Date.parse(value)
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - Date.now()) / 1000))
}

/** An unsuccessful response. Its subclass depends on the status. Branch on `code`; quote `requestId` to support. */
export class ApiProblem extends Error {
  override readonly name: string = 'ApiProblem'
  readonly code: ProblemCode
  readonly status: number
  readonly detail: string
  /** The invalid fields, each with a JSON pointer. */
  readonly errors: readonly FieldError[]
  readonly requestId: string
  /** The `Retry-After` header of the response, in seconds. */
  readonly retryAfterSeconds: number | undefined
  readonly headers: Headers

  constructor({ status, headers, body, requestId }: ProblemResponse) {
    const code = body.code ?? `http_${status}`
    const detail = body.detail ?? body.title ?? 'The response has no problem body.'
    super(`${status} ${code}: ${detail}`)
    this.code = code
    this.status = status
    this.detail = detail
    this.errors = body.errors ?? []
    this.requestId = body.requestId ?? headers.get('x-request-id') ?? requestId
    this.retryAfterSeconds = readRetryAfter(headers)
    this.headers = headers
  }
}

/** 400: the request is malformed or has invalid fields. `errors` has a JSON pointer to each field. */
export class ValidationError extends ApiProblem {
  override readonly name = 'ValidationError'
}

/** 401: the credentials, the signature, the timestamp or the nonce were refused. */
export class AuthenticationError extends ApiProblem {
  override readonly name = 'AuthenticationError'
}

/** 403: the service account lacks a permission. */
export class PermissionError extends ApiProblem {
  override readonly name = 'PermissionError'
}

/** 404: the resource does not exist, or belongs to another partner. */
export class NotFoundError extends ApiProblem {
  override readonly name = 'NotFoundError'
}

/** 409: the state of the resource does not permit the request. */
export class ConflictError extends ApiProblem {
  override readonly name = 'ConflictError'
}

/** 422: a business rule refused a valid request, for example `insufficient_funds`. */
export class UnprocessableError extends ApiProblem {
  override readonly name = 'UnprocessableError'
}

/** 429: too many requests. `retryAfterSeconds` states when to send the request again. */
export class RateLimitError extends ApiProblem {
  override readonly name = 'RateLimitError'
}

/** 5xx: the service failed. Retry with the same idempotency key. */
export class ServerError extends ApiProblem {
  override readonly name = 'ServerError'
}

const classes: ReadonlyMap<number, typeof ApiProblem> = new Map<number, typeof ApiProblem>([
  [400, ValidationError],
  [401, AuthenticationError],
  [403, PermissionError],
  [404, NotFoundError],
  [409, ConflictError],
  [422, UnprocessableError],
  [429, RateLimitError],
])

/** `fetch` only reports "fetch failed". The reason is in the cause of its error. */
function reasonOf(thrown: unknown): string {
  const innermost = thrown instanceof Error && thrown.cause instanceof Error ? thrown.cause : thrown
  if (!(innermost instanceof Error)) return ''
  const { code } = innermost as { readonly code?: unknown }
  // If several addresses were tried, the error that contains their errors has no message.
  const reason = innermost.message || (typeof code === 'string' ? code : '')
  return reason === '' ? '' : `: ${reason}`
}

/**
 * No usable response arrived. The operation may have taken effect: retry it with the same idempotency key, or look it up
 * before you send another request.
 */
export class ApiConnectionError extends Error {
  override readonly name: string = 'ApiConnectionError'
  readonly attempts: number
  readonly requestId: string

  constructor(attempts: number, requestId: string, cause: unknown, what: string, reason = reasonOf(cause)) {
    super(`${what} after ${attempts} attempt${attempts === 1 ? '' : 's'}${reason}`, { cause })
    this.attempts = attempts
    this.requestId = requestId
  }
}

/** The last attempt had no complete response within `timeoutMs`. */
export class ApiTimeoutError extends ApiConnectionError {
  override readonly name = 'ApiTimeoutError'
  readonly timeoutMs: number

  constructor(attempts: number, requestId: string, cause: unknown, url: string, timeoutMs: number) {
    super(attempts, requestId, cause, `no complete response from ${url} within ${timeoutMs} ms`, '')
    this.timeoutMs = timeoutMs
  }
}

/** Ignores a body that is not JSON, such as the HTML page of a proxy. */
export async function readProblem(response: Response, requestId: string): Promise<ApiProblem> {
  const text = await response.text()
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    body = undefined
  }
  const { status, headers } = response
  const ProblemOfStatus = classes.get(status) ?? (status >= 500 ? ServerError : ApiProblem)
  const isObject = typeof body === 'object' && body !== null
  return new ProblemOfStatus({ status, headers, body: isObject ? (body as Partial<Problem>) : {}, requestId })
}
