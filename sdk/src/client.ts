/** The API client: a namespace per operation group, with one method per operation. */
import { type ApiResponse, type CallInput, type CallOptions, type Route, readArguments } from './call.ts'
import { createClock } from './clock.ts'
import { type OperationId, methods, operations } from './generated/operations.ts'
import type { Namespaces, OperationResults } from './generated/types.ts'
import type { Hooks } from './hooks.ts'
import { type Page, createPages } from './pages.ts'
import { type Transport, sendCall } from './send.ts'
import { type Credentials, createSigner } from './sign.ts'

export type ClientOptions = Credentials & {
  /** Base URL, for example `https://api.example.com`. Its path is prepended to the path of every operation. */
  readonly baseUrl: string
  readonly fetch?: typeof fetch
  /** The maximum number of attempts after the first. Default: 3. */
  readonly retries?: number
  /** The maximum of the first pause between attempts; it doubles with each attempt. Default: 250. */
  readonly backoffMs?: number
  /** The timeout of one attempt. Default: 30,000. */
  readonly timeoutMs?: number
  readonly hooks?: Hooks
  /** The local clock in milliseconds. Default: `Date.now`. */
  readonly now?: () => number
}

export type Client = Namespaces & {
  /** Calls an operation and also returns the status and the headers, such as `Location` and `Idempotent-Replayed`. */
  readonly call: <K extends OperationId>(
    operation: K,
    input?: CallInput,
    options?: CallOptions,
  ) => Promise<ApiResponse<OperationResults[K]>>
}

/** Page size of auto-pagination: the maximum of the service, so that a long list needs the fewest requests. */
const limitDefault = 100

type Method = (...args: readonly unknown[]) => unknown

function createMethod(transport: Transport, operation: OperationId): Method {
  return async (...args) => {
    const { input, options } = readArguments(operations[operation], args)
    return (await sendCall(transport, operation, input, options)).body
  }
}

function createListAll(transport: Transport, operation: OperationId, cursorName: string): Method {
  return (...args) => {
    const { input, options } = readArguments(operations[operation], args)
    return createPages(async (cursor) => {
      const query = { limit: limitDefault, ...input.query, ...(cursor !== undefined && { [cursorName]: cursor }) }
      return (await sendCall(transport, operation, { ...input, query }, options)).body as Page
    })
  }
}

function createNamespace(transport: Transport, names: Readonly<Record<string, OperationId>>) {
  return Object.fromEntries(
    Object.entries(names).flatMap(([name, operation]): (readonly [string, Method])[] => {
      const { cursor }: Route = operations[operation]
      const method = [name, createMethod(transport, operation)] as const
      if (cursor === undefined) return [method]
      return [method, [name.replace(/^list/, 'listAll'), createListAll(transport, operation, cursor)]]
    }),
  )
}

function parseBaseUrl(text: unknown): URL {
  if (typeof text !== 'string' || !/^https?:\/\//.test(text) || !URL.canParse(text))
    throw new TypeError('baseUrl is not an http or https URL such as "https://api.example.com"')
  return new URL(text)
}

/**
 * Methods throw a subclass of ApiProblem for a problem response, ApiConnectionError if no usable response arrives,
 * TypeError for an invalid call, and the reason of the signal if the call is aborted. Throws a TypeError that states
 * what is wrong with the options.
 */
export function createClient(options: ClientOptions): Client {
  const { fetch: send = fetch, retries = 3, backoffMs = 250, timeoutMs = 30_000, hooks = {}, now = Date.now } = options
  const transport: Transport = {
    baseUrl: parseBaseUrl(options.baseUrl),
    fetch: send,
    sign: createSigner(options),
    clock: createClock(now),
    hooks,
    retries,
    backoffMs,
    timeoutMs,
  }
  const namespaces = Object.fromEntries(
    Object.entries(methods).map(([name, names]) => [name, createNamespace(transport, names)]),
  )
  const call = (operation: OperationId, input?: CallInput, callOptions?: CallOptions) =>
    sendCall(transport, operation, input, callOptions)
  return { ...namespaces, call } as unknown as Client
}
