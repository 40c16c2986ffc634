/** Causes and remedies of each problem, for the page that `type` links to. */
import { type ProblemCode, problems } from '@partner-payments/wire'

export type Explanation = { readonly cause: string; readonly cure: string }

const explanations: Readonly<Partial<Record<ProblemCode, Explanation>>> = {
  malformed_request: {
    cause: 'The request line, a header or the percent-encoding of the path is not valid HTTP.',
    cure: 'Build the URL with a URL library and send the request again. Encode each path parameter by RFC 3986.',
  },
  malformed_json: {
    cause: 'The body is not one JSON value in UTF-8. A trailing comma and a cut-off body are frequent reasons.',
    cure: 'Serialise the body with a JSON library. Sign the same bytes that you send.',
  },
  body_required: {
    cause: 'The operation needs a body, and the request has none.',
    cure: 'Send a JSON object with `Content-Type: application/json`. Include the body in the signature.',
  },
  duplicate_key: {
    cause: 'A JSON object contains the same field twice. Two parsers could read two different requests.',
    cure: 'Send each field once. `errors` names the field.',
  },
  nesting_too_deep: {
    cause: 'The body has more than 32 levels of objects and arrays.',
    cure: 'Send a flatter object. No operation needs this depth.',
  },
  unknown_field: {
    cause:
      'The body or the query contains a field that the operation does not define. The service drops nothing silently.',
    cure: 'Correct the spelling or remove the fields that `errors` lists. Field names are case-sensitive.',
  },
  validation_failed: {
    cause: 'A field is missing or has the wrong type, format, length or range.',
    cure: 'Correct every field in `errors`. Each entry has a `pointer` to the field, a `code` and a `message`.',
  },
  signature_required: {
    cause: 'At least one of the headers `ApiKey`, `Nonce`, `Timestamp` and `Signature` is missing.',
    cure: 'Send all four headers with every request. See "Authentication: signing a request" in the reference.',
  },
  jwt_not_accepted: {
    cause: 'The request has an `Authorization: Bearer` header. The API accepts signatures only.',
    cure: 'Remove the header and sign the request with a service account.',
  },
  timestamp_out_of_window: {
    cause: '`Timestamp` is not a Unix time in seconds, or is more than 300 seconds from the time of the server.',
    cure: 'Synchronize your clock by NTP. Use seconds, not milliseconds. Sign immediately before you send.',
  },
  nonce_invalid: {
    cause: '`Nonce` is not a GUID.',
    cure: 'Generate a new GUID for each request, for example `3b241101-e2bb-4255-8caf-4136c566a962`.',
  },
  nonce_replayed: {
    cause:
      'An earlier request of the service account used the same nonce. A retry without a new signature is a frequent reason.',
    cure: 'Generate a new GUID and sign again for every attempt. Keep the idempotency key.',
  },
  signature_invalid: {
    cause:
      'The API key is unknown, or the signature does not verify over the canonical string that the server computed.',
    cure:
      'Compare your canonical string with the reference: method, path, canonical query, timestamp, nonce, secret, body ' +
      'hash. Sign the exact bytes of the body. "Try it out" in the sandbox shows the canonical string of each request.',
  },
  permission_denied: {
    cause:
      'The credentials are valid, and the service account lacks the permission of the operation, or may not be used from the address of the client.',
    cure: 'Ask an Admin of your team or the operator to grant the permission that the reference names, or to allow the address.',
  },
  impersonation_write_blocked: {
    cause: 'The request uses an impersonation session of platform staff, which can only read.',
    cure: 'Use a service account of the partner to write.',
  },
  not_found: {
    cause:
      'No resource of yours has this identifier, or the path does not exist. Objects of other partners are also 404.',
    cure: 'Check the path and the identifier. A deleted beneficiary is no longer found.',
  },
  method_not_allowed: {
    cause: 'The path exists but does not support the method.',
    cure: 'Use one of the methods in the `Allow` header of the response.',
  },
  request_in_progress: {
    cause: 'An earlier request with the same idempotency key has not finished.',
    cure: 'Wait for the time in `Retry-After` and send the same request with the same key again.',
  },
  invitation_exists: {
    cause: 'An address of the request already has a pending invitation. No invitation of the request was created.',
    cure: 'Resend or revoke the earlier invitation, or remove the entry that `errors` names.',
  },
  last_admin: {
    cause: 'The user is the only `Admin` of your team, and the request would remove the user or change the role.',
    cure: 'Give another user the role `Admin`, then repeat the request.',
  },
  invitation_not_pending: {
    cause: 'The invitation was accepted, has expired or was revoked.',
    cure: 'Read its `status`. Create a new invitation if the person still needs one.',
  },
  recovery_in_progress: {
    cause: 'The subscription has a running recovery. One runs at a time.',
    cure: 'Follow the recovery until its status is `Completed`. Then start the next one.',
  },
  cursor_expired: {
    cause: 'The events after the cursor are older than 30 days and are no longer stored.',
    cure: 'Omit `after` to start at the oldest stored event. Reconcile the gap with `GET /v1/transactions`.',
  },
  body_too_large: {
    cause: 'The body is larger than the limit, 256 KiB by default.',
    cure: 'Send a smaller body. Split a request with many entries.',
  },
  unsupported_media_type: {
    cause: 'The `Content-Type` is not `application/json`, the charset is not UTF-8, or the body is compressed.',
    cure: 'Send uncompressed JSON in UTF-8 with `Content-Type: application/json`.',
  },
  transfer_coding_not_supported: {
    cause: 'The request has a `Transfer-Encoding` besides `chunked`, such as `gzip, chunked`.',
    cure: 'Send the body uncompressed, with `Content-Length` or as `chunked`.',
  },
  idempotency_key_reused: {
    cause: 'An earlier, different request used the same idempotency key. Keys do not expire.',
    cure: 'Use a new key for a new request. To retry a request, repeat its body unchanged.',
  },
  approver_is_creator: {
    cause: 'The service account created the payout, or has the same name as the account that created it.',
    cure: 'Sign the request with another service account. The creator can cancel the payout instead.',
  },
  approver_limit_exceeded: {
    cause: 'The operator limits the amount that one person or service account may approve per currency and day (UTC).',
    cure: 'The detail has the limit, the remaining amount and the reset time. Have another person approve the payout, or wait until the next day.',
  },
  payout_not_awaiting_approval: {
    cause: 'The payout was already approved or rejected, or the time for a decision has ended.',
    cure: 'Read `GET /v1/payouts/{id}`. If the payout was cancelled, create a new payout with a new key.',
  },
  limit_exceeded: {
    cause: 'The operator limits payouts for you, a customer or a beneficiary: per payout, per day and per month (UTC).',
    cure: 'The detail names the limit, the remaining amount and the reset time. Send a smaller amount, wait, or ask the operator.',
  },
  beneficiary_cooling_off: {
    cause:
      'The operator allows payments to a beneficiary only some hours after its creation or after a change of its name.',
    cure: 'The detail has the time from which payments are allowed. Repeat the request with the same key then, or ask the operator.',
  },
  account_blocked: {
    cause: 'The operator has blocked or closed the balance or the customer account for this direction of payment.',
    cure: 'Read `GET /v1/accounts/state-changes`. Pay from another balance, or ask the operator.',
  },
  customer_exists: {
    cause: 'Another customer of yours has this `partnerCustomerIdentifier`. An earlier request may have created it.',
    cure: 'Use the customer whose `guid` is in the detail, or send another identifier. Repeat requests with the same `Idempotency-Key`.',
  },
  customer_not_verified: {
    cause:
      'The operator decides what customers may do in each state of their verification: open accounts, receive, pay, exchange.',
    cure: 'Read the reasons and the missing or wrong fields in `GET /v1/customers/{id}/capabilities`. Update the customer, then repeat the request.',
  },
  balance_limit_exceeded: {
    cause:
      'The operator limits the balance of a customer in each state of its verification. The amount would exceed the limit.',
    cure: 'Read `holdUpTo` in `GET /v1/customers/{id}/capabilities`: the customer may still receive `amount` minus `held`. Send a smaller amount, or have the customer verified.',
  },
  insufficient_funds: {
    cause:
      'The available balance in the currency is lower than the amount. Reserved money is not available. With `accounts:read`, the detail has the available balance.',
    cure: 'Read `GET /v1/accounts`. Fund the balance or send a smaller amount. The key of the request can be used again.',
  },
  currency_not_supported: {
    cause: 'The operation does not support this currency.',
    cure: 'Use a currency that `errors` lists. Payouts need a fiat currency.',
  },
  beneficiary_currency_mismatch: {
    cause: 'The payout and its beneficiary have different currencies. A payout does not exchange money.',
    cure: 'Send the payout in the currency of the beneficiary, or create a beneficiary with the currency of the payout.',
  },
  beneficiary_not_payable: {
    cause:
      'The beneficiary has no IBAN, or lacks a field that the payment needs on its execution day, such as the address for a SWIFT payment.',
    cure: 'Use a beneficiary with an IBAN, or update the beneficiary with the fields that `detail` and its `missingFields` name.',
  },
  service_account_limit_reached: {
    cause: 'The partner has 100 active service accounts, the maximum.',
    cure: 'Revoke a service account that is no longer used: `lastUsedAt` shows when it last signed a request.',
  },
  webhook_limit_reached: {
    cause: 'The partner has 20 webhook subscriptions, the maximum.',
    cure: 'Delete a subscription that you no longer need, or subscribe an existing one to more event types.',
  },
  webhook_secret_limit_reached: {
    cause: 'Five signing keys of the subscription are active at once, the maximum.',
    cure: 'Wait until the overlap of an earlier key ends, or rotate with `overlapSeconds: 0`.',
  },
  rate_limited: {
    cause: 'The service account sends more requests than permitted: 100 a second on average by default.',
    cure: 'Wait for the time in `Retry-After`. Spread requests by the headers `RateLimit` and `RateLimit-Policy`.',
  },
  resend_too_soon: {
    cause: 'The invitation was sent less than 60 seconds ago.',
    cure: 'Wait for the time in `Retry-After` and resend the invitation.',
  },
  resend_limit_reached: {
    cause: 'The invitation was resent five times, the maximum.',
    cure: 'Check the address. Revoke the invitation and create a new one.',
  },
  webhook_test_too_soon: {
    cause: 'More than 20 test events were requested for the subscription in a minute.',
    cure: 'Wait for the time in `Retry-After` and send the test event again.',
  },
  headers_too_large: {
    cause: 'All request headers together are larger than the limit, 16 KiB by default.',
    cure: 'Send fewer or smaller headers. The API needs four, and a content type.',
  },
  internal_error: {
    cause: 'The service failed in a way that it did not expect. The request may have taken effect.',
    cure: 'Retry with the same idempotency key. If the problem persists, contact support and quote `requestId`.',
  },
  downstream_unreachable: {
    cause: 'The service could not reach a service that it depends on, such as its database.',
    cure: 'Retry later with the same idempotency key and growing pauses.',
  },
  iban_pool_exhausted: {
    cause: 'One of the issuing countries has no free IBAN. No IBAN was issued.',
    cure: 'Retry later. Contact support if the problem persists.',
  },
  overloaded: {
    cause: 'The process already has as many requests in progress as it accepts. The request had no effect.',
    cure: 'Wait for the time in `Retry-After` and retry with growing pauses.',
  },
  downstream_timeout: {
    cause: 'A service that the API depends on did not answer in time. The request may have taken effect.',
    cure: 'Retry with the same idempotency key. The service executes the request once.',
  },
}

/** Returns the explanation of a code: the cause, then the remedy. Default: the detail of the problem. */
export function explainProblem(code: ProblemCode): Explanation {
  const { detail } = problems[code]
  const [cause = detail, ...cure] = detail.split(/(?<=\.)\s+/)
  return explanations[code] ?? { cause, cure: cure.join(' ') || detail }
}
