/** The client: one method per operation, all of them one generic call. */
import { type Answer, type CallInput, type CallOptions, type Route, pathOf, queryOf } from './call.ts'
import { type OperationId, operations } from './generated/operations.ts'
import type { OperationMethods } from './generated/types.ts'
import { parseExactly, stringifyExactly } from './json.ts'
import { ApiProblem, ApiUnreachable, problemOf } from './problem.ts'
import { retrying } from './retry.ts'
import { type Credentials, createSigner } from './sign.ts'

export type ClientOptions = Credentials & {
  /** `https://api.example.com`; a path is kept in front of every operation's. */
  readonly baseUrl: string
  readonly fetch?: typeof fetch
  /** Attempts after the first; 3 unless told. */
  readonly retries?: number
  /** The first pause between attempts at most; it doubles. 250 unless told. */
  readonly backoffMs?: number
  /** Of one attempt; 30,000 unless told. */
  readonly timeoutMs?: number
}

/** What a method of the client answers. */
export type ResultOf<K extends OperationId> = Awaited<ReturnType<OperationMethods[K]>>

export type Client = OperationMethods & {
  /** As the methods, with the status and the headers, such as `Location` and `Idempotent-Replayed`. */
  readonly call: <K extends OperationId>(
    id: K,
    input?: CallInput,
    options?: CallOptions,
  ) => Promise<Answer<ResultOf<K>>>
}

type Attempt = { readonly route: Route; readonly url: URL; readonly body: Uint8Array; readonly signal: AbortSignal }

const noBody = new Uint8Array(0)
const successes: ReadonlySet<number> = new Set([200, 204])

/** POSTs are repeated only where the service recognises the second as the first. */
function mayRepeat({ repeats }: Route, body: unknown): boolean {
  if (repeats !== 'keyed') return repeats === 'always'
  return typeof (body as { readonly idempotencyKey?: unknown } | undefined)?.idempotencyKey === 'string'
}

/** A method's arguments, in the order of its signature: path parameters, body or query, options. */
function readArguments(route: Route, args: readonly unknown[]): readonly [CallInput, CallOptions | undefined] {
  const count = route.params.length
  const params = Object.fromEntries(route.params.map((name, index) => [name, args[index] as string]))
  const options = args[route.takes === 'nothing' ? count : count + 1] as CallOptions | undefined
  if (route.takes === 'body') return [{ params, body: args[count] }, options]
  if (route.takes === 'query') return [{ params, query: args[count] as CallInput['query'] }, options]
  return [{ params }, options]
}

/**
 * Throws ApiProblem where the service refuses, ApiUnreachable where no answer comes, TypeError where the call is not
 * well made, and the signal's reason where it is aborted.
 */
export function createClient(options: ClientOptions): Client {
  const { fetch: send = fetch, retries = 3, backoffMs = 250, timeoutMs = 30_000 } = options
  const baseUrl = new URL(options.baseUrl.replace(/\/+$/, ''))
  const prefix = baseUrl.pathname.replace(/\/+$/, '')
  const sign = createSigner(options)

  const attempt = async ({ route, url, body, signal }: Attempt): Promise<Answer<unknown>> => {
    const { pathname: path, search } = url
    // Each attempt has a nonce and a timestamp of its own: the service accepts neither twice.
    const signature = sign({ method: route.method, path, query: search.slice(1), body })
    const headers = { accept: 'application/json', ...(body.length > 0 && { 'content-type': 'application/json' }) }
    const response = await send(url, {
      method: route.method,
      headers: { ...headers, ...signature },
      ...(body.length > 0 && { body }),
      // A signature is for one path of one host; it is not carried elsewhere.
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    })
    if (!successes.has(response.status)) throw await problemOf(response)
    const text = await response.text()
    const answer = text === '' ? undefined : parseExactly(text, route.amountsOut)
    return { status: response.status, headers: response.headers, body: answer }
  }

  const run = async (id: OperationId, input: CallInput = {}, { signal }: CallOptions = {}) => {
    const route: Route = operations[id]
    const url = new URL(prefix + pathOf(route, input.params), baseUrl)
    url.search = queryOf(input.query)
    const given = input.body
    const body = given === undefined ? noBody : Buffer.from(stringifyExactly(given, route.amountsIn))
    const ended = signal ?? new AbortController().signal
    return retrying(
      async (before) => {
        try {
          return await attempt({ route, url, body, signal: ended })
        } catch (error) {
          if (ended.aborted || error instanceof ApiProblem) throw error
          throw new ApiUnreachable(before + 1, error)
        }
      },
      { retries: mayRepeat(route, given) ? retries : 0, backoffMs, signal },
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
