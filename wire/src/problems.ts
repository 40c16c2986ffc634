/**
 * The closed catalogue of refusals. A code that is not here does not compile; a code without status and title neither.
 * Source: interface document, Authentication and Errors; the contract page for what the document leaves open.
 */
import { Type, closed, optional } from './shapes.ts'

export const problems = {
  // 400: the request is not well made
  malformed_request: { status: 400, title: 'The request is not well-formed' },
  malformed_json: { status: 400, title: 'The body is not valid JSON' },
  body_required: { status: 400, title: 'The operation needs a JSON body' },
  duplicate_key: { status: 400, title: 'An object names the same field twice' },
  nesting_too_deep: { status: 400, title: 'The body is nested too deeply' },
  unknown_field: { status: 400, title: 'The request has a field that the operation does not know' },
  validation_failed: { status: 400, title: 'The request has invalid fields' },
  // 401: who is calling
  signature_required: { status: 401, title: 'Service-account credentials are required' },
  jwt_not_accepted: { status: 401, title: 'Bearer tokens are not accepted' },
  timestamp_out_of_window: { status: 401, title: 'The timestamp is outside the accepted window' },
  nonce_invalid: { status: 401, title: 'The nonce is not a GUID' },
  nonce_replayed: { status: 401, title: 'The nonce was used before' },
  signature_invalid: { status: 401, title: 'The signature does not verify' },
  // 403: what the caller may do
  permission_denied: { status: 403, title: 'The service account lacks the permission' },
  impersonation_write_blocked: { status: 403, title: 'An impersonated session cannot write' },
  // 404 and 405
  not_found: { status: 404, title: 'No such resource' },
  method_not_allowed: { status: 405, title: 'The resource does not support the method' },
  // 409: the state does not allow it
  request_in_progress: { status: 409, title: 'The same request is still being processed' },
  invitation_exists: { status: 409, title: 'A live invitation for this address exists' },
  invitation_not_pending: { status: 409, title: 'The invitation is no longer pending' },
  // 413, 415
  body_too_large: { status: 413, title: 'The body is too large' },
  unsupported_media_type: { status: 415, title: 'The body must be application/json in UTF-8' },
  // 422: understood, and refused by the rules of money
  idempotency_key_reused: { status: 422, title: 'The idempotency key belongs to another request' },
  insufficient_funds: { status: 422, title: 'The available balance is too small' },
  currency_not_supported: { status: 422, title: 'The currency is not supported here' },
  beneficiary_currency_mismatch: { status: 422, title: 'The beneficiary takes another currency' },
  beneficiary_not_payable: { status: 422, title: 'The beneficiary cannot be paid by this operation' },
  webhook_limit_reached: { status: 422, title: 'The partner has as many webhook endpoints as allowed' },
  // 429, 431
  rate_limited: { status: 429, title: 'Too many requests' },
  resend_too_soon: { status: 429, title: 'The invitation was sent a moment ago' },
  resend_limit_reached: { status: 429, title: 'The invitation was resent as often as allowed' },
  headers_too_large: { status: 431, title: 'The request headers are too large' },
  // 5xx
  internal_error: { status: 500, title: 'Something failed on our side' },
  downstream_unreachable: { status: 502, title: 'A service that must answer cannot be reached' },
  iban_pool_exhausted: { status: 503, title: 'No account number is left for a country' },
  overloaded: { status: 503, title: 'The service is at its capacity' },
  shutting_down: { status: 503, title: 'The service is stopping' },
  downstream_timeout: { status: 504, title: 'A service did not answer in time' },
} as const satisfies Record<string, { readonly status: number; readonly title: string }>

export type ProblemCode = keyof typeof problems

/** Why one field was refused; `pointer` is an RFC 6901 JSON pointer into the body, `/query/...` or `/path/...`. */
export const fieldErrorCodes = [
  'required',
  'unknown_field',
  'duplicate_key',
  'wrong_type',
  'empty',
  'too_long',
  'too_few',
  'too_many',
  'invalid_format',
  'invalid_value',
  'invalid_character',
  'out_of_range',
  'too_precise',
  'exists',
] as const
export type FieldErrorCode = (typeof fieldErrorCodes)[number]
export type FieldError = { readonly pointer: string; readonly code: FieldErrorCode; readonly message: string }

/** The five documented fields, and our additions: `code`, `requestId` and, for refused fields, `errors`. */
export const Problem = closed({
  type: Type.String(),
  title: Type.String(),
  status: Type.Integer(),
  detail: Type.String(),
  instance: Type.String(),
  code: Type.Enum(Object.keys(problems) as [ProblemCode, ...ProblemCode[]]),
  requestId: Type.String(),
  errors: optional(
    Type.Array(closed({ pointer: Type.String(), code: Type.Enum([...fieldErrorCodes]), message: Type.String() })),
  ),
})
