/**
 * The catalogue of problem codes. `detail` is the default text: what is wrong and what to do. A response may have a more specific text.
 * Sources: interface document, Authentication and Errors; the contract page for the other codes.
 */
import { businessProblems } from './business-problems.ts'

export const problems = {
  // 400: malformed or invalid request
  malformed_request: {
    status: 400,
    title: 'Malformed request',
    detail: 'The request could not be parsed. Check the path, the headers and the percent-encoding.',
  },
  malformed_json: {
    status: 400,
    title: 'Malformed JSON body',
    detail: 'The body is not valid JSON. Send a JSON object in UTF-8.',
  },
  body_required: {
    status: 400,
    title: 'Request body required',
    detail: 'The operation requires a body. Send a JSON object with `Content-Type: application/json`.',
  },
  duplicate_key: {
    status: 400,
    title: 'Duplicate field in the body',
    detail: 'A JSON object contains the same field twice. Send each field once.',
  },
  nesting_too_deep: {
    status: 400,
    title: 'Body nested too deeply',
    detail: 'The body exceeds the maximum nesting depth. Send a flatter JSON object.',
  },
  unknown_field: {
    status: 400,
    title: 'Unknown field',
    detail: 'The request contains a field that the operation does not define. Remove the fields listed in `errors`.',
  },
  validation_failed: {
    status: 400,
    title: 'Validation failed',
    detail: 'The request contains invalid fields. Correct the fields listed in `errors`.',
  },
  // 401: authentication failed
  signature_required: {
    status: 401,
    title: 'Service-account credentials required',
    detail: 'Send the headers `ApiKey`, `Nonce`, `Timestamp` and `Signature`.',
  },
  jwt_not_accepted: {
    status: 401,
    title: 'Bearer tokens are not accepted',
    detail: 'Remove the bearer token and sign the request with a service account.',
  },
  timestamp_out_of_window: {
    status: 401,
    title: 'Timestamp outside the tolerance window',
    detail: '`Timestamp` is too far from the server time. Synchronize your clock and sign the request again.',
  },
  nonce_invalid: {
    status: 401,
    title: 'Invalid nonce',
    detail: '`Nonce` is not a GUID such as 019aa8c4-6e4f-7a12-8d3e-2b1c5f7a9e10. Generate a new GUID for each request.',
  },
  nonce_replayed: {
    status: 401,
    title: 'Nonce already used',
    detail: '`Nonce` was used by an earlier request. Generate a new GUID for each request.',
  },
  signature_invalid: {
    status: 401,
    title: 'Invalid signature',
    detail:
      'The signature does not verify for this API key. Check the API key, the private key and the canonical string.',
  },
  // 403: authenticated, but not authorized
  permission_denied: {
    status: 403,
    title: 'Permission denied',
    detail: 'The service account lacks the permission of this operation. Grant it or use another service account.',
  },
  approver_is_creator: {
    status: 403,
    title: 'Approver created the payout',
    detail: 'The service account created the payout. Approve or reject it with another service account.',
  },
  approver_limit_exceeded: {
    status: 403,
    title: 'Daily maximum of the approver exceeded',
    detail: 'The payout is beyond what one person may approve on a day (UTC). Another person must approve it.',
  },
  impersonation_write_blocked: {
    status: 403,
    title: 'Write blocked in an impersonated session',
    detail: 'An impersonated session can only read. Use a service account of the partner to write.',
  },
  // 404 and 405
  not_found: {
    status: 404,
    title: 'Resource not found',
    detail: 'The resource does not exist. Check the path and the identifiers.',
  },
  method_not_allowed: {
    status: 405,
    title: 'Method not allowed',
    detail: 'The resource does not support the method. Use one of the methods in the `Allow` header.',
  },
  // 408: the client is too slow
  request_timeout: {
    status: 408,
    title: 'Request timeout',
    detail: 'The request did not arrive within the time limit. Send the headers and the body without pauses.',
  },
  // 409: conflict with the current state
  request_in_progress: {
    status: 409,
    title: 'Request already in progress',
    detail: 'A request with the same idempotency key is still being processed. Retry after the time in `Retry-After`.',
  },
  invitation_exists: {
    status: 409,
    title: 'Pending invitation already exists',
    detail: 'An address already has a pending invitation. Resend or revoke that invitation instead.',
  },
  last_admin: {
    status: 409,
    title: 'Last Admin of the team',
    detail: 'A team keeps at least one Admin. Make another user an Admin first.',
  },
  invitation_not_pending: {
    status: 409,
    title: 'Invitation is not pending',
    detail: 'The status of the invitation does not allow the operation. Create a new invitation if one is needed.',
  },
  customer_exists: {
    status: 409,
    title: 'Customer with this identifier already exists',
    detail: 'A customer has this `partnerCustomerIdentifier`. `detail` of the response names it.',
  },
  customer_not_erasable: {
    status: 409,
    title: 'Customer not erasable',
    detail: 'The customer cannot be erased yet. `detail` of the response says what to do.',
  },
  checkout_session_not_open: {
    status: 409,
    title: 'Checkout session is not open',
    detail: 'The bank already has the payment of the session, or the session has ended. Read its status.',
  },
  checkout_session_not_paid: {
    status: 409,
    title: 'Checkout session is not paid',
    detail: 'Only a completed session can be refunded, and only while you have its money. Read its status.',
  },
  late_payment_decided: {
    status: 409,
    title: 'Late payment already decided',
    detail:
      'The money was accepted or returned, or its time to choose is over and the operator decides. Read its status.',
  },
  refund_exceeds_payment: {
    status: 422,
    title: 'Refund exceeds the payment',
    detail: 'The refunds of a session cannot exceed its amount. Request at most the remaining amount.',
  },
  payer_account_unknown: {
    status: 422,
    title: 'Payer account unknown',
    detail: 'The account that paid cannot be paid back by a refund. Send the money by a payout to a beneficiary.',
  },
  recovery_in_progress: {
    status: 409,
    title: 'Recovery already in progress',
    detail: 'The subscription has a running recovery. Wait until that recovery completes.',
  },
  report_not_ready: {
    status: 409,
    title: 'Report not ready',
    detail: 'The report has no content yet. Retry after the time in `Retry-After`, until its status is `Ready`.',
  },
  payout_not_awaiting_approval: {
    status: 409,
    title: 'Payout is not pending approval',
    detail: 'The payout was already approved, rejected or cancelled, or needed no approval. Read its status.',
  },
  payout_not_cancellable: {
    status: 409,
    title: 'Payout cannot be cancelled',
    detail:
      'The payout is no longer `Pending`: a worker has begun to send it, or it has ended. Wait for its final status.',
  },
  payout_not_recallable: {
    status: 409,
    title: 'Payout cannot be recalled',
    detail:
      'Only a payout that is `Completed` can be recalled. Cancel one that is `Pending`, or wait for the settlement.',
  },
  recall_exists: {
    status: 409,
    title: 'Payout already has a recall',
    detail: 'The payout has a recall that is open or accepted, or had one for this reason. Read its recalls.',
  },
  identity_verification_open: {
    status: 409,
    title: 'Identity verification not finished',
    detail:
      'The customer has an identity verification that is not decided. Read it, and give its `url` to the customer.',
  },
  standing_order_ended: {
    status: 409,
    title: 'Standing order has ended',
    detail: 'The standing order has ended and no longer changes. Create a new one.',
  },
  // 410
  cursor_expired: {
    status: 410,
    title: 'Cursor expired',
    detail: 'The events after the cursor are no longer stored. Omit `after` to start at the oldest stored event.',
  },
  // 413, 415
  body_too_large: {
    status: 413,
    title: 'Body too large',
    detail: 'The body exceeds the maximum size. Send a smaller body.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'Unsupported media type',
    detail: 'The body must be JSON in UTF-8. Send `Content-Type: application/json`.',
  },
  // 416
  range_not_satisfiable: {
    status: 416,
    title: 'Range not satisfiable',
    detail: 'The range begins after the end of the content. `Content-Range` states its length.',
  },
  ...businessProblems,
  // 429, 431
  rate_limited: {
    status: 429,
    title: 'Rate limit exceeded',
    detail: 'The service account sends too many requests. Retry after the time in `Retry-After`.',
  },
  resend_too_soon: {
    status: 429,
    title: 'Invitation resent too recently',
    detail: 'The minimum time between two resends has not passed. Retry after the time in `Retry-After`.',
  },
  resend_limit_reached: {
    status: 429,
    title: 'Invitation resend limit reached',
    detail: 'The invitation was resent the maximum number of times. Revoke it if it is pending, and create a new one.',
  },
  webhook_test_too_soon: {
    status: 429,
    title: 'Webhook test limit exceeded',
    detail: 'Too many test events were requested. Retry after the time in `Retry-After`.',
  },
  report_limit_reached: {
    status: 429,
    title: 'Report limit reached',
    detail:
      'Too many reports of the partner are queued or running. Retry after the time in `Retry-After`, or delete one.',
  },
  headers_too_large: {
    status: 431,
    title: 'Request headers too large',
    detail: 'The request headers exceed the maximum size. Send fewer or smaller headers.',
  },
  // 5xx: retry with the same idempotency key
  internal_error: {
    status: 500,
    title: 'Internal server error',
    detail: 'The service failed unexpectedly. Quote `requestId` when you contact support.',
  },
  transfer_coding_not_supported: {
    status: 501,
    title: 'Transfer coding not supported',
    detail: 'Only the transfer coding `chunked` is supported. Send the body with it, or with `Content-Length`.',
  },
  downstream_unreachable: {
    status: 502,
    title: 'Downstream service unreachable',
    detail: 'The service could not reach a service that it depends on. Retry later with the same idempotency key.',
  },
  iban_pool_exhausted: {
    status: 503,
    title: 'IBAN pool exhausted',
    detail: 'No IBAN is available in one of the issuing countries. Retry later.',
  },
  fx_rates_unavailable: {
    status: 503,
    title: 'Exchange rates unavailable',
    detail: 'The newest exchange rates are too old to quote from. Retry later.',
  },
  overloaded: {
    status: 503,
    title: 'Service overloaded',
    detail: 'The service is at its capacity. Retry after the time in `Retry-After`.',
  },
  storage_unavailable: {
    status: 503,
    title: 'Storage unavailable',
    detail:
      'The service cannot store data at the moment. Retry after the time in `Retry-After` with the same idempotency key.',
  },
  downstream_timeout: {
    status: 504,
    title: 'Downstream service timed out',
    detail:
      'A service did not respond in time. The request may have taken effect: retry with the same idempotency key.',
  },
} as const satisfies Record<string, { readonly status: number; readonly title: string; readonly detail: string }>

export type ProblemCode = keyof typeof problems

/** Returns the path of the page about a code: the `type` of a problem, as a URI reference to the API's own origin. */
export const problemPath = (code: ProblemCode): string => `/problems/${code}`
