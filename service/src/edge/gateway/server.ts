/** The HTTP server: routes each request to the pipeline and sends its reply. No other file configures Fastify. */
import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import {
  type Audience,
  operationAudience,
  type Operation,
  type OperationId,
  operationIds,
  operations,
  type ProblemCode,
  problemPath,
  problems,
} from '@partner-payments/wire'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { type Caller, type PublicRoute, Refusal } from '../../kernel/api/index.ts'
import { assert, type Log, newId, systemClock, type Tracing } from '../../kernel/index.ts'
import { idempotencyKeyHeader } from './idempotency-key.ts'
import type { Headers } from './signature.ts'
import type { IncomingRequests } from './incoming.ts'
import type { AdmissionControl } from './admission.ts'
import { overloadedProblem, type ProblemAnswer, toProblem } from './problems.ts'
import type { RefusalBudget } from './rate.ts'
import { methodsAt, nearestPath, type RoutePaths, toRoutePaths } from './served.ts'
import { limitPipelining } from './turns.ts'
import type { RequestRecorder } from '../../requests/index.ts'
import type { Socket } from 'node:net'

export type RawRequest = {
  readonly method: string
  /** Request target as sent, with the query. */
  readonly url: string
  readonly path: string
  readonly query: string
  readonly headers: Headers
  readonly contentType: string | undefined
  readonly params: Readonly<Record<string, string>>
  readonly requestId: string
  readonly ip: string
  readonly message: IncomingMessage
  /** Written while the request is handled, for its log line. */
  readonly trace: RequestTrace
}

/** Fields of the log line of a request besides its status. `ip`: the client of a forwarded request. */
type RequestTrace = { caller?: Caller; code?: ProblemCode; ip?: string }

export type Reply = {
  readonly status: number
  /** Code of a problem. `pointer`: its first invalid field. */
  readonly code?: ProblemCode
  readonly pointer?: string
  readonly headers: Readonly<Record<string, string>>
  readonly cookies?: readonly string[]
  readonly body: string | Buffer | Readable
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The Content-Type header, which the server hides from Fastify. */
    contentType: string | undefined
    trace: RequestTrace
  }
}

export type Handle = (request: RawRequest, reply: FastifyReply) => Promise<Reply | undefined>

/** Serves public pages, which need no signature. Refusals are pages too. */
export type PublicPipeline<Sent = FastifyReply> = {
  readonly routes: readonly PublicRoute[]
  readonly run: (route: PublicRoute, request: RawRequest, reply: Sent) => Promise<Reply | undefined>
}

type AuthenticatingPipeline = {
  /** Authenticates the request and runs the operation. Returns undefined if the response was sent on `reply`. */
  readonly audiences: Audiences<
    (id: OperationId, request: RawRequest, reply: FastifyReply) => Promise<Reply | undefined>
  >
  /**
   * Authenticates a request that has no operation (404, 405) and consumes its nonce, so that a caller without
   * credentials cannot learn which paths exist. Throws or returns a refusal.
   */
  readonly authenticateOnly: (request: RawRequest) => Promise<Reply | undefined>
  readonly pages: PublicPipeline
}
/** Forwards every request to another process, also for pages and unknown paths. Returns undefined if the response was sent. */
type PassThroughPipeline = { readonly pass: Handle }
export type Pipeline = AuthenticatingPipeline | PassThroughPipeline

/** Label of a route in logs and metrics: an operation, a public page, or a path that is neither. */
type RouteLabel = OperationId | 'page' | 'unknown'
type ResponseObservers = Pick<ServerOptions, 'admission' | 'log' | 'observe' | 'record' | 'tracing'>

export type ServerOptions = {
  readonly pipeline: Pipeline
  readonly log: Log
  readonly headerBytesMax: number
  /** Addresses and networks whose X-Forwarded-For is trusted. */
  readonly trustedProxies?: readonly string[] | undefined
  readonly tracing?: Tracing | undefined
  /** The value of `Strict-Transport-Security` (RFC 6797). Absent: no header. */
  readonly strictTransport?: string | undefined
  readonly headersTimeoutMs: number
  readonly bodyTimeoutMs: number
  readonly incoming: Pick<IncomingRequests, 'open'>
  /** Returns the request target that the partner sent to the gateway. Set in an api process. */
  readonly targetOf?: ((headers: Headers) => string | undefined) | undefined
  /** Counts refusals before authentication. Absent in an api process, which only gateways call. */
  readonly refusals?: RefusalBudget
  readonly admission: Pick<AdmissionControl, 'isFull'>
  /** False: simulations answer 404, and refusals do not mention their paths. */
  readonly sandbox?: boolean
  readonly observe?: ((operation: RouteLabel, status: number, durationMs: number) => void) | undefined
  readonly record?: ((...answered: ReturnType<typeof toLogEntry>) => void) | undefined
}

/** Interval at which Node looks for requests that exceed their time limit. */
const timeoutCheckMs = 1000
/**
 * Node's time limit exceeds that of bodies by this margin, because `incoming` limits the bodies that a route reads.
 * Node's limit also ends bodies that no route reads.
 */
const requestTimeoutMarginMs = 5000
/** Longer than the usual 60 s of a load balancer, so that the balancer closes the connection first. */
const keepAliveTimeoutMs = 72_000
/** Status in logs and metrics only: the client closed the connection before the response. */
const clientClosedStatus = 499
const paramCharsMax = 2048
export const strictTransportHeader = 'strict-transport-security'

export type Server = {
  readonly app: FastifyInstance
  /** Starts draining: every response has `Connection: close`, so that clients send their next request elsewhere. */
  readonly drain: () => void
}

/** Replaces Ajv and its serializer, because loading them would delay each start by 50 ms. No route has a Fastify schema. */
const noCompiler = () => () => {
  throw new Error('a route has a Fastify schema: define it in an operation of the wire package instead')
}

export function createServer(options: ServerOptions): Server {
  const { log, headerBytesMax, headersTimeoutMs, bodyTimeoutMs, targetOf } = options
  const { pipeline } = options
  const served: RoutePaths[] = []
  const unknown = 'pass' in pipeline ? pipeline.pass : refuseUnknown(options, pipeline, served)
  const notFound = handleRoute(options, 'unknown', unknown)
  const app = Fastify({
    logger: false,
    // Node refuses a request without Host by itself, without a problem body. The service does not need Host.
    http: {
      maxHeaderSize: headerBytesMax,
      headersTimeout: headersTimeoutMs,
      connectionsCheckingInterval: Math.min(timeoutCheckMs, headersTimeoutMs),
      requireHostHeader: false,
      // By default Node drops the second of two equal headers, such as a bearer token after other credentials.
      joinDuplicateHeaders: true,
    },
    requestTimeout: headersTimeoutMs + bodyTimeoutMs + requestTimeoutMarginMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    trustProxy: options.trustedProxies === undefined ? false : [...options.trustedProxies],
    exposeHeadRoutes: false,
    genReqId: readRequestId,
    rewriteUrl: (request: IncomingMessage) => targetOf?.(request.headers) ?? originForm(request.url ?? '/'),
    routerOptions: { maxParamLength: paramCharsMax },
    schemaController: { compilersFactory: { buildValidator: noCompiler, buildSerializer: noCompiler } },
    clientErrorHandler: (error, socket) =>
      refuseOnSocket(error, socket, ({ code, ...rest }) =>
        observeRequest(options, { ...rest, operation: 'unknown', durationMs: 0, trace: { code } }),
      ),
    // Fastify cannot read the URL (invalid percent-encoding).
    frameworkErrors: (_error, request, reply) => {
      void notFound(request, reply)
    },
  })
  app.server.on('connection', options.incoming.open)
  // Node answers an `Expect` that it does not know with a 417 without a problem. RFC 9110, section 10.1.1, permits to ignore it.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  limitPipelining(app.server)
  app.addHook('onRoute', ({ url, method }) => void served.push(toRoutePaths(url, [method].flat())))
  const { strictTransport } = options
  if (strictTransport !== undefined)
    app.addHook('onSend', (_request, reply, _payload, done) => {
      reply.header(strictTransportHeader, strictTransport)
      done()
    })
  refuseFragments(app, options)
  refuseTransferCodings(app, options)
  leaveBodyUnread(app)
  app.setErrorHandler((error, request, reply) => {
    const failure =
      ((error as { readonly statusCode?: number }).statusCode ?? 500) < 500 ? new Refusal('malformed_request') : error
    send(reply, request.id, toRequestProblem(failure, request, log))
  })
  const drain = closeAfterAnswer(app, options)
  mountPublic(app, options)
  mountOperations(app, options, unknown)
  app.setNotFoundHandler(notFound)
  return { app, drain }
}

/** Removes scheme and host, which a server must accept (RFC 9112, section 3.2.2). The signature covers path and query. */
const originForm = (target: string): string => target.replace(/^https?:\/\/[^/?#]*\/?/i, '/')

/**
 * Creates the handler of unknown requests. A 405 lists the methods of the resource (RFC 9110, section 15.5.6). A path
 * without a route is 404.
 */
const refuseUnknown =
  (
    { sandbox = true }: Pick<ServerOptions, 'sandbox'>,
    { authenticateOnly }: AuthenticatingPipeline,
    served: readonly RoutePaths[],
  ): Handle =>
  async (request) => {
    const isApi = request.path === '/v1' || request.path.startsWith('/v1/')
    const refused = isApi ? await authenticateOnly(request) : undefined
    if (refused) return refused
    const methods = methodsAt(served, request.path)
    // Fastify does not match a route if a parameter is too long.
    if (methods.length === 0) {
      const known = sandbox ? served : served.filter(({ parts }) => parts[1] !== 'simulations')
      const nearest = nearestPath(known, request.path)
      throw new Refusal(
        'not_found',
        nearest && `The path does not exist. Did you mean ${nearest}? Letters, slashes and /v1 must match exactly.`,
      )
    }
    if (methods.includes(request.method)) throw new Refusal('not_found')
    const allow = methods.join(', ')
    throw new Refusal('method_not_allowed', `The resource allows ${allow}.`, { headers: { allow } })
  }

/**
 * Refuses transfer codings other than `chunked`. Node does not decode them, so the server would verify other bytes than
 * the client signed.
 */
function refuseTransferCodings(app: FastifyInstance, options: ServerOptions): void {
  const refuse = handleRoute(options, 'unknown', () => {
    throw new Refusal('transfer_coding_not_supported', undefined, { headers: { connection: 'close' } })
  })
  app.addHook('onRequest', async (request, reply) => {
    const coding = request.headers['transfer-encoding'] ?? 'chunked'
    if (coding.trim().toLowerCase() !== 'chunked') await refuse(request, reply)
  })
}

/** Refuses (400) a request target with a fragment (RFC 9112, section 3.2), which Fastify would ignore. */
function refuseFragments(app: FastifyInstance, options: ServerOptions): void {
  const refuse = handleRoute(options, 'unknown', () => {
    throw new Refusal('malformed_request', 'The request target contains a fragment (`#`). Send the target without it.')
  })
  app.addHook('onRequest', async (request, reply) => {
    if (request.url.includes('#')) await refuse(request, reply)
  })
}

/**
 * Leaves the raw body to the pipeline, which reads it after the headers. Hides the Content-Type header from Fastify, which would
 * refuse an invalid one before authentication (415 instead of 401).
 */
function leaveBodyUnread(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _payload, done) => done(null))
  app.decorateRequest('contentType')
  app.decorateRequest('trace')
  app.addHook('onRequest', (request, _reply, done) => {
    request.contentType = request.raw.headers['content-type']
    delete request.raw.headers['content-type']
    done()
  })
}

/** Adds `Connection: close` where needed, and returns `drain`. Closing without this header would reset a proxy's next request. */
function closeAfterAnswer(app: FastifyInstance, { refusals, pipeline }: ServerOptions): () => void {
  let draining = false
  // A router does not verify signatures: only a 401 is certainly a refusal before authentication.
  const isRefusal = (status: number) => ('pass' in pipeline ? status === 401 : status >= 400 && status < 500)
  app.addHook('onSend', ({ raw, ip, trace }, reply, _payload, done) => {
    const isRefused = trace?.caller === undefined && isRefusal(reply.statusCode)
    const { isLast = false, delayMs = 0 } = (isRefused ? refusals?.count(raw.socket, ip) : undefined) ?? {}
    if (draining || isLast) reply.header('connection', 'close')
    if (delayMs === 0) done()
    else setTimeout(() => done(), delayMs)
  })
  return () => {
    draining = true
  }
}

function mountPublic(app: FastifyInstance, options: ServerOptions): void {
  const { pipeline } = options
  if ('pass' in pipeline) return
  for (const route of pipeline.pages.routes)
    app.route({
      method: route.method === 'GET' ? ['GET', 'HEAD'] : 'POST',
      url: toUrl(route.path),
      handler: handleRoute(options, 'page', (request, reply) => pipeline.pages.run(route, request, reply)),
    })
}

/** Converts path parameters to Fastify's notation. */
const toUrl = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ':$1')

function mountOperations(app: FastifyInstance, options: ServerOptions, unknown: Handle): void {
  const { pipeline } = options
  for (const id of operationIds) {
    const operation: Operation = operations[id]
    const { method, path } = operation
    const handle = operationHandler(pipeline, id, operation)
    // An empty parameter means a duplicate slash.
    const serve: Handle = (request, reply) =>
      (Object.values(request.params).includes('') ? unknown : handle)(request, reply)
    app.route({ method, url: toUrl(path), handler: handleRoute(options, id, serve) })
  }
}

function operationHandler(pipeline: Pipeline, id: OperationId, operation: Operation): Handle {
  if ('pass' in pipeline) return pipeline.pass
  const run = audienceHandler(pipeline.audiences, id, operationAudience(operation))
  return (request, reply) => run(id, request, reply)
}

type CompletedRequest = {
  readonly requestId: string
  readonly operation: RouteLabel
  readonly status: number
  readonly durationMs: number
  /** The address of the client; see TRUSTED_PROXIES. */
  readonly ip?: string | undefined
  readonly trace?: RequestTrace
}

/** Writes one log line and one observation for every response. */
function observeRequest(
  { log, observe }: ResponseObservers,
  { durationMs, trace = {}, ...rest }: CompletedRequest,
): void {
  observe?.(rest.operation, rest.status, durationMs)
  const { caller, code } = trace
  log.info(
    {
      ...rest,
      durationMs: Math.round(durationMs),
      ...(code === undefined ? {} : { code }),
      ...(caller === undefined ? {} : { partnerId: caller.partnerId, serviceAccountId: caller.serviceAccountId }),
    },
    'answered',
  )
}

/** Wraps a route: converts failures to problems, adds the request id and records the response. */
export function handleRoute(options: ResponseObservers, operation: RouteLabel, handle: Handle) {
  const { log } = options
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const started = performance.now()
    // Not in a hook, because hooks do not run for a request whose URL Fastify cannot read.
    request.trace = {}
    let answer: Reply | undefined
    reply.raw.once('close', () => {
      const durationMs = performance.now() - started
      const status = reply.raw.headersSent ? reply.raw.statusCode : clientClosedStatus
      const { id: requestId, trace } = request
      const { ip = request.ip } = trace
      observeRequest(options, { requestId, operation, status, durationMs, ip, trace })
      if (answer) options.record?.(...toLogEntry(request, { operation, status, durationMs, ip }, answer))
    })
    if (options.admission.isFull()) {
      request.trace.code = 'overloaded'
      send(reply, request.id, overloadedProblem(request.id, request.url))
      return reply
    }
    try {
      answer = await traced(options.tracing, operation, request, () => handle(toRaw(request), reply))
    } catch (error) {
      answer = toRequestProblem(error, request, log)
    }
    if (answer?.code !== undefined) request.trace.code = answer.code
    if (answer) send(reply, request.id, answer)
    return reply
  }
}

/**
 * Records the request as a span of its caller's trace. A refusal does not mark the span as failed: its code is an
 * attribute.
 */
function traced(
  tracing: Tracing | undefined,
  operation: RouteLabel,
  request: FastifyRequest,
  work: () => Promise<Reply | undefined>,
): Promise<Reply | undefined> {
  if (tracing === undefined) return work()
  const attributes = { 'http.request.method': request.method, operation, requestId: request.id }
  return tracing.span({ name: operation, kind: 'server', attributes, incoming: request.headers }, async (add) => {
    const answer = await work()
    const { caller } = request.trace
    if (caller) add({ partnerId: caller.partnerId })
    if (answer) add({ 'http.response.status_code': answer.status, ...(answer.code ? { code: answer.code } : {}) })
    return answer
  })
}

function toRaw(request: FastifyRequest): RawRequest {
  const { url } = request
  const at = url.indexOf('?')
  return {
    method: request.method,
    url,
    path: at === -1 ? url : url.slice(0, at),
    query: at === -1 ? '' : url.slice(at + 1),
    headers: withRepeatedKeys(request.raw),
    contentType: request.contentType,
    params: request.params as Readonly<Record<string, string>>,
    requestId: request.id,
    ip: request.ip,
    message: request.raw,
    trace: request.trace,
  }
}

function toRequestProblem(error: unknown, request: FastifyRequest, log: Log): ProblemAnswer {
  const instance = request.url.split('?', 1)[0] ?? '/'
  return toProblem(error, { requestId: request.id, instance, log: log.child({ requestId: request.id }) })
}

/** Returns repeated idempotency keys separately. Node would join them to one other key. */
function withRepeatedKeys(message: IncomingMessage): Headers {
  const { headers } = message
  if (headers[idempotencyKeyHeader]?.includes(',') !== true) return headers
  return { ...headers, [idempotencyKeyHeader]: message.headersDistinct[idempotencyKeyHeader] }
}

function send(reply: FastifyReply, requestId: string, { status, headers, cookies = [], body }: Reply): void {
  void reply
    .code(status)
    .headers({ 'x-request-id': requestId, 'cache-control': 'no-store', ...headers })
    .headers(cookies.length === 0 ? {} : { 'set-cookie': [...cookies] })
    .send(status === 204 ? null : body)
}

// Converts an answer of this process to an entry of the request log. A forwarded request is recorded by the process that
// answers it.

type Answer = {
  readonly code?: string
  readonly pointer?: string
  readonly headers: Readonly<Record<string, string>>
}
/** `ip`: the address of the client, also if a gateway has forwarded the request. */
type RecordedRequest = {
  readonly operation: string
  readonly status: number
  readonly durationMs: number
  readonly ip: string
}

function toLogEntry(
  { id: requestId, method, params, trace: { caller }, headers }: FastifyRequest,
  observed: RecordedRequest,
  { code, pointer, headers: { 'idempotent-replayed': replayed } }: Answer,
): Parameters<RequestRecorder['record']> {
  const apiKey = headers['apikey']
  const isKnown = observed.operation !== 'unknown' && observed.operation !== 'page'
  const request = {
    ...observed,
    requestId,
    method,
    code,
    pointer,
    userAgent: headers['user-agent'],
    params: isKnown ? (params as Readonly<Record<string, string>>) : {},
    replayed: replayed === 'true',
  }
  return [request, { caller, apiKey: typeof apiKey === 'string' ? apiKey : undefined }]
}

// The authentication of each audience that a form of the gateway serves.

type Audiences<T> = Readonly<Partial<Record<Audience, T>>>

/**
 * Returns the handler of an operation's audience. Throws when the server starts if an operation has an audience without
 * one.
 */
export function audienceHandler<T>(audiences: Audiences<T>, id: string, audience: Audience): T {
  const serving = audiences[audience]
  assert(serving !== undefined, `the operation ${id} has an audience that the gateway authenticates: ${audience}`)
  return serving
}

// Requests that the parser of Node refuses before Fastify sees them: the problem is written to the socket.

/** Time for which a connection stays open, so that a client that is still sending can read the refusal. */
const lingerMs = 2000

const socketProblems: Readonly<Record<string, ProblemCode>> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
}

type SocketRefusal = {
  readonly requestId: string
  readonly status: number
  readonly code: ProblemCode
  readonly ip: string | undefined
}

function refuseOnSocket(
  error: Error & { readonly code?: string },
  socket: Socket,
  refused: (refused: SocketRefusal) => void,
): void {
  // After an earlier answer on this connection, the client would take the refusal for the answer to its next request.
  const isLateAgain = error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && socket.bytesWritten > 0
  if (error.code === 'ECONNRESET' || !socket.writable || isLateAgain) {
    socket.destroy()
    return
  }
  const code = socketProblems[error.code ?? ''] ?? 'malformed_request'
  const { status, title, detail } = problems[code]
  const requestId = newId()
  refused({ requestId, status, code, ip: socket.remoteAddress })
  const body = JSON.stringify({ type: problemPath(code), title, status, detail, instance: '/', code, requestId })
  const lines = [
    `HTTP/1.1 ${status} ${title}`,
    `Date: ${systemClock.now().toUTCString()}`,
    'Content-Type: application/problem+json',
    `X-Request-Id: ${requestId}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
    '',
    body,
  ]
  socket.end(lines.join('\r\n'))
  const timer = setTimeout(() => socket.destroy(), lingerMs)
  socket.once('close', () => clearTimeout(timer))
}

/** Returns the caller's request id if it is well-formed, so that it links the logs of both sides. Otherwise a new id. */
export function readRequestId(request: IncomingMessage): string {
  const given = request.headers['x-request-id']
  return typeof given === 'string' && /^[A-Za-z0-9._-]{1,64}$/.test(given) ? given : newId()
}
