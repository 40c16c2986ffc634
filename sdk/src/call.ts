/** The route of an operation, and how a call is turned into a path and a query. */
import { canonicalQuery } from './sign.ts'

export type Route = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly params: readonly string[]
  /** The input besides the path parameters. */
  readonly input: 'body' | 'query' | 'none'
  /** When a failed request may be sent again. */
  readonly retry: 'always' | 'withIdempotencyKey' | 'never'
  /** The paths of amounts in the request and response bodies, such as `data.*.amount`. */
  readonly requestAmounts: readonly string[]
  readonly responseAmounts: readonly string[]
}

export type CallOptions = {
  /** Aborts the call, including its pauses between attempts. */
  readonly signal?: AbortSignal | undefined
}

export type CallInput = {
  readonly params?: Readonly<Record<string, string>> | undefined
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>> | undefined
  readonly body?: unknown
}

export type ApiResponse<T> = { readonly status: number; readonly headers: Headers; readonly body: T }

/** The URL parser removes dot segments, so that the request would go to another path. */
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
