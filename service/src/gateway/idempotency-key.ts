/** Reads the idempotency key of a request, from the header `Idempotency-Key` or the field `idempotencyKey`. */
import { IdempotencyKey, keyPlaceOf, type Operation } from '@partner-payments/wire'
import { refuseField } from '../api/index.ts'
import type { Headers } from './signature.ts'
import { compileValidator } from './validate.ts'

export const idempotencyKeyHeader = 'idempotency-key'
const pointer = '/headers/Idempotency-Key'
type Body = { readonly idempotencyKey?: string | null }

/** No standard defines the encoding of other characters in headers. */
const printableAscii = /^[\x20-\x7e]*$/

/**
 * Refuses (400, validation_failed): the header if the operation does not accept it, if it has the wrong form, or if it
 * differs from the key in the body.
 */
export function compileIdempotencyKey(operation: Pick<Operation, 'idempotency'>) {
  const place = keyPlaceOf(operation)
  const validate = compileValidator(IdempotencyKey)
  return (headers: Headers, body: unknown): string | undefined => {
    const header = headers[idempotencyKeyHeader]?.toString()
    const field = place === 'body' ? ((body as Body).idempotencyKey ?? undefined) : undefined
    if (header === undefined) return field
    if (place === undefined)
      throw refuseField({ pointer, code: 'unknown_field', message: 'is not accepted by this operation' })
    if (!printableAscii.test(header))
      throw refuseField({ pointer, code: 'invalid_character', message: 'must be printable ASCII' })
    validate(header, pointer)
    if (field !== undefined && field !== header)
      throw refuseField({ pointer, code: 'invalid_value', message: 'differs from /idempotencyKey' })
    return header
  }
}
