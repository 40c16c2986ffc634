/** Converts failures to problem bodies (RFC 9457). Internal details go to the log only. */
import { type FieldError, type ProblemCode, problemPath, problems } from '@partner-payments/wire'
import { Refusal, type SignatureHint, Unreachable } from '../../kernel/api/index.ts'
import type { Log } from '../../kernel/index.ts'
import { isConflict, isDataException } from '../../postgres/index.ts'
import { retryHeaders } from './admission.ts'

export type ProblemAnswer = {
  readonly status: number
  readonly code: ProblemCode
  /** Pointer of the first invalid field. */
  readonly pointer?: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

type ProblemContext = { readonly requestId: string; readonly instance: string; readonly log: Log }

function problem(
  code: ProblemCode,
  detail: string,
  { requestId, instance }: ProblemContext,
  extras: {
    readonly errors?: readonly FieldError[]
    readonly headers?: Readonly<Record<string, string>>
    readonly hint?: SignatureHint | undefined
  } = {},
): ProblemAnswer {
  const { status, title } = problems[code]
  const { errors = [], headers = {}, hint } = extras
  return {
    status,
    code,
    ...(errors[0] === undefined ? {} : { pointer: errors[0].pointer }),
    headers: {
      'content-type': 'application/problem+json',
      // RFC 9110 section 11.6.1: a 401 names the authentication scheme.
      ...(status === 401 ? { 'www-authenticate': 'Signature' } : {}),
      ...headers,
    },
    body: JSON.stringify({
      type: problemPath(code),
      title,
      status,
      detail,
      instance,
      code,
      requestId,
      ...(errors.length > 0 ? { errors } : {}),
      ...hint,
    }),
  }
}

const unrepresentable =
  'The request contains a value that cannot be stored. Check the range of its times, numbers and identifiers.'

const conflicting =
  'Other requests change the same data at the same time. Retry after the time in `Retry-After` with the same idempotency key.'

export function toProblem(error: unknown, context: ProblemContext): ProblemAnswer {
  const { log } = context
  if (error instanceof Refusal) {
    log.debug({ code: error.code, pointers: error.errors.map(({ pointer }) => pointer) }, 'refused')
    return problem(error.code, error.detail, context, error)
  }
  if (error instanceof Unreachable) {
    // `postgres/writes.ts` logs the outage once.
    if (error.code === 'storage_unavailable') log.debug({ err: error }, 'a write was refused')
    else log.error({ err: error }, 'a dependency does not answer')
    const headers = error.code === 'storage_unavailable' ? retryHeaders : {}
    return problem(error.code, problems[error.code].detail, context, { headers })
  }
  if (isDataException(error)) {
    log.error({ err: error }, 'the database cannot represent a value that the schema accepted')
    return problem('validation_failed', unrepresentable, context)
  }
  if (isConflict(error)) {
    log.error({ err: error }, 'a request failed because of a concurrent transaction')
    return problem('overloaded', conflicting, context, { headers: retryHeaders })
  }
  log.error({ err: error }, 'request failed')
  return problem('internal_error', problems.internal_error.detail, context)
}

/**
 * Creates the problem of an overloaded process without an Error, because these responses must cost as little as
 * possible.
 */
export function overloadedProblem(requestId: string, url: string): ProblemAnswer {
  const { status, title, detail } = problems.overloaded
  const [instance] = url.split('?', 1)
  const type = problemPath('overloaded')
  const body = JSON.stringify({ type, title, status, detail, instance, code: 'overloaded', requestId })
  return { status, code: 'overloaded', headers: { 'content-type': 'application/problem+json', ...retryHeaders }, body }
}

const lateCodes = new Set([
  'FST_REPLY_FROM_GATEWAY_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_CONNECT_TIMEOUT',
  'ETIMEDOUT',
])

/**
 * Converts a failed call to Unreachable: 504 if the process did not answer in time, else 502. `upstream` names it, for example `the api
 * process`.
 */
export function toUnreachable(error: unknown, upstream: string): Unreachable {
  if (error instanceof Unreachable) return error
  const { code, statusCode, cause } = error as { code?: string; statusCode?: number; cause?: { code?: string } }
  const late = statusCode === 504 || lateCodes.has(code ?? '') || lateCodes.has(cause?.code ?? '')
  return new Unreachable(
    late ? 'downstream_timeout' : 'downstream_unreachable',
    late ? `${upstream} does not answer in time` : `${upstream} cannot be reached`,
    error,
  )
}
