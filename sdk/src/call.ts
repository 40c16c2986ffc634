/** Converts a call to the path, the query and the body of its operation. */
import { canonicalQuery } from './sign.ts'

export type Route = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly params: readonly string[]
  /** The input in addition to the path parameters. */
  readonly input: 'body' | 'query' | 'none'
  /** When a failed request may be sent again. */
  readonly retry: 'always' | 'withIdempotencyKey' | 'never'
  /** Place of the idempotency key in a request: the header `Idempotency-Key` or the body. */
  readonly idempotencyKey: 'header' | 'body' | undefined
  /** The query parameter that takes the cursor of the next page. */
  readonly cursor: 'cursor' | 'after' | undefined
  /** Set if the response body is a file. */
  readonly content?: true
  /** The paths of amounts in the request and response bodies, such as `data.*.amount`. */
  readonly requestAmounts: readonly string[]
  readonly responseAmounts: readonly string[]
}

export type CallOptions = {
  /** Aborts the call, including its pauses between attempts. */
  readonly signal?: AbortSignal | undefined
  /** The timeout of one attempt. Default: that of the client. */
  readonly timeoutMs?: number | undefined
  /** The maximum number of attempts after the first. Default: that of the client. */
  readonly retries?: number | undefined
  /** The idempotency key of a request, for every operation but a GET. Equivalent to `idempotencyKey` in the body of a payment. */
  readonly idempotencyKey?: string | undefined
  /** The `X-Request-Id` of every attempt: 1 to 64 letters, digits, `.`, `_` or `-`. Default: a new UUID for each call. */
  readonly requestId?: string | undefined
}

export type CallOptionsWithKey = CallOptions & { readonly idempotencyKey: string }

export type CallInput = {
  readonly params?: Readonly<Record<string, string>> | undefined
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>> | undefined
  readonly body?: unknown
}

export type ApiResponse<T> = { readonly status: number; readonly headers: Headers; readonly body: T }

/** Matches an empty text and dot segments. The URL parser removes these, so the request would go to another path. */
const dotSegment = /^\.{0,2}$/

/** Throws a TypeError if a parameter is missing, empty or a dot segment. */
export function buildPath(route: Route, params: CallInput['params'] = {}): string {
  return route.path.replace(/\{(\w+)\}/g, (_match, name: string) => {
    const value = params[name]
    if (typeof value !== 'string' || dotSegment.test(value))
      throw new TypeError(`${name} is not a valid path parameter`)
    return encodeURIComponent(value)
  })
}

/** Builds the query in its canonical form, so that the sent and the signed query are equal. Omits undefined values. */
export function buildQuery(query: CallInput['query'] = {}): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [`${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`],
  )
  return canonicalQuery(pairs.join('&'))
}

type BodyWithKey = { readonly idempotencyKey?: unknown } | undefined

const keyOf = (body: unknown) => (body as BodyWithKey)?.idempotencyKey

/**
 * Adds the idempotency key of the options to the body, if the operation has it there. Throws a TypeError if the body has another key, or
 * if the operation does not accept a key.
 */
export function buildBody(route: Route, body: unknown, key: string | undefined): unknown {
  if (key === undefined) return body
  if (route.idempotencyKey === undefined) throw new TypeError(`${route.method} ${route.path} takes no idempotency key`)
  if (route.idempotencyKey === 'header') return body
  const given = keyOf(body)
  if (given !== undefined && given !== key)
    throw new TypeError('the body and the options have different idempotency keys')
  return { ...(body as object), idempotencyKey: key }
}

/** A POST is retried only if it is idempotent: by its definition or by an idempotency key. */
export function isIdempotent({ retry }: Route, body: unknown, key: string | undefined): boolean {
  return retry === 'withIdempotencyKey' ? typeof (key ?? keyOf(body)) === 'string' : retry === 'always'
}

/** Reads the arguments of a method: path parameters, then body or query, then options. */
export function readArguments(
  route: Route,
  args: readonly unknown[],
): { readonly input: CallInput; readonly options: CallOptions | undefined } {
  const count = route.params.length
  const params = Object.fromEntries(route.params.map((name, index) => [name, args[index] as string]))
  const options = args[route.input === 'none' ? count : count + 1] as CallOptions | undefined
  if (route.input === 'body') return { input: { params, body: args[count] }, options }
  if (route.input === 'query') return { input: { params, query: args[count] as CallInput['query'] }, options }
  return { input: { params }, options }
}
