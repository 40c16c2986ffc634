/** Forwards a request from a gateway process to an api process over HTTP, and converts its failures to 502 and 504. */
import type { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { type Caller, publicHeaders, Refusal, Unreachable } from '../../kernel/api/index.ts'
import { type Clock, type Log, minuteMs, type Tracing } from '../../kernel/index.ts'
import { idempotencyKeyHeader } from './idempotency-key.ts'
import { toProblem, toUnreachable } from './problems.ts'
import type { RawRequest, Reply } from './server.ts'
import { createHmac, timingSafeEqual } from 'node:crypto'
import { ownJson, sha256Hex } from '@partner-payments/wire'
import type { Headers } from './signature.ts'

type ForwardOptions = {
  readonly caller: Caller
  readonly body: Buffer
  /** Headers added to the response. */
  readonly headers: Readonly<Record<string, string>>
  /** The media types of the operation's content. */
  readonly content: readonly string[]
}

export type Forwarder = {
  readonly mount: (app: FastifyInstance) => void
  /**
   * Sends the response of the api process on `reply` and returns undefined. Returns a problem if the api process is
   * unreachable or its response is invalid (502), or if it does not respond in time (504).
   */
  readonly forward: (request: RawRequest, forwarded: ForwardOptions, reply: FastifyReply) => Promise<Reply | undefined>
  /** Forwards a request for a public page. Throws if it fails, unlike `forward`. */
  readonly forwardPublic: (request: RawRequest, body: Buffer, reply: FastifyReply) => Promise<undefined>
}

/** The only headers that are forwarded to the api process, so that it does not receive credentials. */
const forwardedHeaders = ['accept', 'user-agent', 'range', 'if-range', idempotencyKeyHeader] as const

type ForwarderOptions = {
  readonly apiUrl: string
  readonly apiTimeoutMs: number
  readonly tokens: InternalTokens
  readonly log: Log
  readonly tracing?: Tracing | undefined
}

export function createForwarder(options: ForwarderOptions): Forwarder {
  const { apiUrl, apiTimeoutMs, log } = options
  const send = createSend(options)
  return {
    mount: (app) => {
      void app.register(import('@fastify/reply-from'), {
        base: apiUrl,
        undici: { headersTimeout: apiTimeoutMs, bodyTimeout: apiTimeoutMs, connect: { timeout: apiTimeoutMs } },
        // A request without a response may have been carried out. The partner retries with its idempotency key.
        retryMethods: [],
      })
    },
    forward: async (request, { caller, body, headers, content }, reply) => {
      const { requestId, path: instance } = request
      try {
        await send({ request, caller, body, headers, accepts: acceptedTypes(content) }, reply)
        return undefined
      } catch (error) {
        return toProblem(error, { requestId, instance, log: log.child({ requestId }) })
      }
    },
    forwardPublic: (request, body, reply) =>
      send({ request, caller: null, body, headers: {}, accepts: jsonOrPage }, reply),
  }
}

const json = /^application\/(problem\+)?json\b/
/** The content types of pages, their assets and their files. */
const jsonOrPage = /^(?:application\/(?:json|x-ndjson|pdf|xml)|text\/(?:html|css|javascript|csv))\b/

type UpstreamRequest = Omit<ForwardOptions, 'caller' | 'content'> & {
  readonly request: RawRequest
  /** Null: the request is for a public page. */
  readonly caller: Caller | null
  /** The content types that the response may have. */
  readonly accepts: RegExp
}

/** Sends the response on `reply`. Throws Unreachable. */
const createSend =
  ({ tokens, tracing }: Pick<ForwarderOptions, 'tokens' | 'tracing'>) =>
  ({ request, caller, body: received, headers: responseHeaders, accepts }: UpstreamRequest, reply: FastifyReply) =>
    new Promise<undefined>((resolve, reject) => {
      const { method, url, contentType } = request
      // The proxy library refuses to send the body of a GET, which no handler reads.
      const body = method === 'GET' || method === 'HEAD' ? Buffer.alloc(0) : received
      const fail = (error: unknown) => reject(toUnreachable(error, 'the api process'))
      void reply.from('/', {
        // With an empty type the proxy library would send the body as JSON text.
        ...(body.length > 0 ? { body, contentType: contentType || 'application/octet-stream' } : {}),
        rewriteRequestHeaders: () => ({
          ...upstreamHeaders(request, body, caller === null ? publicHeaders : forwardedHeaders),
          ...tracing?.outgoingHeaders(),
          ...tokens.issue(caller, request.ip, { method, url, body }),
        }),
        rewriteHeaders: (headers) => ({ ...headers, ...responseHeaders }),
        onResponse: (_request, response, upstream) => {
          const { headers, stream } = upstream as unknown as {
            headers: Record<string, string | undefined>
            stream: Readable
          }
          const reason = responseFault(response.statusCode, headers['content-type'], accepts)
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
    })

function upstreamHeaders(
  { headers, contentType, requestId }: RawRequest,
  body: Buffer,
  forwardedHeaders: readonly string[],
) {
  return {
    ...Object.fromEntries(
      forwardedHeaders.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]])),
    ),
    ...(body.length > 0 ? { 'content-length': String(body.length) } : {}),
    ...(contentType === undefined ? {} : { 'content-type': contentType }),
    'x-request-id': requestId,
  }
}

/** Returns the content types that a response of the operation may have. */
const acceptedTypes = (content: readonly string[]): RegExp =>
  content.length === 0
    ? json
    : new RegExp(`${json.source}|^(?:${content.map((type) => RegExp.escape(type)).join('|')})$`)

/** Returns the reason why the response of the api process cannot be forwarded, if any. */
function responseFault(status: number, contentType: string | undefined, accepts: RegExp): string | undefined {
  // The gateway has verified the partner's signature, so that a 401 is about the internal token.
  if (status === 401) return 'the api process refused the internal token: compare MASTER_KEY and the clocks'
  if (status === 204 || status === 303 || status === 304 || accepts.test(contentType ?? '')) return undefined
  return 'the response of the api process has an unexpected type'
}

// The token that a gateway process sends to an api process: the authenticated caller, valid for a minute and bound to the
// method, target and body of the request. Both processes derive its MAC key from the master key.

const callerHeader = 'x-internal-caller'
const callerMacHeader = 'x-internal-caller-mac'
/** The request target as the partner sent it: a URL library in between may normalise the URL of the request line. */
const targetHeader = 'x-internal-target'

export function readRequestTarget(headers: Headers): string | undefined {
  const text = headers[targetHeader]
  return typeof text === 'string' ? Buffer.from(text, 'base64url').toString('latin1') : undefined
}

type BoundRequest = { readonly method: string; readonly url: string; readonly body: Uint8Array }
/** Contents of an internal token. A null caller: the token is for a public page, and operations refuse it. */
type TokenContents = { readonly caller: Caller | null; readonly at: number; readonly ip: string }

export type InternalTokens = {
  /** Returns the headers of a new token. A null caller: for a public page. */
  readonly issue: (caller: Caller | null, ip: string, bound: BoundRequest) => Readonly<Record<string, string>>
  /** Verifies the signature of a forwarded request. Refuses (401): signature_required, signature_invalid. */
  readonly verify: (headers: Headers, bound: BoundRequest) => { readonly caller: Caller; readonly ip: string }
  /** Verifies the token of a public page and returns the address of the client. Refuses as `verify` does. */
  readonly verifyPublic: (headers: Headers, bound: BoundRequest) => string
}

export function createInternalTokens(deps: { readonly key: Uint8Array; readonly clock: Clock }): InternalTokens {
  const { key, clock } = deps
  const mac = (text: string, { method, url, body }: BoundRequest) =>
    createHmac('sha256', key)
      .update([text, method, url, sha256Hex(body)].join('\n'))
      .digest()
  const open = (headers: Headers, bound: BoundRequest): TokenContents => {
    const text = headers[callerHeader]
    const given = headers[callerMacHeader]
    if (typeof text !== 'string' || typeof given !== 'string')
      throw new Refusal('signature_required', 'This process accepts requests from its gateway only.')
    const bytes = Buffer.from(given, 'base64url')
    const expected = mac(text, bound)
    if (bytes.length !== expected.length || !timingSafeEqual(bytes, expected)) throw new Refusal('signature_invalid')
    const envelope = ownJson<TokenContents>(Buffer.from(text, 'base64url').toString('utf8'))
    if (Math.abs(clock.now().getTime() - envelope.at) > minuteMs) throw new Refusal('signature_invalid')
    return envelope
  }
  return {
    issue: (caller, ip, bound) => {
      const envelope: TokenContents = { caller, at: clock.now().getTime(), ip }
      const text = Buffer.from(JSON.stringify(envelope), 'utf8').toString('base64url')
      return {
        [callerHeader]: text,
        [callerMacHeader]: mac(text, bound).toString('base64url'),
        [targetHeader]: Buffer.from(bound.url, 'latin1').toString('base64url'),
      }
    },
    verify: (headers, bound) => {
      const { caller, ip } = open(headers, bound)
      if (caller === null) throw new Refusal('signature_invalid')
      return { caller, ip }
    },
    verifyPublic: (headers, bound) => {
      const { caller, ip } = open(headers, bound)
      if (caller !== null) throw new Refusal('signature_invalid')
      return ip
    },
  }
}
