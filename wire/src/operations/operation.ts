/**
 * The form of an operation: its single declaration. Routes, validation, permissions, handler types, the audit of
 * requests, the OpenAPI document, the SDK and the requests of the contract tests derive from it.
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

type Described = {
  readonly tag: Tag
  /** Parameters are written `{name}`. A value that violates its schema in `params` is 404 (interface document, Errors). */
  readonly path: string
  readonly query?: TSchema
  /** Absent: the operation returns `content`, or else 204 without a body. */
  readonly response?: TSchema
  /** The media types of a streamed answer, of which a request may read a range of bytes (RFC 9110, section 14). */
  readonly content?: readonly string[]
  /** The length of `content` is unknown, so that it has no ranges. */
  readonly streamed?: true
  /** The response has the headers `Location`, the path of the transaction, and `Payout-Id`. */
  readonly makesPayout?: true
  readonly permission: Permission
  /** Default: `signed`. */
  readonly audience?: Audience
  /**
   * The consumer of the nonce. Default: the gateway, before the handler runs. A handler that consumes it in its own
   * transaction saves one.
   */
  readonly nonce?: 'handler'
  /** The operation reads identity data or credentials, or takes data out of the service as a whole. */
  readonly sensitive?: true
  /** Default: `before` for a write and for a read of sensitive data, `none` for any other read. */
  readonly audit?: RequestAudit
  /** The operation waits for a host that the partner has chosen. The gateway counts it apart, so that such hosts take no places from others. */
  readonly callsChosenHost?: true
  /** The field of the body whose items count against a rate of their own: a list, or a pain.001 with its payments. */
  readonly items?: string
  /** A repeated POST has no further effect, also without a key, so that the SDK retries it. */
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
 * How a request with an idempotency key takes effect once. Every operation but a GET takes the header `Idempotency-Key`.
 * `body`: also in the field `idempotencyKey`. `header`: key, effect and answer commit together. `kept`, the default of PUT,
 * PATCH and DELETE: the key is taken first, and the answer is kept after an effect that a second run would not double.
 */
type Method =
  | { readonly method: 'POST'; readonly idempotency: 'body' | 'header'; readonly makes: Makes }
  | { readonly method: 'POST'; readonly idempotency: 'kept'; readonly makes?: undefined }
  | { readonly method: 'PUT' | 'PATCH' | 'DELETE'; readonly idempotency?: 'kept'; readonly makes?: undefined }
  | { readonly method: 'GET'; readonly idempotency?: undefined; readonly makes?: undefined }

/**
 * Declares what the request makes, so that the audit log names it. `id`: the field of the answer that identifies it, or of each item of the
 * list `each`. `payment`: a transaction, whose steps have records of their own. `nothing`: it acts on a thing of its path, or keeps nothing.
 */
type Makes = { readonly id: string; readonly each?: string } | 'payment' | 'nothing'

type Target =
  | { readonly params?: undefined }
  | {
      readonly params: Readonly<Record<string, TSchema>>
      readonly example: { readonly params: Readonly<Record<string, ExampleValue>> }
    }

type Payload =
  | { readonly body?: undefined; readonly bodyOptional?: undefined }
  /** The request may omit the body. */
  | { readonly body: TSchema; readonly bodyOptional: true }
  | { readonly body: TSchema; readonly bodyOptional?: undefined; readonly example: { readonly body: ExampleValue } }

export type Operation = Described & Method & Target & Payload

export const isWrite = ({ permission }: Pick<Operation, 'permission'>): boolean => permission.endsWith(':write')

export const audienceOf = ({ audience = 'signed' }: Pick<Operation, 'audience'>): Audience => audience

export const requestAuditOf = (operation: Operation): RequestAudit =>
  operation.audit ?? (operation.sensitive === true || isWrite(operation) ? 'before' : 'none')

/** The place of a request's idempotency key, beside which the header is always taken. Undefined: a GET has none. */
export const keyPlaceOf = ({
  method,
  idempotency,
}: Pick<Operation, 'method' | 'idempotency'>): 'body' | 'header' | undefined =>
  method === 'GET' ? undefined : idempotency === 'body' ? 'body' : 'header'

/** Reads the ids of the things that an answer says were made. Empty: the operation makes nothing of its own. */
export function madeIn({ makes }: Pick<Operation, 'makes'>, answer: unknown): readonly string[] {
  if (makes === undefined || makes === 'payment' || makes === 'nothing') return []
  const fields = answer as Readonly<Record<string, unknown>>
  const things = makes.each === undefined ? [fields] : (fields[makes.each] as readonly (typeof fields)[])
  return things.map((thing) => String(thing[makes.id]))
}

/** True if a key is used up. A preview takes the key of the payment that it judges, and leaves it free. */
export const usesKey = (operation: Operation): boolean => operation.method !== 'GET' && isWrite(operation)

/** True if the answer is kept after the effect, and not with it. */
export const keepsAnswer = ({ method, idempotency = 'kept' }: Pick<Operation, 'method' | 'idempotency'>): boolean =>
  method !== 'GET' && idempotency === 'kept'
