/**
 * Makes all calls to hosts that a partner or a stranger has chosen. Such a host may be silent, slow or send endlessly while a person or a
 * request waits. So calls are limited per partner and in total, have a time limit, and are refused at once while the host's breaker is open.
 * Webhook deliveries have a queue and leases instead (queue/).
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { createRequire } from 'node:module'
import type { ProblemCode } from '@partner-payments/wire'
import type * as undici from 'undici'
import { isInSharedAdmission, Refusal } from '../../kernel/api/index.ts'
import { assert, type Breaker, createBreaker, withTimeLimit, secondMs } from '../../kernel/index.ts'
import type { SendRequest } from '../management/test-delivery.ts'
import type { AttemptResult } from '../queue/schedule.ts'
import { createExchange, type ExchangeOptions, exchangeTimeoutMsDefault, type LocalExchange } from './exchange.ts'
import { createGuard, filterInterimResponses } from './guard.ts'
import { createTxtResolver, type Resolve, systemResolve } from './resolver.ts'

type CallBudget = {
  /** Word for the calls in the text of a refusal. */
  readonly calls: string
  /** Concurrent calls of one partner. Each kind has its own limit, so that a service account that tests endpoints cannot block sign-ins. */
  readonly perPartnerMax: number
  /** Limits the whole call, with all of its requests. */
  readonly timeoutMs: number
  readonly refusedAs: ProblemCode
}

export const hostCallKinds = {
  /** Metadata, keys, token and claims of an OpenID Connect provider. Anybody who opens the sign-in page causes these calls. */
  signOn: { calls: 'sign-ins', perPartnerMax: 8, timeoutMs: 8 * secondMs, refusedAs: 'overloaded' },
  domainRecord: { calls: 'domain checks', perPartnerMax: 2, timeoutMs: 5 * secondMs, refusedAs: 'overloaded' },
  /** One signed sample to a webhook endpoint. Its exchange has the time limit of deliveries. */
  webhookTest: {
    calls: 'endpoint tests',
    perPartnerMax: 4,
    timeoutMs: exchangeTimeoutMsDefault + secondMs,
    refusedAs: 'webhook_test_too_soon',
  },
} as const satisfies Readonly<Record<string, CallBudget>>
export type HostCallKind = keyof typeof hostCallKinds

/** Concurrent calls of all partners. Each costs a connection: a few silent hosts must not block all other partners. */
export const concurrentCallsMax = 64
/** A failure counts against its host only if the call took at least this long. */
const slowMs = 2 * secondMs
/** Hosts whose failures are remembered. When full, the oldest is dropped. */
const hostsMax = 10_000

const requestTimeoutMs = 5 * secondMs
const connectTimeoutMs = 3 * secondMs
const answerBytesMax = 1024 * 1024

type HostRequest = {
  readonly method: string
  readonly headers: Record<string, string>
  readonly body?: string | Uint8Array | ArrayBuffer | URLSearchParams | ReadableStream | null | undefined
  readonly signal?: AbortSignal | undefined
}

export type ChosenHosts = {
  /**
   * Runs `work`, which must send its requests with `fetch`. Refuses immediately when a limit is reached: overloaded, or the problem code
   * of `kind`, with Retry-After. Rejects with Late at the time limit. Throws AssertionFailure inside shared admission.
   */
  readonly call: <T>(kind: HostCallKind, partnerId: string, host: string, work: () => Promise<T>) => Promise<T>
  /** Sends one request of a call. Reads up to one mebibyte and does not follow redirects. Rejects with a TypeError or a TimeoutError. */
  readonly fetch: (url: string, request: HostRequest) => Promise<Response>
  /** Returns the texts of a name's TXT records. Refuses as `call` does. Rejects with a DNS `code` if there are none. */
  readonly resolveTxt: (partnerId: string, name: string) => Promise<readonly string[]>
  /** Sends a test delivery. Refuses as `call` does. */
  readonly sendTest: SendRequest
}

export type ChosenHostsOptions = Pick<ExchangeOptions, 'clock' | 'allowLoopback' | 'proxy'> & {
  /** The operator has chosen the hosts, which may be on a private network. Turns the address guard off. */
  readonly isTrusted?: boolean
  /** Default for `resolve` and `resolveTxt`: the name servers of the system. */
  readonly resolve?: Resolve
  readonly resolveTxt?: ((name: string) => Promise<readonly string[]>) | undefined
}

const require = createRequire(import.meta.url)
const inCall = new AsyncLocalStorage<true>()

export function createChosenHosts(options: ChosenHostsOptions): ChosenHosts {
  const take = createCallLimiter()
  const { resolve = systemResolve, resolveTxt: readTxt = createTxtResolver() } = options
  let exchange: LocalExchange | undefined
  const openExchange = () => (exchange ??= createExchange({ ...options, resolve, timeoutMs: exchangeTimeoutMsDefault }))

  const call = async <T>(
    kind: HostCallKind,
    partnerId: string,
    host: string,
    work: () => Promise<T>,
    isFailure: (answer: T) => boolean = () => false,
  ): Promise<T> => {
    assert(
      !isInSharedAdmission(),
      `a ${kind} call inside shared admission: declare callsChosenHost on its route or operation`,
    )
    const end = take(kind, partnerId, host)
    return withTimeLimit(hostCallKinds[kind].timeoutMs, async () => {
      let hasFailed = true
      try {
        const answer = await inCall.run(true, work)
        hasFailed = isFailure(answer)
        return answer
      } finally {
        // Counts until the call ends, even if its caller has stopped waiting.
        end(hasFailed)
      }
    })
  }
  return {
    call,
    fetch: createFetch({ ...options, resolve }),
    resolveTxt: async (partnerId, name) => call('domainRecord', partnerId, name, () => readTxt(name)),
    sendTest: async ({ partnerId, url, keys, ...request }) =>
      call(
        'webhookTest',
        partnerId,
        new URL(url).host,
        () =>
          new Promise<AttemptResult>((done, reject) => {
            openExchange().send({ ...request, target: { url, keys } }, (result) =>
              result === undefined ? reject(new Error('the exchange of a test delivery was abandoned')) : done(result),
            )
          }),
        ({ status }) => status === undefined,
      ),
  }
}

/** State of a host for one partner and kind of call, so that one partner's failures do not affect another partner. */
type HostState = { readonly breaker: Breaker; underWay: number }

/** Limits concurrent calls per partner and in total, and refuses hosts that failed slowly. Returns a function that ends the call. */
function createCallLimiter() {
  const callsByPartner = new Map<string, number>()
  const hosts = new Map<string, HostState>()
  let callsInProgress = 0

  const refuse = (kind: CallBudget, why: string) => {
    const seconds = String(Math.ceil(kind.timeoutMs / secondMs))
    return new Refusal(kind.refusedAs, `${why} Try again in ${seconds} seconds.`, {
      headers: { 'retry-after': seconds },
    })
  }
  return (name: HostCallKind, partnerId: string, hostName: string): ((hasFailed: boolean) => void) => {
    const kind: CallBudget = hostCallKinds[name]
    const partner = `${name} ${partnerId}`
    const key = `${partner} ${hostName}`
    const host = hosts.get(key) ?? { breaker: createBreaker(), underWay: 0 }
    const state = host.breaker.state()
    if (state === 'open' || (state === 'half-open' && host.underWay > 0))
      throw refuse(kind, `The host ${hostName} has not answered the last ${kind.calls} in time.`)
    const count = callsByPartner.get(partner) ?? 0
    if (count >= kind.perPartnerMax || callsInProgress >= concurrentCallsMax)
      throw refuse(kind, `Too many ${kind.calls} are in progress.`)
    const [oldest] = hosts.keys()
    if (oldest !== undefined && hosts.size >= hostsMax && !hosts.has(key)) hosts.delete(oldest)
    hosts.set(key, host)
    host.underWay += 1
    callsByPartner.set(partner, count + 1)
    callsInProgress += 1
    const startMs = performance.now()
    return (hasFailed) => {
      callsInProgress -= 1
      host.underWay -= 1
      const left = (callsByPartner.get(partner) ?? 1) - 1
      if (left === 0) callsByPartner.delete(partner)
      else callsByPartner.set(partner, left)
      if (hasFailed && performance.now() - startMs >= slowMs) host.breaker.failed()
      else {
        host.breaker.answered()
        if (host.underWay === 0) hosts.delete(key)
      }
    }
  }
}

function createFetch(options: ChosenHostsOptions & { readonly resolve: Resolve }): ChosenHosts['fetch'] {
  let agent: undici.Agent | undefined
  const createConnector = (): undici.buildConnector.connector => {
    if (options.isTrusted !== true) return createGuard({ ...options, connectTimeoutMs }).connect
    const { buildConnector } = require('undici') as typeof undici
    const dial = buildConnector({ allowH2: false, timeout: connectTimeoutMs })
    return (target, callback) =>
      dial(target, (error, socket) =>
        error === null ? callback(null, filterInterimResponses(socket)) : callback(error, null),
      )
  }
  return async (url, { method, headers: sent, body = null, signal }) => {
    assert(inCall.getStore() === true, 'a request to a chosen host was sent outside of `call`')
    const { Agent, fetch: send } = require('undici') as typeof undici
    agent ??= new Agent({ allowH2: false, keepAliveTimeout: secondMs, connect: createConnector() })
    const response = await send(url, {
      method,
      headers: sent,
      redirect: 'manual',
      dispatcher: agent,
      body,
      signal: AbortSignal.any([AbortSignal.timeout(requestTimeoutMs), ...(signal ? [signal] : [])]),
    })
    const chunks: Uint8Array[] = []
    let bytes = 0
    for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      bytes += chunk.length
      if (bytes > answerBytesMax) throw new TypeError(`the response has more than ${answerBytesMax} bytes`)
      chunks.push(chunk)
    }
    const { status, headers } = response
    return new Response(bytes === 0 ? null : Buffer.concat(chunks), { status, headers: [...headers] })
  }
}
