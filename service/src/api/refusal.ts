/**
 * Three kinds of failure, no more: a Refusal is expected (the caller is told why), an AssertionFailure is a bug, and
 * Unreachable is somebody else not answering. Public text is `detail`; internal text is `message` and goes to the log.
 */
import { type FieldError, type ProblemCode, problems } from '@partner-payments/wire'

export type RefusalExtras = {
  readonly errors?: readonly FieldError[]
  readonly headers?: Readonly<Record<string, string>>
}

export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly code: ProblemCode
  readonly detail: string
  readonly errors: readonly FieldError[]
  readonly headers: Readonly<Record<string, string>>

  constructor(code: ProblemCode, detail: string = problems[code].detail, extras: RefusalExtras = {}) {
    super(`${code}: ${detail}`)
    this.code = code
    this.detail = detail
    this.errors = extras.errors ?? []
    this.headers = extras.headers ?? {}
  }
}

/** A refusal of one field of the body. `code` defaults to `validation_failed`. */
export function refuseField(error: FieldError, code: ProblemCode = 'validation_failed'): Refusal {
  return new Refusal(code, `${error.pointer || 'The body'}: ${error.message}`, { errors: [error] })
}

/** Unknown and another partner's are the same answer. */
export function notFound(what: string, pointer?: string): Refusal {
  const detail = `No such ${what}.`
  return pointer === undefined
    ? new Refusal('not_found', detail)
    : new Refusal('not_found', detail, { errors: [{ pointer, code: 'invalid_value', message: `no such ${what}` }] })
}

/** A database, bank or service that cannot be reached (502) or does not answer in time (504). */
export class Unreachable extends Error {
  override readonly name = 'Unreachable'
  readonly code: 'downstream_unreachable' | 'downstream_timeout'

  constructor(code: 'downstream_unreachable' | 'downstream_timeout', message: string, cause?: unknown) {
    super(message, { cause })
    this.code = code
  }
}
