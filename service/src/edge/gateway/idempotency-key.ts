/** Reads the idempotency key of a request, from the header `Idempotency-Key` or the field `idempotencyKey`. */
import {
  type FieldError,
  IdempotencyKey,
  isRawNumber,
  idempotencyKeyPlace,
  type Operation,
} from '@partner-payments/wire'
import { refuseField, refuseFields, Refusal } from '../../kernel/api/index.ts'
import type { Headers } from './signature.ts'
import { compileValidator } from './validate.ts'

export const idempotencyKeyHeader = 'idempotency-key'
const headerPointer = '/headers/Idempotency-Key'
const fieldPointer = '/idempotencyKey'
type Body = { readonly idempotencyKey?: string | null }

/** Characters that the header may contain. No standard defines the encoding of others. */
const printableAscii = /^[\x20-\x7e]*$/

type KeyReader = {
  /** Reads the header. Refuses (400, validation_failed): the header on a GET, or an invalid value. */
  readonly header: (headers: Headers) => string | undefined
  /**
   * Copies the key of the header into a body without a key, if the operation accepts a key in the body. The body is not
   * yet validated.
   */
  readonly complete: (body: unknown, header: string | undefined) => unknown
  /** Returns the key of the request. Refuses (400, validation_failed, at both places): a header that differs from the key in the body. */
  readonly agreed: (body: unknown, header: string | undefined) => string | undefined
}

export function compileIdempotencyKey(operation: Pick<Operation, 'method' | 'idempotency'>): KeyReader {
  const place = idempotencyKeyPlace(operation)
  const validate = compileValidator(IdempotencyKey)
  return {
    header: (headers) => {
      const given = [headers[idempotencyKeyHeader] ?? []].flat()
      const [header] = given
      if (header === undefined) return undefined
      const refuse = (code: 'unknown_field' | 'invalid_character' | 'invalid_value', message: string) =>
        refuseField({ pointer: headerPointer, code, message })
      if (given.length > 1) throw refuse('invalid_value', `appears ${given.length} times; send one key`)
      if (place === undefined) throw refuse('unknown_field', 'is not accepted by a GET; omit the header')
      if (!printableAscii.test(header)) throw refuse('invalid_character', 'must be printable ASCII')
      validate(header, headerPointer)
      return header
    },
    complete: (body, header) => {
      const takesKey = place === 'body' && typeof body === 'object' && body !== null && !Array.isArray(body)
      if (header === undefined || !takesKey || isRawNumber(body)) return body
      return ((body as Body).idempotencyKey ?? null) === null ? { ...body, idempotencyKey: header } : body
    },
    agreed: (body, header) => {
      const field = place === 'body' ? ((body as Body).idempotencyKey ?? undefined) : undefined
      if (header !== undefined && field !== undefined && field !== header)
        refuseFields([
          {
            pointer: headerPointer,
            code: 'invalid_value',
            message: 'differs from /idempotencyKey; send one of them, or the same key in both',
          },
          { pointer: fieldPointer, code: 'invalid_value', message: 'differs from the header Idempotency-Key' },
        ])
      return header ?? field
    },
  }
}

export function mentionHeader(error: unknown): unknown {
  if (!(error instanceof Refusal)) return error
  const isMissingKey = ({ pointer, code }: FieldError) => pointer === fieldPointer && code === 'required'
  if (!error.errors.some(isMissingKey)) return error
  const errors = error.errors.map((each) =>
    isMissingKey(each) ? { ...each, message: `${each.message}, here or in the header Idempotency-Key` } : each,
  )
  return new Refusal(error.code, `${errors[0]?.pointer}: ${errors[0]?.message}`, { errors })
}

/** Points the error of a reused key to the place where the request contained it: the header or the field. */
export function pointToGivenKey(error: unknown, sent: unknown): unknown {
  if (!(error instanceof Refusal) || error.code !== 'idempotency_key_reused') return error
  const inBody = typeof sent === 'object' && sent !== null && (Object(sent) as Body).idempotencyKey !== undefined
  const pointer = inBody ? fieldPointer : headerPointer
  const errors = error.errors.map((each) =>
    each.pointer === headerPointer || each.pointer === fieldPointer ? { ...each, pointer } : each,
  )
  return new Refusal(error.code, error.detail, { errors, headers: error.headers })
}
