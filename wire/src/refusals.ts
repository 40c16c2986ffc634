/** The problem codes of an operation: specific codes, and codes shared by all operations. */
import { type Operation, usesKey } from './operations.ts'
import type { ProblemCode } from './problems.ts'

/** Codes that the gateway or the infrastructure can return for every operation. */
export const sharedCodes = [
  'malformed_request',
  'unknown_field',
  'validation_failed',
  'signature_required',
  'jwt_not_accepted',
  'timestamp_out_of_window',
  'nonce_invalid',
  'nonce_replayed',
  'signature_invalid',
  'permission_denied',
  'impersonation_write_blocked',
  'not_found',
  'request_timeout',
  'body_too_large',
  'unsupported_media_type',
  'transfer_coding_not_supported',
  'rate_limited',
  'headers_too_large',
  'internal_error',
  'downstream_unreachable',
  'overloaded',
  'storage_unavailable',
  'downstream_timeout',
] as const satisfies readonly ProblemCode[]

/** Codes of every operation that accepts a body. */
const bodyCodes = ['malformed_json', 'duplicate_key', 'nesting_too_deep'] as const satisfies readonly ProblemCode[]

export function bodyCodesOf({ body, bodyOptional }: Operation): readonly ProblemCode[] {
  if (body === undefined) return []
  return bodyOptional === true ? bodyCodes : [...bodyCodes, 'body_required']
}

const keyCodes = ['request_in_progress', 'idempotency_key_reused'] as const satisfies readonly ProblemCode[]

/** Lists the codes of an operation, without those that all operations share. */
export const specificCodes = (operation: Operation): readonly ProblemCode[] =>
  usesKey(operation) ? [...new Set([...operation.refusals, ...keyCodes])] : operation.refusals
