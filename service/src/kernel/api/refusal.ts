/**
 * Three kinds of failure: a Refusal is an expected error of the caller, an AssertionFailure is a bug, and Unreachable is a
 * dependency that does not answer. `detail` is public; `message` goes to the log only.
 */
import { type FieldError, type ProblemCode, problems, type SignatureMistake } from '@partner-payments/wire'

/** Details that the sandbox adds to a refused signature. */
export type SignatureHint = { readonly canonicalString: string; readonly likelyMistake: SignatureMistake }

type RefusalExtras = {
  readonly errors?: readonly FieldError[]
  readonly hint?: SignatureHint
  readonly headers?: Readonly<Record<string, string>>
}

export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly code: ProblemCode
  readonly detail: string
  readonly errors: readonly FieldError[]
  readonly headers: Readonly<Record<string, string>>
  readonly hint: SignatureHint | undefined

  constructor(code: ProblemCode, detail: string = problems[code].detail, extras: RefusalExtras = {}) {
    super(`${code}: ${detail}`)
    this.code = code
    this.detail = detail
    this.errors = extras.errors ?? []
    this.headers = extras.headers ?? {}
    this.hint = extras.hint
  }
}

/** Creates a refusal of one field of the request. `code` defaults to `validation_failed`. */
export function refuseField(error: FieldError, code: ProblemCode = 'validation_failed'): Refusal {
  return new Refusal(code, `${error.pointer || 'The body'}: ${error.message}`, { errors: [error] })
}

/** Creates a refusal (400 validation_failed) of one field with an invalid value. */
export const refuseInvalid = (pointer: string, message: string): Refusal =>
  refuseField({ pointer, code: 'invalid_value', message })

/** Refuses (400 validation_failed) all invalid fields in one answer. Does nothing without errors. */
export function refuseFields(errors: readonly FieldError[]): void {
  const [first] = errors
  if (first) throw new Refusal('validation_failed', `${first.pointer || 'The body'}: ${first.message}`, { errors })
}

/** Creates the refusal of an unknown id. The id of another partner gets the same answer. */
export function notFound(what: string, pointer?: string): Refusal {
  const detail = `No such ${what}.`
  return pointer === undefined
    ? new Refusal('not_found', detail)
    : new Refusal('not_found', detail, { errors: [{ pointer, code: 'invalid_value', message: `no such ${what}` }] })
}

/** Returns the refusal that `work` throws, so that the other calls of the batch continue. */
export function catchRefusal<T>(work: () => T): T | Refusal {
  try {
    return work()
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
}

/** Awaits the work. Returns undefined if it refuses with not_found. */
export async function ifFound<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    if (error instanceof Refusal && error.code === 'not_found') return undefined
    throw error
  }
}

/** A database, bank or service that is unreachable (502), does not answer in time (504) or refuses writes (503). */
type UnreachableCode = 'downstream_unreachable' | 'downstream_timeout' | 'storage_unavailable'

export class Unreachable extends Error {
  override readonly name = 'Unreachable'
  readonly code: UnreachableCode

  constructor(code: UnreachableCode, message: string, cause?: unknown) {
    super(message, { cause })
    this.code = code
  }
}

export type Member = { readonly fullName: string; readonly email: string }

/**
 * Returns each member's address once, in the spelling of the invitation. Refuses (400, with pointers): addresses of
 * people who are not in the team.
 */
export function requireMembers(
  emails: readonly string[],
  members: ReadonlyMap<string, Member>,
  pointer: string,
): readonly string[] {
  refuseFields(
    emails.flatMap((address, index) =>
      members.has(address)
        ? []
        : [
            {
              pointer: `${pointer}/${index}`,
              code: 'invalid_value' as const,
              message: 'is not a member of your team: invite the person first',
            },
          ],
    ),
  )
  return [...new Set(emails.map((address) => members.get(address)?.email ?? address))]
}

/** A data warehouse needs one stream, and may open another before the end of the first is detected. */
const readersMax = 2
const retrySeconds = 5

/** Limits a partner's concurrent readers. Call the returned function when the read ends. Refuses: rate_limited. */
export function createReaders(): (partnerId: string) => () => void {
  const readers = new Map<string, number>()
  const count = (partnerId: string, change: 1 | -1) => {
    const left = (readers.get(partnerId) ?? 0) + change
    if (left > 0) readers.set(partnerId, left)
    else readers.delete(partnerId)
  }
  return (partnerId) => {
    if ((readers.get(partnerId) ?? 0) >= readersMax)
      throw new Refusal('rate_limited', `The partner already reads ${readersMax} streams. Close one first.`, {
        headers: { 'retry-after': String(retrySeconds) },
      })
    count(partnerId, 1)
    return () => count(partnerId, -1)
  }
}
