/**
 * The API client for partners: signs and sends requests, retries idempotent requests and verifies webhooks. It has no
 * dependencies besides Node 20.3 or later. Amounts are decimal strings and never pass through a binary float.
 */
export type { ApiResponse, CallInput, CallOptions } from './call.ts'
export { type Client, type ClientOptions, type ResultOf, createClient } from './client.ts'
export { type OperationId, operations } from './generated/operations.ts'
export type * from './generated/types.ts'
export { ApiProblem, ApiConnectionError, type FieldError, type ProblemCode } from './problem.ts'
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
