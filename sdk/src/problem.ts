/** The errors of a call: a problem response, or no usable response. */
import type { Problem } from './generated/types.ts'

export type FieldError = NonNullable<Problem['errors']>[number]

/** A code of the problem catalogue, or `http_<status>` if a proxy responded without a code. */
export type ProblemCode = Problem['code'] | `http_${number}`

/** An unsuccessful response. Branch on `code`; quote `requestId` when you contact support. */
export class ApiProblem extends Error {
  override readonly name = 'ApiProblem'
  readonly code: ProblemCode
  readonly status: number
  readonly detail: string
  readonly errors: readonly FieldError[]
  readonly requestId: string | undefined
  readonly headers: Headers

  constructor(status: number, headers: Headers, body: Partial<Problem>) {
    const code = body.code ?? `http_${status}`
    const detail = body.detail ?? body.title ?? 'The response has no problem body.'
    super(`${status} ${code}: ${detail}`)
    this.code = code
    this.status = status
    this.detail = detail
    this.errors = body.errors ?? []
    this.requestId = body.requestId ?? headers.get('x-request-id') ?? undefined
    this.headers = headers
  }
}

/**
 * No usable response arrived. The operation may have taken effect: retry it with the same idempotency key, or look it up
 * before you send another request.
 */
export class ApiConnectionError extends Error {
  override readonly name = 'ApiConnectionError'
  readonly attempts: number

  constructor(attempts: number, cause: unknown) {
    super(`no usable response after ${attempts} attempt${attempts === 1 ? '' : 's'}`, { cause })
    this.attempts = attempts
  }
}

/** Ignores a body that is not JSON, such as the HTML page of a proxy. */
export async function readProblem(response: Response): Promise<ApiProblem> {
  const text = await response.text()
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    body = undefined
  }
  const isObject = typeof body === 'object' && body !== null
  return new ApiProblem(response.status, response.headers, isObject ? (body as Partial<Problem>) : {})
}
