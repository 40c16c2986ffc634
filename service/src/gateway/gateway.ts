/** The three forms of the gateway. Each is a pipeline behind the HTTP server. */
import { once } from 'node:events'
import type { Server as HttpServer } from 'node:http'
import { type AddressInfo, Server as SocketServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { type Operation, type OperationId, operations as table } from '@partner-payments/wire'
import type { Access } from '../access/index.ts'
import { type Admitted, admitted, type AllHandlers, type Caller, type PublicSite } from '../api/index.ts'
import type { Clock, Log } from '../kernel/index.ts'
import { type AdmissionControl, createAdmissionControl } from './admission.ts'
import { type AuthenticationOptions, createAuthentication } from './authentication.ts'
import { requireUnencoded } from './body.ts'
import { createDispatcher } from './dispatcher.ts'
import { type Downloads, mountDownloads } from './downloads.ts'
import { startDeadline } from './deadline.ts'
import { createForwarder, type Forwarder } from './forward.ts'
import { createIncoming, type Incoming, type IncomingLimits } from './incoming.ts'
import { createInternalTokens, type InternalTokens, targetOf } from './internal-token.ts'
import type { ItemRate } from './items.ts'
import { createNonceCheck } from './nonces.ts'
import { compileOperations } from './operation.ts'
import { forwardPublic, internalPublic, servePublic } from './public.ts'
import { createRefusals } from './refusals.ts'
import { createServer, type Pipeline, type RawRequest, type Reply, type ServerOptions } from './server.ts'
import { mountStaticPages, type Page } from './static-pages.ts'

export type GatewayOptions = {
  readonly headerBytesMax: number
  readonly trustedProxies?: ServerOptions['trustedProxies']
  readonly tracing?: ServerOptions['tracing']
  readonly strictTransport?: ServerOptions['strictTransport']
  readonly headersTimeoutMs: number
  readonly requestTimeoutMs: number
  /** Requests in progress at once, counted from the end of their bodies. */
  readonly requestsMax: number
  readonly log: Log
  readonly clock: Clock
  readonly sandbox: boolean
  /** The rate of items that the requests of a partner ask for. */
  readonly itemRate: ItemRate['itemRate']
  readonly handlers: AllHandlers
  readonly downloads?: Downloads
  readonly sites: readonly PublicSite[]
  readonly internalKey: Uint8Array
  readonly observe?: ServerOptions['observe']
  readonly record?: ServerOptions['record']
} & IncomingLimits &
  (Standalone | Forwarding | Internal)

type Signed = {
  readonly pages: readonly Page[]
  readonly access: Access
  readonly windowSeconds: number
  readonly rate: AuthenticationOptions['rate']
  /** The rate of one client address on public pages. */
  readonly pageRate: { readonly perSecond: number; readonly burst: number }
}
/** Authenticates requests and runs the handlers. */
type Standalone = Signed & { readonly form: 'standalone' }
/** Authenticates requests and forwards them to an api process. */
type Forwarding = Signed & { readonly form: 'gateway'; readonly apiUrl: string; readonly apiTimeoutMs: number }
/** Runs the handlers for requests that a gateway process has authenticated. */
type Internal = { readonly form: 'api' }

export type Gateway = {
  /** Resolves to the port. Rejects with the socket's error (EADDRINUSE, EACCES, ...). */
  readonly listen: (host: string, port: number) => Promise<number>
  /** Starts draining: every response has `Connection: close`. Connections and requests are accepted until `close`. */
  readonly drain: () => void
  /**
   * Accepts no more connections. Answers requests on open connections for `lingerMs`, then closes idle connections and
   * answers the requests in progress, for at most `drainMsMax`.
   */
  readonly close: (lingerMs?: number) => Promise<void>
}

/**
 * Limit of draining: as long as the longest database statement. Slower and incomplete requests do not delay the stop.
 */
const drainMsMax = 15_000

export function createGateway(options: GatewayOptions): Gateway {
  const admission = createAdmissionControl(options.requestsMax)
  const incoming = createIncoming(options)
  const refusals = createRefusals(options.clock)
  const shared = { ...options, admission, incoming }
  const mount: Forwarder['mount'] = (app) => {
    if (options.form !== 'api') mountStaticPages(app, options.pages, { ...options, admission })
    if (options.downloads) mountDownloads(app, options.downloads, { ...options, admission })
  }
  if (options.form === 'standalone')
    return openGateway({ ...shared, refusals, pipeline: standalone(options, admission, incoming) }, mount)
  const tokens = createInternalTokens({ key: options.internalKey, clock: options.clock })
  if (options.form === 'api')
    return openGateway({ ...shared, targetOf, pipeline: internal(options, tokens, admission, incoming) })
  const forwarder = createForwarder({ ...options, tokens })
  const pipeline = forwarding(options, forwarder, admission, incoming)
  return openGateway({ ...shared, refusals, pipeline }, (app) => {
    forwarder.mount(app)
    mount(app)
  })
}

export function openGateway(options: ServerOptions, mount: Forwarder['mount'] = () => {}): Gateway {
  const { app, drain } = createServer(options)
  mount(app)
  return {
    listen: async (host, port) => {
      await app.listen({ host, port })
      return (app.server.address() as AddressInfo).port
    },
    drain,
    close: async (lingerMs = 0) => {
      drain()
      if (app.server.listening) await closeServer(app.server, lingerMs)
      await app.close()
    },
  }
}

async function closeServer(server: HttpServer, lingerMs: number): Promise<void> {
  const closed = once(server, 'close')
  // The method of an HTTP server would also close idle connections, on which a proxy may be sending a request.
  SocketServer.prototype.close.call(server)
  await Promise.race([closed, pause(lingerMs)])
  server.closeIdleConnections()
  const timer = setTimeout(() => server.closeAllConnections(), drainMsMax)
  await closed
  clearTimeout(timer)
}

/** Operations say which places they take. An unknown path takes a shared one. */
const askedBy = (id: OperationId | undefined): Admitted => (id === undefined ? {} : (table[id] as Operation))

function standalone(options: GatewayOptions & Standalone, admission: AdmissionControl, incoming: Incoming): Pipeline {
  const authenticate = createAuthentication(options, admission, incoming)
  const dispatch = createDispatcher(options)
  const answer = async (id: OperationId | undefined, request: RawRequest): Promise<Reply | undefined> => {
    const asked = askedBy(id)
    const { caller, nonce, body, rateLimitHeaders, deadline, release } = await authenticate(request, asked)
    // A request that was answered late still counts until its work has ended.
    const work = admitted(asked, () => dispatch(id, { ...request, caller, nonce, body })).finally(release)
    const reply = await deadline(work)
    return reply && { ...reply, headers: { ...rateLimitHeaders, ...reply.headers } }
  }
  const pages = servePublic(options, { admission, incoming })
  return { audiences: { signed: answer }, authenticateOnly: (request) => answer(undefined, request), pages }
}

function forwarding(
  options: GatewayOptions & Forwarding,
  forwarder: Forwarder,
  admission: AdmissionControl,
  incoming: Incoming,
): Pipeline {
  const authenticate = createAuthentication(options, admission, incoming)
  // The durable commit of a write happens in another process and is not visible here.
  const checkNonce = createNonceCheck({ ...options, asyncCommitOfWrites: false })
  const operationOf = compileOperations(options)
  return {
    pages: forwardPublic(options, { admission, incoming }, forwarder),
    authenticateOnly: async (request) => {
      const { caller, nonce, deadline, release } = await authenticate(request, {})
      await deadline(
        checkNonce({ ...request, caller, nonce })
          .consume()
          .finally(release),
      )
      return undefined
    },
    audiences: {
      signed: async (id, request, reply) => {
        const authenticated = await authenticate(request, askedBy(id))
        const { caller, nonce, body, rateLimitHeaders: headers, deadline, release } = authenticated
        try {
          await deadline(checkNonce({ ...request, caller, nonce }).consume())
          operationOf(id).authorize(caller, request.params)
          requireUnencoded(request.headers['content-encoding'])
          const { content = [] }: Operation = table[id]
          const problem = await forwarder.forward(request, { caller, body, headers, content }, reply)
          return problem && { ...problem, headers: { ...headers, ...problem.headers } }
        } finally {
          release()
        }
      },
    },
  }
}

type Verified = { readonly caller: Caller; readonly ip: string; readonly body: Buffer }

function internal(
  options: GatewayOptions & Internal,
  tokens: InternalTokens,
  admission: AdmissionControl,
  incoming: Incoming,
): Pipeline {
  const operationOf = compileOperations(options)
  const verified = async <T>(
    request: RawRequest,
    asked: Admitted,
    work: (verified: Verified) => T | Promise<T>,
  ): Promise<T> => {
    const body = await incoming.read(request.message)
    const { caller, ip } = tokens.verify(request.headers, { method: request.method, url: request.url, body })
    request.trace.caller = caller
    request.trace.ip = ip
    incoming.verified(request.message.socket)
    const release = admission.admit(asked)
    const deadline = startDeadline(options.requestTimeoutMs)
    return deadline(Promise.try(() => admitted(asked, () => work({ caller, ip, body }))).finally(release))
  }
  return {
    pages: internalPublic(options, tokens, { admission, incoming }),
    authenticateOnly: (request) => verified(request, {}, () => undefined),
    audiences: {
      signed: (id, request) =>
        verified(request, askedBy(id), ({ caller, ip, body }): Promise<Reply> => {
          const { authorize, run } = operationOf(id)
          authorize(caller, request.params)
          requireUnencoded(request.headers['content-encoding'])
          return run({ ...request, caller, ip, body })
        }),
    },
  }
}
