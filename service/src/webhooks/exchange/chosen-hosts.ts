/**
 * The one way to hosts that a partner or a stranger has chosen. Such a host may be silent, slow or without an end, and a person or a request
 * waits for it. So each call takes a place of its partner and of all, has a time limit, and is refused at once while its host rests.
 * Deliveries of webhooks have a queue and leases instead (queue/).
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { createRequire } from 'node:module'
import type { ProblemCode } from '@partner-payments/wire'
import type * as undici from 'undici'
import { isInSharedAdmission, Refusal } from '../../kernel/api/index.ts'
import { assert, type Breaker, createBreaker, inTime, secondMs } from '../../kernel/index.ts'
import type { SendRequest } from '../management/test-delivery.ts'
import type { AttemptResult } from '../queue/schedule.ts'
import { createExchange, type ExchangeOptions, exchangeTimeoutMsDefault, type LocalExchange } from './exchange.ts'
import { createGuard, readOnAfterInterim } from './guard.ts'
import { createTxtResolver, type Resolve, systemResolve } from './resolver.ts'

type Kind = {
  /** Names the calls in a refusal. */
  readonly calls: string
  /** Calls of one partner at once. Each kind has places of its own, so that a key which tests endpoints keeps no person from signing in. */
  readonly ofPartnerMax: number
  /** Limits the whole call, with all of its requests. */
  readonly timeoutMs: number
  readonly refusedAs: ProblemCode
}

/** Every kind of call, with its budget. */
export const chosenCalls = {
  /** Metadata, keys, token and claims of a provider of OpenID Connect. Begun by anybody who opens the page. */
  signOn: { calls: 'sign-ins', ofPartnerMax: 8, timeoutMs: 8 * secondMs, refusedAs: 'overloaded' },
  /** The TXT record of a domain. */
  domainRecord: { calls: 'proofs of a domain', ofPartnerMax: 2, timeoutMs: 5 * secondMs, refusedAs: 'overloaded' },
  /** One signed sample to an endpoint of webhooks. Its exchange ends by the limit of deliveries. */
  webhookTest: {
    calls: 'endpoint tests',
    ofPartnerMax: 4,
    timeoutMs: exchangeTimeoutMsDefault + secondMs,
    refusedAs: 'webhook_test_too_soon',
  },
} as const satisfies Readonly<Record<string, Kind>>
export type ChosenCall = keyof typeof chosenCalls

/** Calls of all partners at once. Each costs a connection: a small number of silent hosts must not refuse everybody else. */
export const placesMax = 64
/** A call that fails faster than this costs nothing, so that it does not count against its host. */
const slowMs = 2 * secondMs
/** Hosts that are remembered because they were slow. Beyond it the oldest is forgotten. */
const hostsMax = 10_000

const requestTimeoutMs = 5 * secondMs
const connectTimeoutMs = 3 * secondMs
const answerBytesMax = 1024 * 1024

export type ChosenRequest = {
  readonly method: string
  readonly headers: Record<string, string>
  readonly body?: string | Uint8Array | ArrayBuffer | URLSearchParams | ReadableStream | null | undefined
  readonly signal?: AbortSignal | undefined
}

export type ChosenHosts = {
  /**
   * Makes a call, whose requests go by `fetch`. Refuses at once: overloaded, or the code of the kind, with Retry-After. Rejects with Late at the
   * time limit. Throws AssertionFailure if the request at hand holds a place that all partners share.
   */
  readonly call: <T>(kind: ChosenCall, partnerId: string, host: string, work: () => Promise<T>) => Promise<T>
  /** Sends one request of a call, reads at most a mebibyte of its answer and follows no redirect. Rejects with a TypeError or a TimeoutError. */
  readonly fetch: (url: string, request: ChosenRequest) => Promise<Response>
  /** The texts of the TXT records of a name. Refuses as `call` does. Rejects with a `code` of DNS if it has none. */
  readonly resolveTxt: (partnerId: string, name: string) => Promise<readonly string[]>
  /** Refuses as `call` does. */
  readonly sendTest: SendRequest
}

export type ChosenHostsOptions = Pick<ExchangeOptions, 'clock' | 'allowLoopback' | 'proxy'> & {
  /** The operator has chosen the hosts, which may be on a private network. The guard of addresses is off. */
  readonly isTrusted?: boolean
  /** Default: the name servers of the system, here and below. */
  readonly resolve?: Resolve
  readonly resolveTxt?: ((name: string) => Promise<readonly string[]>) | undefined
}

const require = createRequire(import.meta.url)
const inCall = new AsyncLocalStorage<true>()

export function createChosenHosts(options: ChosenHostsOptions): ChosenHosts {
  const take = createPlaces()
  const { resolve = systemResolve, resolveTxt: readTxt = createTxtResolver() } = options
  let exchange: LocalExchange | undefined
  const exchangeOf = () => (exchange ??= createExchange({ ...options, resolve, timeoutMs: exchangeTimeoutMsDefault }))

  const call = async <T>(
    kind: ChosenCall,
    partnerId: string,
    host: string,
    work: () => Promise<T>,
    isFailure: (answer: T) => boolean = () => false,
  ): Promise<T> => {
    assert(!isInSharedAdmission(), `the route or operation of a ${kind} call has to declare callsChosenHost`)
    const end = take(kind, partnerId, host)
    return inTime(chosenCalls[kind].timeoutMs, async () => {
      let hasFailed = true
      try {
        const answer = await inCall.run(true, work)
        hasFailed = isFailure(answer)
        return answer
      } finally {
        // A place is free when the call has ended, not when its caller has stopped waiting.
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
            exchangeOf().send({ ...request, target: { url, keys } }, (result) =>
              result === undefined ? reject(new Error('a single request is never abandoned')) : done(result),
            )
          }),
        ({ status }) => status === undefined,
      ),
  }
}

/** A host of a partner. Another partner's host of the same name is another one: no partner rests the host of another. */
type Host = { readonly breaker: Breaker; underWay: number }

/** Counts calls by partner and in all, and the failures of hosts. Returns what ends a call. */
function createPlaces() {
  const ofPartner = new Map<string, number>()
  const hosts = new Map<string, Host>()
  let taken = 0

  const refuse = (kind: Kind, why: string) => {
    const seconds = String(Math.ceil(kind.timeoutMs / secondMs))
    return new Refusal(kind.refusedAs, `${why} Try again in ${seconds} seconds.`, {
      headers: { 'retry-after': seconds },
    })
  }
  return (name: ChosenCall, partnerId: string, hostName: string): ((hasFailed: boolean) => void) => {
    const kind: Kind = chosenCalls[name]
    const partner = `${name} ${partnerId}`
    const key = `${partner} ${hostName}`
    const host = hosts.get(key) ?? { breaker: createBreaker(), underWay: 0 }
    const state = host.breaker.state()
    if (state === 'open' || (state === 'half-open' && host.underWay > 0))
      throw refuse(kind, `The host ${hostName} has not answered the last ${kind.calls} in time.`)
    const count = ofPartner.get(partner) ?? 0
    if (count >= kind.ofPartnerMax || taken >= placesMax) throw refuse(kind, `Too many ${kind.calls} are in progress.`)
    const [oldest] = hosts.keys()
    if (oldest !== undefined && hosts.size >= hostsMax && !hosts.has(key)) hosts.delete(oldest)
    hosts.set(key, host)
    host.underWay += 1
    ofPartner.set(partner, count + 1)
    taken += 1
    const startMs = performance.now()
    return (hasFailed) => {
      taken -= 1
      host.underWay -= 1
      const left = (ofPartner.get(partner) ?? 1) - 1
      if (left === 0) ofPartner.delete(partner)
      else ofPartner.set(partner, left)
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
  const connectOf = (): undici.buildConnector.connector => {
    if (options.isTrusted !== true) return createGuard({ ...options, connectTimeoutMs }).connect
    const { buildConnector } = require('undici') as typeof undici
    const dial = buildConnector({ allowH2: false, timeout: connectTimeoutMs })
    return (target, callback) =>
      dial(target, (error, socket) =>
        error === null ? callback(null, readOnAfterInterim(socket)) : callback(error, null),
      )
  }
  return async (url, { method, headers: sent, body = null, signal }) => {
    assert(inCall.getStore() === true, 'a request to a chosen host is a part of a call')
    const { Agent, fetch } = require('undici') as typeof undici
    agent ??= new Agent({ allowH2: false, keepAliveTimeout: secondMs, connect: connectOf() })
    const response = await fetch(url, {
      ...{ method, headers: sent, redirect: 'manual', dispatcher: agent, body },
      signal: AbortSignal.any([AbortSignal.timeout(requestTimeoutMs), ...(signal ? [signal] : [])]),
    })
    const chunks: Uint8Array[] = []
    let bytes = 0
    for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      bytes += chunk.length
      if (bytes > answerBytesMax) throw new TypeError(`the answer has more than ${answerBytesMax} bytes`)
      chunks.push(chunk)
    }
    const { status, headers } = response
    return new Response(bytes === 0 ? null : Buffer.concat(chunks), { status, headers: [...headers] })
  }
}
