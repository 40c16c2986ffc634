/** What the client knows of an operation, and how a call becomes a path and a query. */
import { canonicalQuery } from './sign.ts'

export type Route = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly params: readonly string[]
  readonly takes: 'body' | 'query' | 'nothing'
  /** `keyed`: repeated only under an idempotency key. */
  readonly repeats: 'always' | 'keyed' | 'never'
  readonly amountsIn: readonly string[]
  readonly amountsOut: readonly string[]
}

export type CallOptions = {
  /** Ends the call, its waiting between attempts included. */
  readonly signal?: AbortSignal | undefined
}

export type CallInput = {
  readonly params?: Readonly<Record<string, string>> | undefined
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>> | undefined
  readonly body?: unknown
}

export type Answer<T> = { readonly status: number; readonly headers: Headers; readonly body: T }

/** Dot segments would be resolved away by the URL parser, and another path than the one meant would be called. */
const dotSegment = /^\.{0,2}$/

/** Throws a TypeError where a parameter is missing, empty or a dot segment. */
export function pathOf(route: Route, params: CallInput['params'] = {}): string {
  return route.path.replace(/\{(\w+)\}/g, (_match, name: string) => {
    const value = params[name]
    if (typeof value !== 'string' || dotSegment.test(value)) throw new TypeError(`${name} is not a path parameter`)
    return encodeURIComponent(value)
  })
}

/** The query in its canonical form, so that what is sent and what is signed are one text. Undefined is left out. */
export function queryOf(query: CallInput['query'] = {}): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [`${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`],
  )
  return canonicalQuery(pairs.join('&'))
}
