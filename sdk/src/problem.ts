/** How a call fails: refused by the service, or not answered at all. */
import type { Problem } from './generated/types.ts'

export type FieldError = NonNullable<Problem['errors']>[number]

/** A code of the catalogue, or `http_<status>` where something before the service answered without one. */
export type ProblemCode = Problem['code'] | `http_${number}`

/** An answer other than success. Act on `code`; quote `requestId` when you ask about it. */
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
    const detail = body.detail ?? body.title ?? 'The answer is not a problem body.'
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
 * No usable answer came. Whether the operation was carried out is unknown: repeat it under the same idempotency key, or look
 * for it, before you send another.
 */
export class ApiUnreachable extends Error {
  override readonly name = 'ApiUnreachable'
  readonly attempts: number

  constructor(attempts: number, cause: unknown) {
    super(`no usable answer after ${attempts} attempt${attempts === 1 ? '' : 's'}`, { cause })
    this.attempts = attempts
  }
}

/** A body that is not a problem, such as a proxy's page, says nothing beyond its status. */
export async function problemOf(response: Response): Promise<ApiProblem> {
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
