/** The methods that the routes of a server serve, for its answers 405 (RFC 9110, section 15.5.6). */

/** A route. `pattern`: of the paths that it serves. */
export type Served = { readonly pattern: RegExp; readonly methods: readonly string[] }

/** `url`: in Fastify's notation of parameters, such as `/v1/customers/:id`. */
export const servedBy = (url: string, methods: readonly string[]): Served => ({
  pattern: new RegExp(`^${url.replaceAll('.', '\\.').replaceAll(/:\w+/g, '[^/]+')}$`),
  methods,
})

/** Returns the methods of all routes with this path, each once. Empty: there is none. */
export const methodsAt = (served: readonly Served[], path: string): readonly string[] => [
  ...new Set(served.filter(({ pattern }) => pattern.test(path)).flatMap(({ methods }) => methods)),
]
