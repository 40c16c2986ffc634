/** Fastify lives here only: sockets in, the pipeline, answers out. The pipeline itself knows nothing of Fastify. */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { type OperationId, operationIds, operations, type ProblemCode, problems } from '@partner-payments/wire'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { Refusal } from '../api/index.ts'
import { type Log, newId, systemClock } from '../kernel/index.ts'
import type { Headers } from './signature.ts'
import { type Capacity, retryHeaders } from './admission.ts'
import { type ProblemAnswer, problemType, toProblem } from './problems.ts'

export type RawRequest = {
  readonly method: string
  /** As called, with the query. */
  readonly url: string
  readonly path: string
  readonly query: string
  readonly headers: Headers
  readonly contentType: string | undefined
  readonly params: Readonly<Record<string, string>>
  readonly requestId: string
  readonly ip: string
  readonly message: IncomingMessage
}

export type Reply = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Buffer
}
export type Page = {
  readonly path: string
  readonly contentType: string
  readonly body: Buffer
  readonly headers: Readonly<Record<string, string>>
}

const contentTypes = new WeakMap<IncomingMessage, string | undefined>()

export type Pipeline = {
  /** For a path below /v1 that leads nowhere: authenticates all the same, and spends the nonce. Answers what is refused. */
  readonly knock: (request: RawRequest) => Promise<Reply | undefined>
  /** Undefined: the reply itself has been answered. */
  readonly run: (id: OperationId, request: RawRequest, reply: FastifyReply) => Promise<Reply | undefined>
}

export type ServerOptions = {
  readonly pipeline: Pipeline
  readonly log: Log
  readonly headerBytesMax: number
  /** Behind a gateway: what was asked for, where the request does not say it itself. */
  readonly targetOf?: ((headers: Headers) => string | undefined) | undefined
  /** Pages that need no authentication: the API's documentation. */
  readonly pages: readonly Page[]
  readonly capacity: Pick<Capacity, 'isFull' | 'detail'>
  readonly observe?: ((operation: OperationId | 'unknown', status: number, durationMs: number) => void) | undefined
}

const requestTimeoutMs = 30_000
const headersTimeoutMs = 10_000
/** Longer than the usual 60 s of a load balancer, so that it is the balancer that closes first. */
const keepAliveTimeoutMs = 72_000
/** In logs and metrics only: the caller went away before there was an answer. */
const clientClosedStatus = 499
const paramCharsMax = 2048
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

export function createServer(options: ServerOptions): FastifyInstance {
  const { log, headerBytesMax, targetOf } = options
  const unknownPath = answering(options, 'unknown', async (request) => {
    // Below /v1 a stranger is told nothing, not even which paths exist.
    const isApi = request.path === '/v1' || request.path.startsWith('/v1/')
    const refused = isApi ? await options.pipeline.knock(request) : undefined
    if (refused) return refused
    throw new Refusal('not_found', 'No such resource.')
  })
  const app = Fastify({
    logger: false,
    // Without a Host header Node would answer by itself, without a problem body: nothing here reads Host.
    http: { maxHeaderSize: headerBytesMax, headersTimeout: headersTimeoutMs, requireHostHeader: false },
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    exposeHeadRoutes: false,
    genReqId: requestIdOf,
    rewriteUrl: (request: IncomingMessage) => targetOf?.(request.headers) ?? request.url ?? '/',
    routerOptions: { maxParamLength: paramCharsMax },
    clientErrorHandler: (error, socket) => refuseOnSocket(error, socket, options),
    // A URL that the router cannot read (broken percent-encoding) leads nowhere, for a stranger and for a partner.
    frameworkErrors: (_error, request, reply) => {
      void unknownPath(request, reply)
    },
  })
  // The raw body is read by the pipeline, after the headers were judged and before anything parses it. Fastify judges
  // the content type before that, so it is shown none: a stranger with an odd one is a stranger first.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _payload, done) => done(null))
  app.addHook('onRequest', (request, _reply, done) => {
    contentTypes.set(request.raw, request.raw.headers['content-type'])
    delete request.raw.headers['content-type']
    done()
  })
  app.setErrorHandler((error, request, reply) => {
    const { statusCode = 500 } = error as { readonly statusCode?: number }
    const failure = statusCode < 500 ? new Refusal('malformed_request') : error
    send(reply, request.id, problemOf(failure, request, log))
  })
  closeAfterAnswer(app)
  mountPages(app, options)
  mountOperations(app, options)
  app.setNotFoundHandler(unknownPath)
  return app
}

/** While the server closes, a connection with a request under way would be kept alive after its answer, and hold the stop. */
function closeAfterAnswer(app: FastifyInstance): void {
  let closing = false
  app.addHook('preClose', (done) => {
    closing = true
    done()
  })
  app.addHook('onSend', (_request, reply, _payload, done) => {
    if (closing) reply.header('connection', 'close')
    done()
  })
}

function mountPages(app: FastifyInstance, { pages }: ServerOptions): void {
  for (const { path, contentType, body, headers } of pages)
    app.get(path, (_request, reply) => {
      void reply.headers({ 'content-type': contentType, ...headers }).send(body)
    })
}

function mountOperations(app: FastifyInstance, options: ServerOptions): void {
  const { pipeline } = options
  const allowed = new Map<string, string[]>()
  for (const id of operationIds) {
    const { method, path } = operations[id]
    const url = path.replaceAll(/\{(\w+)\}/g, ':$1')
    allowed.set(url, [...(allowed.get(url) ?? []), method])
    app.route({
      method,
      url,
      handler: answering(options, id, (request, reply) => pipeline.run(id, request, reply)),
    })
  }
  for (const [url, known] of allowed)
    app.route({
      method: methods.filter((method) => !known.includes(method)),
      url,
      handler: answering(options, 'unknown', async (request) => {
        const refused = await pipeline.knock(request)
        if (refused) return refused
        // `/v1/customers/` is no customer, whatever the method.
        if (Object.values(request.params).includes('')) throw new Refusal('not_found', 'No such resource.')
        throw new Refusal('method_not_allowed', `Allowed here: ${known.join(', ')}.`, {
          headers: { allow: known.join(', ') },
        })
      }),
    })
}

type Answered = {
  readonly requestId: string
  readonly operation: OperationId | 'unknown'
  readonly status: number
  readonly durationMs: number
}

/** One line and one observation for every answer, whoever gave it. */
function answered({ log, observe }: ServerOptions, { durationMs, ...rest }: Answered): void {
  observe?.(rest.operation, rest.status, durationMs)
  log.info({ ...rest, durationMs: Math.round(durationMs) }, 'answered')
}

type Handle = (request: RawRequest, reply: FastifyReply) => Promise<Reply | undefined>

/** Runs a handler; whatever fails becomes a problem; every answer carries the request id and is counted. */
function answering(options: ServerOptions, operation: OperationId | 'unknown', handle: Handle) {
  const { log } = options
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const started = performance.now()
    reply.raw.once('close', () => {
      const durationMs = performance.now() - started
      const status = reply.raw.headersSent ? reply.raw.statusCode : clientClosedStatus
      answered(options, { requestId: request.id, operation, status, durationMs })
    })
    if (options.capacity.isFull()) {
      send(reply, request.id, overloaded(request, options.capacity.detail))
      return reply
    }
    let answer: Reply | undefined
    try {
      answer = await handle(toRaw(request), reply)
    } catch (error) {
      answer = problemOf(error, request, log)
    }
    // Undefined: the proxy has answered on the socket itself.
    if (answer) send(reply, request.id, answer)
    return reply
  }
}

/** By hand: while there are many of these, each must cost next to nothing, the making of an error included. */
function overloaded(request: FastifyRequest, detail: string): Reply {
  const { status, title } = problems.overloaded
  const [instance] = request.url.split('?', 1)
  const body = {
    type: problemType('overloaded'),
    title,
    status,
    detail,
    instance,
    code: 'overloaded',
    requestId: request.id,
  }
  const headers = { 'content-type': 'application/problem+json', ...retryHeaders }
  return { status, headers, body: JSON.stringify(body) }
}

function toRaw(request: FastifyRequest): RawRequest {
  const { url } = request
  const at = url.indexOf('?')
  return {
    method: request.method,
    url,
    path: at === -1 ? url : url.slice(0, at),
    query: at === -1 ? '' : url.slice(at + 1),
    headers: request.headers,
    contentType: contentTypes.get(request.raw),
    params: request.params as Readonly<Record<string, string>>,
    requestId: request.id,
    ip: request.ip,
    message: request.raw,
  }
}

function problemOf(error: unknown, request: FastifyRequest, log: Log): ProblemAnswer {
  const instance = request.url.split('?', 1)[0] ?? '/'
  return toProblem(error, { requestId: request.id, instance, log: log.child({ requestId: request.id }) })
}

function send(reply: FastifyReply, requestId: string, { status, headers, body }: Reply): void {
  void reply
    .code(status)
    .headers({ 'x-request-id': requestId, 'cache-control': 'no-store', ...headers })
    .send(status === 204 ? null : body)
}

/** The caller's own id where it is a sane one, so that both sides' logs meet. */
function requestIdOf(request: IncomingMessage): string {
  const given = request.headers['x-request-id']
  return typeof given === 'string' && /^[A-Za-z0-9._-]{1,64}$/.test(given) ? given : newId()
}

/** What Node's parser refuses never becomes a request: the problem is written to the socket by hand. */
function refuseOnSocket(error: Error & { readonly code?: string }, socket: Socket, options: ServerOptions): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const code: ProblemCode = error.code === 'HPE_HEADER_OVERFLOW' ? 'headers_too_large' : 'malformed_request'
  const { status, title } = problems[code]
  const requestId = newId()
  answered(options, { requestId, operation: 'unknown', status, durationMs: 0 })
  const body = JSON.stringify({ type: problemType(code), title, status, detail: title, instance: '/', code, requestId })
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
}
