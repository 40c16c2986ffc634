/**
 * The partner's client: signs, sends, retries under one idempotency key, verifies webhooks. Depends on nothing but Node
 * (20 or later). Amounts are decimal texts and never pass through a binary float.
 */
export type { Answer, CallInput, CallOptions } from './call.ts'
export { type Client, type ClientOptions, type ResultOf, createClient } from './client.ts'
export { type OperationId, operations } from './generated/operations.ts'
export type * from './generated/types.ts'
export { ApiProblem, ApiUnreachable, type FieldError, type ProblemCode } from './problem.ts'
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
  type WebhookFault,
  type WebhookHeaders,
  WebhookRefused,
  verifyWebhook,
} from './webhook.ts'
