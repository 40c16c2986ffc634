/** Converts failures to problem bodies (RFC 9457). Internal details go to the log only. */
import { type FieldError, type ProblemCode, problemPath, problems } from '@partner-payments/wire'
import { Refusal, Unreachable } from '../api/index.ts'
import { type Log } from '../kernel/index.ts'

export type ProblemAnswer = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

type ProblemContext = { readonly requestId: string; readonly instance: string; readonly log: Log }

function problem(
  code: ProblemCode,
  detail: string,
  { requestId, instance }: ProblemContext,
  extras: { readonly errors?: readonly FieldError[]; readonly headers?: Readonly<Record<string, string>> } = {},
): ProblemAnswer {
  const { status, title } = problems[code]
  const { errors = [], headers = {} } = extras
  return {
    status,
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
    }),
  }
}

export function toProblem(error: unknown, context: ProblemContext): ProblemAnswer {
  const { log } = context
  if (error instanceof Refusal) {
    log.debug({ code: error.code, pointers: error.errors.map(({ pointer }) => pointer) }, 'refused')
    return problem(error.code, error.detail, context, error)
  }
  if (error instanceof Unreachable) {
    log.error({ err: error }, 'a dependency does not answer')
    return problem(error.code, problems[error.code].detail, context)
  }
  log.error({ err: error }, 'request failed')
  return problem('internal_error', problems.internal_error.detail, context)
}
