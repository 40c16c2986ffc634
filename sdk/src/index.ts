/**
 * The API client for partners: signs and sends requests, retries idempotent requests, pages through lists, verifies
 * webhooks and signs test webhooks. It has no dependencies besides Node 20.3 or later. Amounts are decimal strings and
 * never pass through a binary float.
 */
export type { ApiResponse, CallInput, CallOptions, CallOptionsWithKey } from './call.ts'
export { type Client, type ClientOptions, createClient } from './client.ts'
export { type OperationId, operations } from './generated/operations.ts'
export type * from './generated/types.ts'
export type { Hooks, RequestLog, ResponseLog, RetryLog } from './hooks.ts'
export type { Pages } from './pages.ts'
export {
  type FieldError,
  type ProblemCode,
  ApiConnectionError,
  ApiProblem,
  ApiTimeoutError,
  AuthenticationError,
  ConflictError,
  NotFoundError,
  PermissionError,
  RateLimitError,
  ServerError,
  UnprocessableError,
  ValidationError,
} from './problem.ts'
export { type SignedTestWebhook, type TestPayload, type TestWebhook, signTestWebhook } from './sign-webhook.ts'
export {
  type Credentials,
  type SignatureHeaders,
  type SignedRequest,
  type Signer,
  canonicalQuery,
  canonicalString,
  createSigner,
} from './sign.ts'
export {
  type VerifyOptions,
  type WebhookEvent,
  type WebhookVerificationReason,
  type WebhookHeaders,
  WebhookVerificationError,
  verifyWebhook,
} from './webhook.ts'
