/** The three forms of the gateway: standalone, gateway and api. Each is a pipeline behind the HTTP server. */
import { once } from 'node:events'
import type { Server as HttpServer } from 'node:http'
import { type AddressInfo, Server as SocketServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { type Operation, type OperationId, operations as table, signatureMistakes } from '@partner-payments/wire'
import { type Access, diagnoseSignature, isUnixSeconds, type SignatureDiagnosis } from '../../access/index.ts'
import {
  type AdmissionOptions,
  runAdmitted,
  type Caller,
  type FileContent,
  type PublicSite,
  Refusal,
  Unreachable,
} from '../../kernel/api/index.ts'
import { type Clock, type Log, secondMs } from '../../kernel/index.ts'
import { type AdmissionControl, createAdmissionControl, type Deadline, startDeadline } from './admission.ts'
import { createIncomingRequests, type IncomingRequests, type IncomingLimits, requireUnencoded } from './incoming.ts'
import {
  createForwarder,
  createInternalTokens,
  type Forwarder,
  type InternalTokens,
  readRequestTarget,
} from './forward.ts'
import { createRateLimiter, createRefusalBudget } from './rate.ts'
import {
  createNonceCheck,
  createSignatureVerifier,
  readSentSignature,
  readSignatureHeaders,
  type SentSignature,
  type SignatureHeaders,
} from './signature.ts'
import { createContentReply, type OperationOf, type OperationRequest } from './operation.ts'
import { createForwardingPublicPipeline, createInternalPublicPipeline, createPublicPipeline } from './public.ts'
import { handleRoute, createServer, type Pipeline, type RawRequest, type Reply, type ServerOptions } from './server.ts'
import { mountStaticPages, type StaticPage } from './static-pages.ts'
import type { FastifyInstance } from 'fastify'
import { toProblem } from './problems.ts'
import { createTurnThrottle } from './turns.ts'

export type GatewayOptions = {
  readonly headerBytesMax: number
  readonly trustedProxies?: ServerOptions['trustedProxies']
  readonly tracing?: ServerOptions['tracing']
  readonly strictTransport?: ServerOptions['strictTransport']
  readonly headersTimeoutMs: number
  readonly requestTimeoutMs: number
  /** Maximum number of concurrent requests. A request counts from the end of its body. */
  readonly requestsMax: number
  readonly log: Log
  readonly clock: Clock
  readonly sandbox: boolean
  readonly operationOf: OperationOf
  readonly downloads?: Downloads
  readonly sites: readonly PublicSite[]
  readonly internalKey: Uint8Array
  readonly observe?: ServerOptions['observe']
  readonly record?: ServerOptions['record']
} & IncomingLimits &
  (StandaloneOptions | ForwardingOptions | InternalOptions)

type SignedOptions = {
  readonly pages: readonly StaticPage[]
  readonly access: Access
  readonly windowSeconds: number
  readonly rate: AuthenticationOptions['rate']
  /** The rate of one client address on public pages. */
  readonly pageRate: { readonly perSecond: number; readonly burst: number }
}
/** Authenticates requests and runs the handlers. */
type StandaloneOptions = SignedOptions & { readonly form: 'standalone' }
/** Authenticates requests and forwards them to an api process. */
type ForwardingOptions = SignedOptions & {
  readonly form: 'gateway'
  readonly apiUrl: string
  readonly apiTimeoutMs: number
}
/** Runs the handlers for requests that a gateway process has authenticated. */
type InternalOptions = { readonly form: 'api' }

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
 * Time limit of draining: as long as the longest database statement. Slower and incomplete requests do not delay the
 * stop.
 */
const drainMsMax = 15_000

export function createGateway(options: GatewayOptions): Gateway {
  const admission = createAdmissionControl(options.requestsMax)
  const incoming = createIncomingRequests(options)
  const refusals = createRefusalBudget(options.clock)
  const shared = { ...options, admission, incoming }
  const mount: Forwarder['mount'] = (app) => {
    if (options.form !== 'api') mountStaticPages(app, options.pages, { ...options, admission })
    if (options.downloads) mountDownloads(app, options.downloads, { ...options, admission })
  }
  if (options.form === 'standalone')
    return openGateway({ ...shared, refusals, pipeline: standalone(options, admission, incoming) }, mount)
  const tokens = createInternalTokens({ key: options.internalKey, clock: options.clock })
  if (options.form === 'api')
    return openGateway({
      ...shared,
      targetOf: readRequestTarget,
      pipeline: internal(options, tokens, admission, incoming),
    })
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

/** Returns the admission limit that an operation declares. An unknown path uses the shared limit. */
const admissionOf = (id: OperationId | undefined): AdmissionOptions =>
  id === undefined ? {} : (table[id] as Operation)

function standalone(
  options: GatewayOptions & StandaloneOptions,
  admission: AdmissionControl,
  incoming: IncomingRequests,
): Pipeline {
  const authenticate = createAuthentication(options, admission, incoming)
  const dispatch = createDispatcher(options)
  const answer = async (id: OperationId | undefined, request: RawRequest): Promise<Reply | undefined> => {
    const asked = admissionOf(id)
    const { caller, nonce, body, rateLimitHeaders, deadline, release } = await authenticate(request, asked)
    // A request that was answered at the deadline counts until its work has ended.
    const work = runAdmitted(asked, () => dispatch(id, { ...request, caller, nonce, body })).finally(release)
    const reply = await deadline(work)
    return reply && { ...reply, headers: { ...rateLimitHeaders, ...reply.headers } }
  }
  const pages = createPublicPipeline(options, { admission, incoming })
  return { audiences: { signed: answer }, authenticateOnly: (request) => answer(undefined, request), pages }
}

function forwarding(
  options: GatewayOptions & ForwardingOptions,
  forwarder: Forwarder,
  admission: AdmissionControl,
  incoming: IncomingRequests,
): Pipeline {
  const authenticate = createAuthentication(options, admission, incoming)
  // The durable commit of a write happens in another process and is not visible here.
  const checkNonce = createNonceCheck({ ...options, asyncCommitOfWrites: false })
  const { operationOf } = options
  return {
    pages: createForwardingPublicPipeline(options, { admission, incoming }, forwarder),
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
        const authenticated = await authenticate(request, admissionOf(id))
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

type VerifiedRequest = { readonly caller: Caller; readonly ip: string; readonly body: Buffer }

function internal(
  options: GatewayOptions & InternalOptions,
  tokens: InternalTokens,
  admission: AdmissionControl,
  incoming: IncomingRequests,
): Pipeline {
  const { operationOf } = options
  const verified = async <T>(
    request: RawRequest,
    asked: AdmissionOptions,
    work: (verified: VerifiedRequest) => T | Promise<T>,
  ): Promise<T> => {
    const body = await incoming.read(request.message)
    const { caller, ip } = tokens.verify(request.headers, { method: request.method, url: request.url, body })
    request.trace.caller = caller
    request.trace.ip = ip
    incoming.verified(request.message.socket)
    const release = admission.admit(asked)
    const deadline = startDeadline(options.requestTimeoutMs)
    return deadline(Promise.try(() => runAdmitted(asked, () => work({ caller, ip, body }))).finally(release))
  }
  return {
    pages: createInternalPublicPipeline(options, tokens, { admission, incoming }),
    authenticateOnly: (request) => verified(request, {}, () => undefined),
    audiences: {
      signed: (id, request) =>
        verified(request, admissionOf(id), ({ caller, ip, body }): Promise<Reply> => {
          const { authorize, run } = operationOf(id)
          authorize(caller, request.params)
          requireUnencoded(request.headers['content-encoding'])
          return run({ ...request, caller, ip, body })
        }),
    },
  }
}

// Files behind a link: `GET /reports/{token}`, without a signature, because the token is the credential. Every form of
// the gateway that serves partners has this route. Its answer reveals nothing about an unknown token.

type Downloads = {
  /** Opens the content of a file by its link. Refuses: not_found, report_not_ready. */
  readonly open: (token: string) => Promise<FileContent>
}

/**
 * Rate of requests by client address. A token of 256 random bits cannot be guessed, so the limit only protects the
 * database from attempts.
 */
const rate = { perSecond: 5, burst: 20 }

type Options = Pick<ServerOptions, 'log' | 'observe' | 'tracing'> & {
  readonly admission: AdmissionControl
  readonly clock: Clock
  readonly requestTimeoutMs: number
}

/**
 * The link is a credential: the browser sends no referrer to linked pages, and problem bodies do not repeat the link.
 */
const linkHeaders = {
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-robots-tag': 'noindex',
}

function mountDownloads(app: FastifyInstance, { open }: Downloads, options: Options): void {
  const { admission, clock, log, requestTimeoutMs } = options
  const limit = createRateLimiter({ ...rate, clock })
  const download = async ({ ip, params, headers }: RawRequest): Promise<Reply> => {
    limit.take(ip)
    const release = admission.admit()
    const content = await startDeadline(requestTimeoutMs)(open(params['token'] ?? '').finally(release))
    return createContentReply(content, headers)
  }
  // Logged and counted like a page, without its path.
  const handle = handleRoute(options, 'page', async (request) => {
    const { requestId } = request
    const context = { requestId, instance: '/reports', log: log.child({ requestId }) }
    const reply = await download(request).catch((error: unknown): Reply => toProblem(error, context))
    return { ...reply, headers: { ...linkHeaders, ...reply.headers } }
  })
  app.get('/reports/:token', handle)
}

// Authenticates a signed request: reads the signature headers and the body, admits the request, verifies the signature
// and applies the rate limit. The dispatcher then consumes the nonce.

/** Signatures that are verified in one turn of the event loop. They take less than a millisecond together. */
const signaturesPerTurn = 8

type AuthenticatedInput = {
  readonly caller: Caller
  /** 32 lower-case hexadecimal digits. */
  readonly nonce: string
  readonly body: Buffer
  readonly rateLimitHeaders: Readonly<Record<string, string>>
  /** Applies the deadline of the request to a promise. */
  readonly deadline: Deadline
  /** Releases the request's place in the admission control. */
  readonly release: () => void
}

type AuthenticationOptions = {
  readonly access: Pick<Access, 'credential' | 'recordUse'>
  readonly clock: Clock
  readonly windowSeconds: number
  readonly rate: { readonly perSecond: number; readonly burst: number }
  /** True: adds a hint about the likely mistake to a refused signature. */
  readonly sandbox: boolean
  readonly requestTimeoutMs: number
}

/** Refuses as `readSentSignature`, `readSignatureHeaders`, `incoming.read`, `admit`, the signature verifier and the rate limiter do. */
function createAuthentication(
  options: AuthenticationOptions,
  admission: AdmissionControl,
  incoming: IncomingRequests,
): (request: RawRequest, asked: AdmissionOptions) => Promise<AuthenticatedInput> {
  const { access, clock, windowSeconds } = options
  const limiter = createRateLimiter({ clock, ...options.rate })
  const verifySignature = createSignatureVerifier({ credential: access.credential, clock, windowSeconds })
  const throttle = createTurnThrottle(signaturesPerTurn)
  const receive = (request: RawRequest) => incoming.read(request.message)
  const hints = options.sandbox ? createSignatureHints({ access, clock }) : undefined

  const verify = async (signed: SignatureHeaders, request: RawRequest, body: Buffer, asked: AdmissionOptions) => {
    // Admitted after the body has arrived, so that slow senders do not use up the capacity.
    const deadline = startDeadline(options.requestTimeoutMs)
    const release = admission.admit(asked)
    const { socket } = request.message
    const endProtection = incoming.protect(socket)
    try {
      await throttle()
      const { method, path, query } = request
      const { caller, allows } = await deadline(verifySignature(signed, { method, path, query, body }))
      request.trace.caller = caller
      incoming.verified(socket)
      // Runs after the signature check, so that a forged request cannot use up the limit of another account.
      limiter.take(caller.serviceAccountId)
      // Runs after the signature check, so that a stranger does not learn which addresses an account allows.
      if (allows?.(request.ip) === false)
        throw new Refusal('permission_denied', `The service account may not be used from the address ${request.ip}.`)
      access.recordUse(caller)
      const rateLimitHeaders = limiter.headers(caller.serviceAccountId)
      return { caller, nonce: signed.nonce, body, rateLimitHeaders, deadline, release }
    } catch (error) {
      release()
      throw error
    } finally {
      endProtection()
    }
  }

  return async (request, asked) => {
    const sent = readSentSignature(request.headers)
    let body: Buffer | undefined
    try {
      const signed = readSignatureHeaders(sent)
      body = await receive(request)
      return await verify(signed, request, body, asked)
    } catch (error) {
      if (hints === undefined) throw error
      throw await hints(error, sent, request, async () => body ?? (await receive(request)))
    }
  }
}

// Adds the canonical string and the likely mistake to the refusal of a signature, in the sandbox and for a known key.
// Limited per key, because a caller without the private key can cause this work.

/** Limit per key, because computing a hint blocks the thread for a few milliseconds. */
const hintsPerSecond = 5
const hintsAtOnceMax = 20
const hintedCodes: ReadonlySet<string> = new Set(['timestamp_out_of_window', 'nonce_invalid', 'signature_invalid'])

type SignatureHints = (
  refused: unknown,
  sent: SentSignature,
  request: RawRequest,
  readBody: () => Promise<Uint8Array>,
) => Promise<unknown>

/** Creates a function that returns the error to throw: the refusal with a hint, or the error unchanged. */
function createSignatureHints(deps: {
  readonly access: Pick<Access, 'credential'>
  readonly clock: Clock
}): SignatureHints {
  const { access, clock } = deps
  const limiter = createRateLimiter({ clock, perSecond: hintsPerSecond, burst: hintsAtOnceMax })
  return async (refused, sent, request, readBody) => {
    if (!(refused instanceof Refusal) || !hintedCodes.has(refused.code)) return refused
    const credential = await access.credential(sent.apiKey)
    if (credential === undefined || !limiter.tryTake(credential.caller.serviceAccountId)) return refused
    const { method, path, query, headers } = request
    const { timestamp, nonce, signature, apiKey } = sent
    const body = await readBody()
    const host = typeof headers['host'] === 'string' ? [`http://${headers['host']}`, `https://${headers['host']}`] : []
    const signed = { method, path, query, timestamp, nonce, signature, body }
    const { apiSecret, publicKey } = credential
    return addHint(refused, sent, diagnoseSignature(signed, { apiSecret, publicKey, apiKey }, host), clock.now())
  }
}

function addHint(
  { code, headers }: Refusal,
  { timestamp }: SentSignature,
  { mistakes, canonicalString }: SignatureDiagnosis,
  now: Date,
): Refusal {
  if (code === 'nonce_invalid')
    return new Refusal(code, signatureMistakes.nonce_format, {
      headers,
      hint: { canonicalString, likelyMistake: 'nonce_format' },
    })
  if (code === 'timestamp_out_of_window') {
    const likelyMistake = isUnixSeconds(timestamp) ? 'clock' : 'timestamp_unit'
    const detail = likelyMistake === 'clock' ? clockDetail(timestamp, now) : signatureMistakes.timestamp_unit
    return new Refusal(code, detail, { headers, hint: { canonicalString, likelyMistake } })
  }
  const [likelyMistake = 'canonical_string'] = mistakes
  const detail = (mistakes.length === 0 ? [likelyMistake] : mistakes).map((each) => signatureMistakes[each]).join(' ')
  return new Refusal(code, detail, { headers, hint: { canonicalString, likelyMistake } })
}

function clockDetail(timestamp: string, now: Date): string {
  const seconds = Math.round(Number(timestamp) - now.getTime() / secondMs)
  const difference = `\`Timestamp\` is ${Math.abs(seconds)} seconds ${seconds < 0 ? 'behind' : 'ahead of'} the server time.`
  return `${difference} ${signatureMistakes.clock}`
}

// Handles an authenticated request: consumes the nonce, authorizes the caller, runs the operation and replies.

type AuthenticatedRequest = OperationRequest &
  Pick<RawRequest, 'method' | 'path'> & {
    /** 32 lower-case hexadecimal digits. */
    readonly nonce: string
  }

/**
 * Runs the operation and returns its reply or problem once the nonce is durable. Without an operation (the not-found
 * route) it only consumes the nonce, and returns undefined unless the nonce is refused.
 */
type Dispatch = (id: OperationId | undefined, request: AuthenticatedRequest) => Promise<Reply | undefined>

export function createDispatcher(options: {
  readonly access: Pick<Access, 'consumeNonce'>
  readonly operationOf: OperationOf
  readonly clock: Clock
  readonly log: Log
  readonly windowSeconds: number
}): Dispatch {
  const { log, operationOf } = options
  const checkNonce = createNonceCheck({ ...options, asyncCommitOfWrites: true })
  const run: Dispatch = async (id, request) => {
    const { nonce, consume, durable } = checkNonce(request)
    const operation = id && operationOf(id)
    if (!operation?.consumesNonce) await consume()
    try {
      if (operation === undefined) return undefined
      operation.authorize(request.caller, request.params)
      requireUnencoded(request.headers['content-encoding'])
      return await operation.run(request, nonce)
    } catch (error) {
      // A refused request also consumes its nonce, and a replay is reported before any other refusal.
      if (!(error instanceof Unreachable)) await consume()
      throw error
    } finally {
      await durable()
    }
  }
  return async (id, request) => {
    try {
      return await run(id, request)
    } catch (error) {
      const { requestId, path: instance } = request
      return toProblem(error, { requestId, instance, log: log.child({ requestId }) })
    }
  }
}
