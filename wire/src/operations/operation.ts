/**
 * The declaration of an operation, from which routes, validation, permissions, handler types, the audit of requests, the OpenAPI
 * document, the SDK and the requests of the contract tests are derived.
 */
import type { ProblemCode } from '../problems.ts'
import type { TSchema } from '../shapes.ts'
import type { Example, ExampleValue } from './example.ts'

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
/** Contract page, Silences: one read and one write permission per operation group. */
export const permissions: readonly Permission[] = tags.flatMap((tag) => [`${tag}:read`, `${tag}:write`] as const)

/**
 * Callers of an operation: a service account by its signature, anybody with a link, a person in a browser, the operator's
 * staff. The gateway serves an audience only if it has an authentication for it.
 */
export type Audience = 'signed' | 'public' | 'session' | 'staff'

/**
 * When the audit log records the request. `before`: committed before the handler runs. `meanwhile`: while it runs, because the
 * handler records its own steps in its transaction. `handler`: only by these steps. `none`: never.
 */
export type RequestAudit = 'before' | 'meanwhile' | 'handler' | 'none'

type OperationDescription = {
  readonly tag: Tag
  /** Parameters are written `{name}`. A value that violates its schema in `params` is 404 (interface document, Errors). */
  readonly path: string
  readonly query?: TSchema
  /** Absent: the operation returns `content`, or else 204 without a body. */
  readonly response?: TSchema
  /** The media types of a streamed answer, which supports range requests (RFC 9110, section 14). */
  readonly content?: readonly string[]
  /** The length of `content` is unknown, so it does not support range requests. */
  readonly streamed?: true
  /** The response has the headers `Location`, the path of the transaction, and `Payout-Id`. */
  readonly makesPayout?: true
  readonly permission: Permission
  /** Default: `signed`. */
  readonly audience?: Audience
  /**
   * `handler`: the handler consumes the nonce in its own transaction, which saves a transaction. Default: the gateway consumes it before
   * the handler runs.
   */
  readonly nonce?: 'handler'
  /** The operation reads identity data or credentials, or exports data in bulk. */
  readonly sensitive?: true
  /** Default: `before` for a write and for a read of sensitive data, `none` for any other read. */
  readonly audit?: RequestAudit
  /** The operation waits for a host that the partner has chosen. The gateway admits it under a separate limit. */
  readonly callsChosenHost?: true
  /** The field of the body whose items have a separate rate limit: a list, or a pain.001 with its payments. */
  readonly items?: string
  /** A repeated POST has no further effect even without a key, so the SDK can retry it. */
  readonly repeatable?: true
  /** The method of the SDK. Default: the id without the noun of its namespace (scripts/generate/methods.ts). */
  readonly sdkMethod?: string
  readonly source: 'documented' | 'extension'
  /** A verb phrase of at most eight words; test/tidy checks it. */
  readonly summary: string
  /** Facts for the caller: idempotency, asynchronous effects, limits. Markdown, in full sentences. */
  readonly description: string
  /** The problem codes specific to this operation, in addition to those that all operations share. */
  readonly refusals: readonly ProblemCode[]
  /** The operation returns 404 in production. */
  readonly sandboxOnly?: true
  /** A valid request. The contract tests send it, and its recorded answer is the example of the OpenAPI document. */
  readonly example: Example
}

/**
 * How a request with an idempotency key takes effect once. Every operation except a GET accepts the header
 * `Idempotency-Key`; `body`: the field `idempotencyKey` too. `header`: key, effect and answer commit together. `kept`
 * (default of PUT, PATCH and DELETE): the key is stored first, and the answer after the idempotent effect.
 */
type MethodRules =
  | { readonly method: 'POST'; readonly idempotency: 'body' | 'header'; readonly makes: Makes }
  | { readonly method: 'POST'; readonly idempotency: 'kept'; readonly makes?: undefined }
  | { readonly method: 'PUT' | 'PATCH' | 'DELETE'; readonly idempotency?: 'kept'; readonly makes?: undefined }
  | { readonly method: 'GET'; readonly idempotency?: undefined; readonly makes?: undefined }

/**
 * Declares what the request creates, for the audit log. `id`: the field that identifies it in the answer, or in each item of the list `each`.
 * `payment`: a transaction, whose steps have their own records. `nothing`: the request acts on a resource of its path, or stores nothing.
 */
type Makes = { readonly id: string; readonly each?: string } | 'payment' | 'nothing'

type PathParameters =
  | { readonly params?: undefined }
  | {
      readonly params: Readonly<Record<string, TSchema>>
      readonly example: { readonly params: Readonly<Record<string, ExampleValue>> }
    }

type RequestBody =
  | { readonly body?: undefined; readonly bodyOptional?: undefined }
  /** The request may omit the body. */
  | { readonly body: TSchema; readonly bodyOptional: true }
  | { readonly body: TSchema; readonly bodyOptional?: undefined; readonly example: { readonly body: ExampleValue } }

export type Operation = OperationDescription & MethodRules & PathParameters & RequestBody

export const isWrite = ({ permission }: Pick<Operation, 'permission'>): boolean => permission.endsWith(':write')

export const operationAudience = ({ audience = 'signed' }: Pick<Operation, 'audience'>): Audience => audience

export const operationAudit = (operation: Operation): RequestAudit =>
  operation.audit ?? (operation.sensitive === true || isWrite(operation) ? 'before' : 'none')

/** Returns the place of a request's idempotency key. The header is accepted in both cases. Undefined: a GET has no key. */
export const idempotencyKeyPlace = ({
  method,
  idempotency,
}: Pick<Operation, 'method' | 'idempotency'>): 'body' | 'header' | undefined =>
  method === 'GET' ? undefined : idempotency === 'body' ? 'body' : 'header'

/** Reads the ids of created resources from an answer. Empty: the operation does not create a resource with an id. */
export function createdIds({ makes }: Pick<Operation, 'makes'>, answer: unknown): readonly string[] {
  if (makes === undefined || makes === 'payment' || makes === 'nothing') return []
  const fields = answer as Readonly<Record<string, unknown>>
  const things = makes.each === undefined ? [fields] : (fields[makes.each] as readonly (typeof fields)[])
  return things.map((thing) => String(thing[makes.id]))
}

/** Reports whether the operation consumes its key. A preview accepts the key of a payment without consuming it. */
export const usesKey = (operation: Operation): boolean => operation.method !== 'GET' && isWrite(operation)

/** Reports whether the answer is stored after the effect, not in the same transaction. */
export const storesAnswer = ({ method, idempotency = 'kept' }: Pick<Operation, 'method' | 'idempotency'>): boolean =>
  method !== 'GET' && idempotency === 'kept'
