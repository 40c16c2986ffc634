/** From a gateway process to an api process over HTTP. A kept proxy library carries the bytes; the truth of 502 and 504 is ours. */
import type { Readable } from 'node:stream'
import replyFrom from '@fastify/reply-from'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { type Caller, Unreachable } from '../api/index.ts'
import { type Log } from '../kernel/index.ts'
import type { InternalPass } from './internal.ts'
import { toProblem } from './problems.ts'
import type { RawRequest, Reply } from './server.ts'

/** `headers`: of every answer. */
type Entered = {
  readonly caller: Caller
  readonly body: Buffer
  readonly headers: Readonly<Record<string, string>>
}

export type Forwarder = {
  readonly mount: (app: FastifyInstance) => void
  /** Answers on the reply itself (undefined). An api that is away, late or talks nonsense is 502, 504, 502. */
  readonly forward: (request: RawRequest, entered: Entered, reply: FastifyReply) => Promise<Reply | undefined>
}

/** Only these cross the line; the credentials of the partner stay at the edge. */
const forwardedHeaders = ['accept', 'user-agent'] as const

export function createForwarder(options: {
  readonly apiUrl: string
  readonly apiTimeoutMs: number
  readonly pass: InternalPass
  readonly log: Log
}): Forwarder {
  const { apiUrl, apiTimeoutMs, pass, log } = options
  return {
    mount: (app) => {
      void app.register(replyFrom, {
        base: apiUrl,
        undici: { headersTimeout: apiTimeoutMs, bodyTimeout: apiTimeoutMs, connect: { timeout: apiTimeoutMs } },
        // Whether a lost request was carried out is not ours to know: the partner retries under its idempotency key.
        retryMethods: [],
      })
    },
    forward: (request, entered, reply) =>
      new Promise((resolve) => {
        const { requestId, method, url } = request
        // A GET carries no body onward: the proxy refuses one, and no operation reads it.
        const body = method === 'GET' ? Buffer.alloc(0) : entered.body
        const { contentType } = request
        const fail = (error: unknown) => {
          const instance = request.path
          resolve(toProblem(toUnreachable(error), { requestId, instance, log: log.child({ requestId }) }))
        }
        void reply.from('/', {
          ...(body.length > 0 ? { body, contentType: contentType ?? 'application/octet-stream' } : {}),
          rewriteRequestHeaders: () => ({
            ...Object.fromEntries(
              forwardedHeaders.flatMap((name) =>
                request.headers[name] === undefined ? [] : [[name, request.headers[name]]],
              ),
            ),
            ...(body.length > 0 ? { 'content-length': String(body.length) } : {}),
            ...(contentType === undefined ? {} : { 'content-type': contentType }),
            'x-request-id': requestId,
            ...pass.write(entered.caller, request.ip, { method, url, body }),
          }),
          rewriteHeaders: (headers) => ({ ...headers, ...entered.headers }),
          onResponse: (_request, answered, upstream) => {
            const { headers, stream } = upstream as unknown as {
              headers: Record<string, string | undefined>
              stream: Readable
            }
            // The partner was believed at the edge: a 401 from within is about our own pass.
            const passRefused = answered.statusCode === 401
            if (!passRefused && speaksJson(answered.statusCode, headers['content-type'])) {
              void answered.send(stream)
              resolve(undefined)
              return
            }
            stream.destroy()
            for (const name of Object.keys(answered.getHeaders())) answered.removeHeader(name)
            const reason = passRefused
              ? 'the api refuses the pass of this gateway: is MASTER_KEY the same, do the clocks agree?'
              : 'the api answered something that is not JSON'
            fail(new Unreachable('downstream_unreachable', reason))
          },
          onError: (_reply, { error }) => fail(error),
        })
      }),
  }
}

function speaksJson(status: number, contentType: string | undefined): boolean {
  return status === 204 || /^application\/(problem\+)?json\b/.test(contentType ?? '')
}

const lateCodes = new Set([
  'FST_REPLY_FROM_GATEWAY_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_CONNECT_TIMEOUT',
  'ETIMEDOUT',
])

function toUnreachable(error: unknown): Unreachable {
  if (error instanceof Unreachable) return error
  const { code, statusCode, cause } = error as { code?: string; statusCode?: number; cause?: { code?: string } }
  const late = statusCode === 504 || lateCodes.has(code ?? '') || lateCodes.has(cause?.code ?? '')
  return new Unreachable(
    late ? 'downstream_timeout' : 'downstream_unreachable',
    late ? 'the api does not answer in time' : 'the api cannot be reached',
    error,
  )
}
