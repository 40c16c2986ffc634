/** The form of an operation. Validation, permissions, handler types, the OpenAPI document and the SDK derive from it. */
import type { ProblemCode } from '../problems.ts'
import type { TSchema } from '../shapes.ts'

export const tags = [
  'accounts',
  'beneficiaries',
  'checkout',
  'customers',
  'fx',
  'payouts',
  'reports',
  'simulations',
  'transactions',
  'users',
  'wallets',
  'webhooks',
] as const
export type Tag = (typeof tags)[number]
export type Permission = `${Tag}:${'read' | 'write'}`

export type Operation = {
  readonly tag: Tag
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Parameters are written `{name}`. A value that violates its schema in `params` is 404 (interface document, Errors). */
  readonly path: string
  readonly params?: Readonly<Record<string, TSchema>>
  readonly query?: TSchema
  readonly body?: TSchema
  /** The request may omit the body. */
  readonly bodyOptional?: true
  /** Absent: the operation returns `content`, or else 204 without a body. */
  readonly response?: TSchema
  /** The media types of a streamed answer, of which a request may read a range of bytes (RFC 9110, section 14). */
  readonly content?: readonly string[]
  /** The length of `content` is not known before, so that it has no ranges. */
  readonly streamed?: true
  /**
   * The operation takes effect once per idempotency key. `header`: the key is in the header `Idempotency-Key`. `body`: it is
   * in the field `idempotencyKey` or in the header. Absent: the operation refuses the header.
   */
  readonly idempotency?: 'body' | 'header'
  readonly permission: Permission
  readonly source: 'documented' | 'extension'
  /** A verb phrase of at most eight words; test/tidy checks it. */
  readonly summary: string
  /** What the caller must know: idempotency, asynchronous effects, limits. Markdown, in full sentences. */
  readonly description: string
  /** The problem codes specific to this operation, in addition to those that all operations share. */
  readonly refusals: readonly ProblemCode[]
  /** The operation returns 404 in production. */
  readonly sandboxOnly?: true
}
