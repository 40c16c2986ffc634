/** The HTTP server: routes each request to the pipeline and sends its reply. No other file configures Fastify. */
import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import {
  type Audience,
  audienceOf,
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
import type { Incoming } from './incoming.ts'
import type { AdmissionControl } from './admission.ts'
import { overloaded, type ProblemAnswer, toProblem } from './problems.ts'
import type { Refusals } from './rate.ts'
import { methodsAt, nearestPath, type Served, servedBy } from './served.ts'
import { takeTurns } from './turns.ts'
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
  /** Filled in while the request is handled, for its log line. */
  readonly trace: RequestTrace
}

/** Fields of the log line of a request besides its status. `ip`: the client of a forwarded request. */
export type RequestTrace = { caller?: Caller; code?: ProblemCode; ip?: string }

export type Reply = {
  readonly status: number
  /** Code of a problem, and the first field that was refused. */
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

/** Public pages: no signature, and each answer is a page. */
export type PublicPipeline<Sent = FastifyReply> = {
  readonly routes: readonly PublicRoute[]
  readonly run: (route: PublicRoute, request: RawRequest, reply: Sent) => Promise<Reply | undefined>
}

type Authenticating = {
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
/** Every request, also of pages and unknown paths, goes to another process. Returns undefined if the response was sent. */
type Passing = { readonly pass: Handle }
export type Pipeline = Authenticating | Passing

/** Label in logs and metrics: an operation, a public page, or a path that is neither. */
type Answering = OperationId | 'page' | 'unknown'
type Observing = Pick<ServerOptions, 'admission' | 'log' | 'observe' | 'record' | 'tracing'>

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
  readonly incoming: Pick<Incoming, 'open'>
  /** Returns the request target that the partner sent to the gateway. Set in an api process. */
  readonly targetOf?: ((headers: Headers) => string | undefined) | undefined
  /** Counts refusals before authentication. Absent in an api process, which only gateways call. */
  readonly refusals?: Refusals
  readonly admission: Pick<AdmissionControl, 'isFull'>
  /** False: simulations answer 404, and no answer names their paths. */
  readonly sandbox?: boolean
  readonly observe?: ((operation: Answering, status: number, durationMs: number) => void) | undefined
  readonly record?: ((...answered: ReturnType<typeof logged>) => void) | undefined
}

/** How often Node looks for requests that exceed their time. */
const timeoutCheckMs = 1000
/** Bodies have a time limit of their own. Node's limit also ends bodies that no route reads. */
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

/** Takes the place of Ajv and its serializer, whose loading costs 50 ms of each start. No route has a schema of Fastify. */
const noCompiler = () => () => {
  throw new Error('a route has a schema of Fastify: operations are checked by the types of the wire')
}

export function createServer(options: ServerOptions): Server {
  const { log, headerBytesMax, headersTimeoutMs, bodyTimeoutMs, targetOf } = options
  const { pipeline } = options
  const served: Served[] = []
  const unknown = 'pass' in pipeline ? pipeline.pass : refuseUnknown(options, pipeline, served)
  const notFound = answering(options, 'unknown', unknown)
  const app = Fastify({
    logger: false,
    // Node refuses a request without Host by itself, without a problem body. The service does not need Host.
    http: {
      maxHeaderSize: headerBytesMax,
      headersTimeout: headersTimeoutMs,
      connectionsCheckingInterval: Math.min(timeoutCheckMs, headersTimeoutMs),
      requireHostHeader: false,
      // Node would drop the second of two headers of one name unread, such as a bearer token behind other credentials.
      joinDuplicateHeaders: true,
    },
    requestTimeout: headersTimeoutMs + bodyTimeoutMs + requestTimeoutMarginMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    trustProxy: options.trustedProxies === undefined ? false : [...options.trustedProxies],
    exposeHeadRoutes: false,
    genReqId: requestIdOf,
    rewriteUrl: (request: IncomingMessage) => targetOf?.(request.headers) ?? originForm(request.url ?? '/'),
    routerOptions: { maxParamLength: paramCharsMax },
    schemaController: { compilersFactory: { buildValidator: noCompiler, buildSerializer: noCompiler } },
    clientErrorHandler: (error, socket) =>
      refuseOnSocket(error, socket, ({ code, ...rest }) =>
        answered(options, { ...rest, operation: 'unknown', durationMs: 0, trace: { code } }),
      ),
    // Fastify cannot read the URL (invalid percent-encoding).
    frameworkErrors: (_error, request, reply) => {
      void notFound(request, reply)
    },
  })
  app.server.on('connection', options.incoming.open)
  // Node answers an `Expect` that it does not know with a 417 without a problem. RFC 9110, section 10.1.1, permits to ignore it.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  takeTurns(app.server)
  app.addHook('onRoute', ({ url, method }) => void served.push(servedBy(url, [method].flat())))
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
    send(reply, request.id, problemOf(failure, request, log))
  })
  const drain = closeAfterAnswer(app, options)
  mountPublic(app, options)
  mountOperations(app, options, unknown)
  app.setNotFoundHandler(notFound)
  return { app, drain }
}

/** A server accepts a target with scheme and host (RFC 9112, section 3.2.2). The signature covers path and query. */
const originForm = (target: string): string => target.replace(/^https?:\/\/[^/?#]*\/?/i, '/')

/** RFC 9110, section 15.5.6: a 405 lists the methods of the resource. A path that no route has is 404. */
const refuseUnknown =
  (
    { sandbox = true }: Pick<ServerOptions, 'sandbox'>,
    { authenticateOnly }: Authenticating,
    served: readonly Served[],
  ): Handle =>
  async (request) => {
    const isApi = request.path === '/v1' || request.path.startsWith('/v1/')
    const refused = isApi ? await authenticateOnly(request) : undefined
    if (refused) return refused
    const methods = methodsAt(served, request.path)
    // A served method is here because of a parameter that no resource has: it is too long.
    if (methods.length === 0) {
      const known = sandbox ? served : served.filter(({ parts }) => parts[1] !== 'simulations')
      const nearest = nearestPath(known, request.path)
      throw new Refusal(
        'not_found',
        nearest && `No such path. The nearest one is ${nearest}, and paths are exact: letters, slashes and /v1.`,
      )
    }
    if (methods.includes(request.method)) throw new Refusal('not_found')
    const allow = methods.join(', ')
    throw new Refusal('method_not_allowed', `The resource allows ${allow}.`, { headers: { allow } })
  }

/** Node removes the framing of chunks and no other coding: the signature would cover other bytes than the client has signed. */
function refuseTransferCodings(app: FastifyInstance, options: ServerOptions): void {
  const refuse = answering(options, 'unknown', () => {
    throw new Refusal('transfer_coding_not_supported', undefined, { headers: { connection: 'close' } })
  })
  app.addHook('onRequest', async (request, reply) => {
    const coding = request.headers['transfer-encoding'] ?? 'chunked'
    if (coding.trim().toLowerCase() !== 'chunked') await refuse(request, reply)
  })
}

/** Fastify ignores a fragment. A request target has none (RFC 9112, section 3.2), so that it is refused: 400. */
function refuseFragments(app: FastifyInstance, options: ServerOptions): void {
  const refuse = answering(options, 'unknown', () => {
    throw new Refusal('malformed_request', 'The request target contains a fragment (`#`). Send the target without it.')
  })
  app.addHook('onRequest', async (request, reply) => {
    if (request.url.includes('#')) await refuse(request, reply)
  })
}

/**
 * The pipeline reads the raw body, after it has checked the headers. Fastify would refuse an invalid Content-Type
 * before authentication (415 instead of 401), so that the header is hidden from Fastify.
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

/** Returns `drain`. A connection that is closed without this header resets the request that a proxy is sending on it. */
function closeAfterAnswer(app: FastifyInstance, { refusals, pipeline }: ServerOptions): () => void {
  let draining = false
  // A router verifies no signature: of its answers only a 401 is surely a refusal before authentication.
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
      handler: answering(options, 'page', (request, reply) => pipeline.pages.run(route, request, reply)),
    })
}

/** Converts a path to Fastify's notation of parameters. */
const toUrl = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ':$1')

function mountOperations(app: FastifyInstance, options: ServerOptions, unknown: Handle): void {
  const { pipeline } = options
  for (const id of operationIds) {
    const operation: Operation = operations[id]
    const { method, path } = operation
    const handle = handleOf(pipeline, id, operation)
    // A parameter without characters is a slash too many.
    const serve: Handle = (request, reply) =>
      (Object.values(request.params).includes('') ? unknown : handle)(request, reply)
    app.route({ method, url: toUrl(path), handler: answering(options, id, serve) })
  }
}

function handleOf(pipeline: Pipeline, id: OperationId, operation: Operation): Handle {
  if ('pass' in pipeline) return pipeline.pass
  const run = servingOf(pipeline.audiences, id, audienceOf(operation))
  return (request, reply) => run(id, request, reply)
}

type Answered = {
  readonly requestId: string
  readonly operation: Answering
  readonly status: number
  readonly durationMs: number
  /** The address of the client; see TRUSTED_PROXIES. */
  readonly ip?: string | undefined
  readonly trace?: RequestTrace
}

/** Writes one log line and one observation for every response. */
function answered({ log, observe }: Observing, { durationMs, trace = {}, ...rest }: Answered): void {
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
export function answering(options: Observing, operation: Answering, handle: Handle) {
  const { log } = options
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const started = performance.now()
    // Here, not in a hook: a request whose URL Fastify cannot read passes no hook.
    request.trace = {}
    let answer: Reply | undefined
    reply.raw.once('close', () => {
      const durationMs = performance.now() - started
      const status = reply.raw.headersSent ? reply.raw.statusCode : clientClosedStatus
      const { id: requestId, trace } = request
      const { ip = request.ip } = trace
      answered(options, { requestId, operation, status, durationMs, ip, trace })
      if (answer) options.record?.(...logged(request, { operation, status, durationMs, ip }, answer))
    })
    if (options.admission.isFull()) {
      request.trace.code = 'overloaded'
      send(reply, request.id, overloaded(request.id, request.url))
      return reply
    }
    try {
      answer = await traced(options.tracing, operation, request, () => handle(toRaw(request), reply))
    } catch (error) {
      answer = problemOf(error, request, log)
    }
    if (answer?.code !== undefined) request.trace.code = answer.code
    if (answer) send(reply, request.id, answer)
    return reply
  }
}

/**
 * Records the request as a span of its caller's trace. A refusal does not mark the span as failed; its code is an
 * attribute.
 */
function traced(
  tracing: Tracing | undefined,
  operation: Answering,
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

function problemOf(error: unknown, request: FastifyRequest, log: Log): ProblemAnswer {
  const instance = request.url.split('?', 1)[0] ?? '/'
  return toProblem(error, { requestId: request.id, instance, log: log.child({ requestId: request.id }) })
}

/** Node joins headers of one name: two idempotency keys would become a third one. */
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

// Selects what the request log gets of an answer of this process. If a request was forwarded, the process to which it was
// forwarded records it.

type Answer = {
  readonly code?: string
  readonly pointer?: string
  readonly headers: Readonly<Record<string, string>>
}
/** `ip`: the address of the client, also if a gateway has forwarded the request. */
type Observed = {
  readonly operation: string
  readonly status: number
  readonly durationMs: number
  readonly ip: string
}

function logged(
  { id: requestId, method, params, trace: { caller }, headers }: FastifyRequest,
  observed: Observed,
  { code, pointer, headers: { 'idempotent-replayed': replayed } }: Answer,
): Parameters<RequestRecorder['record']> {
  const apiKey = headers['apikey']
  const isKnown = observed.operation !== 'unknown' && observed.operation !== 'page'
  const request = {
    ...{ ...observed, requestId, method, code, pointer, userAgent: headers['user-agent'] },
    params: isKnown ? (params as Readonly<Record<string, string>>) : {},
    replayed: replayed === 'true',
  }
  return [request, { caller, apiKey: typeof apiKey === 'string' ? apiKey : undefined }]
}

// The authentication of each audience: a form of the gateway has one for each audience that it serves.

type Audiences<T> = Readonly<Partial<Record<Audience, T>>>

/** Throws at the start if an operation has an audience without authentication. */
export function servingOf<T>(audiences: Audiences<T>, id: string, audience: Audience): T {
  const serving = audiences[audience]
  assert(serving !== undefined, `the operation ${id} has an audience that the gateway authenticates: ${audience}`)
  return serving
}

// Requests that the parser of Node refuses before Fastify sees them: the problem is written to the socket.

/** A client that still sends when it is refused has this time to read the answer. */
const lingerMs = 2000

const socketProblems: Readonly<Record<string, ProblemCode>> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
}

type Refused = {
  readonly requestId: string
  readonly status: number
  readonly code: ProblemCode
  readonly ip: string | undefined
}

function refuseOnSocket(
  error: Error & { readonly code?: string },
  socket: Socket,
  refused: (refused: Refused) => void,
): void {
  // After an earlier answer on the connection, the client would take this one for the answer to its next request.
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

/** The id of a request: the caller's, if it is well-formed, so that it joins the logs of both sides. */
export function requestIdOf(request: IncomingMessage): string {
  const given = request.headers['x-request-id']
  return typeof given === 'string' && /^[A-Za-z0-9._-]{1,64}$/.test(given) ? given : newId()
}
