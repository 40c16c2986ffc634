/** The API client: one method per operation, all based on one generic call. */
import { type ApiResponse, type CallInput, type CallOptions, type Route, buildPath, buildQuery } from './call.ts'
import { type OperationId, operations } from './generated/operations.ts'
import type { OperationMethods } from './generated/types.ts'
import { parseExactly, stringifyExactly } from './json.ts'
import { ApiProblem, ApiConnectionError, readProblem } from './problem.ts'
import { withRetries } from './retry.ts'
import { type Credentials, createSigner } from './sign.ts'

export type ClientOptions = Credentials & {
  /** For example `https://api.example.com`. A path is prepended to the path of every operation. */
  readonly baseUrl: string
  readonly fetch?: typeof fetch
  /** The maximum number of attempts after the first. Default: 3. */
  readonly retries?: number
  /** The maximum of the first pause between attempts; it doubles with each attempt. Default: 250. */
  readonly backoffMs?: number
  /** The timeout of one attempt. Default: 30,000. */
  readonly timeoutMs?: number
}

/** The result type of a client method. */
export type ResultOf<K extends OperationId> = Awaited<ReturnType<OperationMethods[K]>>

export type Client = OperationMethods & {
  /** Calls an operation and also returns the status and the headers, such as `Location` and `Idempotent-Replayed`. */
  readonly call: <K extends OperationId>(
    id: K,
    input?: CallInput,
    options?: CallOptions,
  ) => Promise<ApiResponse<ResultOf<K>>>
}

type Attempt = { readonly route: Route; readonly url: URL; readonly body: Uint8Array; readonly signal: AbortSignal }

const noBody = new Uint8Array(0)
const successStatuses: ReadonlySet<number> = new Set([200, 204])

/** A POST is retried only if it is idempotent: by its definition or by an idempotency key. */
function isIdempotent({ retry }: Route, body: unknown): boolean {
  if (retry !== 'withIdempotencyKey') return retry === 'always'
  return typeof (body as { readonly idempotencyKey?: unknown } | undefined)?.idempotencyKey === 'string'
}

/** Reads the arguments of a method: path parameters, then body or query, then options. */
function readArguments(route: Route, args: readonly unknown[]): readonly [CallInput, CallOptions | undefined] {
  const count = route.params.length
  const params = Object.fromEntries(route.params.map((name, index) => [name, args[index] as string]))
  const options = args[route.input === 'none' ? count : count + 1] as CallOptions | undefined
  if (route.input === 'body') return [{ params, body: args[count] }, options]
  if (route.input === 'query') return [{ params, query: args[count] as CallInput['query'] }, options]
  return [{ params }, options]
}

/**
 * Methods throw ApiProblem for a problem response, ApiConnectionError if no usable response arrives, TypeError for an
 * invalid call, and the reason of the signal if the call is aborted.
 */
export function createClient(options: ClientOptions): Client {
  const { fetch: send = fetch, retries = 3, backoffMs = 250, timeoutMs = 30_000 } = options
  const baseUrl = new URL(options.baseUrl.replace(/\/+$/, ''))
  const prefix = baseUrl.pathname.replace(/\/+$/, '')
  const sign = createSigner(options)

  const attempt = async ({ route, url, body, signal }: Attempt): Promise<ApiResponse<unknown>> => {
    const { pathname: path, search } = url
    // Each attempt has its own nonce and timestamp, because the service accepts a nonce once.
    const signature = sign({ method: route.method, path, query: search.slice(1), body })
    const headers = { accept: 'application/json', ...(body.length > 0 && { 'content-type': 'application/json' }) }
    const response = await send(url, {
      method: route.method,
      headers: { ...headers, ...signature },
      ...(body.length > 0 && { body }),
      // A signed request is never redirected to another host or path.
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    })
    if (!successStatuses.has(response.status)) throw await readProblem(response)
    const text = await response.text()
    const responseBody = text === '' ? undefined : parseExactly(text, route.responseAmounts)
    return { status: response.status, headers: response.headers, body: responseBody }
  }

  const run = async (id: OperationId, input: CallInput = {}, { signal }: CallOptions = {}) => {
    const route: Route = operations[id]
    const url = new URL(prefix + buildPath(route, input.params), baseUrl)
    url.search = buildQuery(input.query)
    const requestBody = input.body
    const body = requestBody === undefined ? noBody : Buffer.from(stringifyExactly(requestBody, route.requestAmounts))
    const abortSignal = signal ?? new AbortController().signal
    return withRetries(
      async (previousAttempts) => {
        try {
          return await attempt({ route, url, body, signal: abortSignal })
        } catch (error) {
          if (abortSignal.aborted || error instanceof ApiProblem) throw error
          throw new ApiConnectionError(previousAttempts + 1, error)
        }
      },
      { retries: isIdempotent(route, requestBody) ? retries : 0, backoffMs, signal },
    )
  }

  const methods = Object.fromEntries(
    (Object.keys(operations) as OperationId[]).map((id) => [
      id,
      async (...args: readonly unknown[]) => (await run(id, ...readArguments(operations[id], args))).body,
    ]),
  )
  return { ...methods, call: run } as Client
}
