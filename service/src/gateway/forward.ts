/** Forwards a request from a gateway process to an api process over HTTP, and converts its failures to 502 and 504. */
import type { Readable } from 'node:stream'
import replyFrom from '@fastify/reply-from'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { type Caller, Unreachable } from '../api/index.ts'
import type { Log, Tracing } from '../kernel/index.ts'
import { idempotencyKeyHeader } from './idempotency-key.ts'
import type { InternalTokens } from './internal-token.ts'
import { toProblem } from './problems.ts'
import type { RawRequest, Reply } from './server.ts'
import { toUnreachable } from './upstream-failure.ts'

type Forwarded = {
  readonly caller: Caller
  readonly body: Buffer
  /** Added to the response. */
  readonly headers: Readonly<Record<string, string>>
  /** The media types of the operation's content. */
  readonly content: readonly string[]
}

export type Forwarder = {
  readonly mount: (app: FastifyInstance) => void
  /**
   * Sends the response of the api process on `reply` and returns undefined. Returns a problem if the api process is
   * unreachable or its response is invalid (502), or if it is too slow (504).
   */
  readonly forward: (request: RawRequest, forwarded: Forwarded, reply: FastifyReply) => Promise<Reply | undefined>
}

/** The api process receives no other header of the partner, and so none of the credentials. */
const forwardedHeaders = ['accept', 'user-agent', 'range', 'if-range', idempotencyKeyHeader] as const

export function createForwarder(options: {
  readonly apiUrl: string
  readonly apiTimeoutMs: number
  readonly tokens: InternalTokens
  readonly log: Log
  readonly tracing?: Tracing | undefined
}): Forwarder {
  const { apiUrl, apiTimeoutMs, tokens, log, tracing } = options
  return {
    mount: (app) => {
      void app.register(replyFrom, {
        base: apiUrl,
        undici: { headersTimeout: apiTimeoutMs, bodyTimeout: apiTimeoutMs, connect: { timeout: apiTimeoutMs } },
        // A request without a response may have been carried out. The partner retries with its idempotency key.
        retryMethods: [],
      })
    },
    forward: (request, { caller, body: received, headers: responseHeaders, content }, reply) =>
      new Promise((resolve) => {
        const { requestId, method, url, contentType } = request
        // No operation reads the body of a GET, and the proxy library refuses to send one.
        const body = method === 'GET' ? Buffer.alloc(0) : received
        const fail = (error: unknown) => {
          const instance = request.path
          resolve(
            toProblem(toUnreachable(error, 'the api process'), { requestId, instance, log: log.child({ requestId }) }),
          )
        }
        void reply.from('/', {
          // With an empty type the proxy library would send the body as JSON text.
          ...(body.length > 0 ? { body, contentType: contentType || 'application/octet-stream' } : {}),
          rewriteRequestHeaders: () => ({
            ...upstreamHeaders(request, body),
            ...tracing?.outgoingHeaders(),
            ...tokens.issue(caller, request.ip, { method, url, body }),
          }),
          rewriteHeaders: (headers) => ({ ...headers, ...responseHeaders }),
          onResponse: (_request, response, upstream) => {
            const { headers, stream } = upstream as unknown as {
              headers: Record<string, string | undefined>
              stream: Readable
            }
            const reason = refusalOf(response.statusCode, headers['content-type'], content)
            if (reason === undefined) {
              void response.send(stream)
              resolve(undefined)
              return
            }
            stream.destroy()
            for (const name of Object.keys(response.getHeaders())) response.removeHeader(name)
            fail(new Unreachable('downstream_unreachable', reason))
          },
          onError: (_reply, { error }) => fail(error),
        })
      }),
  }
}

function upstreamHeaders({ headers, contentType, requestId }: RawRequest, body: Buffer) {
  return {
    ...Object.fromEntries(
      forwardedHeaders.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]])),
    ),
    ...(body.length > 0 ? { 'content-length': String(body.length) } : {}),
    ...(contentType === undefined ? {} : { 'content-type': contentType }),
    'x-request-id': requestId,
  }
}

/** Why the response of the api process cannot be passed on; undefined if it can. */
function refusalOf(status: number, contentType: string | undefined, content: readonly string[]): string | undefined {
  // The gateway has verified the partner's signature, so that a 401 is about the internal token.
  if (status === 401) return 'the api process refused the internal token: compare MASTER_KEY and the clocks'
  if (status === 204 || /^application\/(problem\+)?json\b/.test(contentType ?? '')) return undefined
  if (contentType !== undefined && content.includes(contentType)) return undefined
  return 'the response of the api process is not JSON'
}
