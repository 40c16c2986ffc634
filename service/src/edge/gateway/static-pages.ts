/**
 * Static pages: the documentation and `/openapi.json`. Each is compressed once per encoding outside the main thread,
 * and sent from memory. A client that has the current page gets 304. Each client address has a rate limit, and all
 * clients together have a budget of bytes.
 */
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { FastifyInstance } from 'fastify'
import { type Encoding, encodingFor, Refusal } from '../../kernel/api/index.ts'
import { type Clock, loadOnce } from '../../kernel/index.ts'
import { retryHeaders } from './admission.ts'
import { toProblem } from './problems.ts'
import { createAddressLimiter, createRateLimiter } from './rate.ts'
import { handleRoute, type RawRequest, type Reply, type ServerOptions } from './server.ts'

export type StaticPage = {
  readonly path: string
  /** Default: 200. */
  readonly status?: number
  readonly contentType: string
  /** Reads the page. Called once, at the first request. */
  readonly body: () => Promise<Buffer>
  readonly headers: Readonly<Record<string, string>>
}

type Options = Pick<ServerOptions, 'log' | 'observe' | 'tracing' | 'admission'> & {
  readonly clock: Clock
  readonly pageRate: { readonly perSecond: number; readonly burst: number }
}

/**
 * Quality with which the largest file takes a tenth of a second. The best quality takes 20 times as long and saves 5 %.
 */
const brotliQuality = 9

const compressors = {
  br: (body: Buffer) =>
    promisify(brotliCompress)(body, { params: { [constants.BROTLI_PARAM_QUALITY]: brotliQuality } }),
  gzip: (body: Buffer) => promisify(gzip)(body),
  identity: (body: Buffer) => Promise.resolve(body),
}

/**
 * Bytes per second that a process sends to all clients together. `/openapi.json` has 1.8 MB without compression: fifty
 * addresses within their own rates could request gigabytes a second, which would block the thread for all other
 * clients.
 */
export const staticBytesRate = { perSecond: 8 * 1024 * 1024, burst: 32 * 1024 * 1024 } as const
/** Fixed cost of an answer in the budget: bytes that could have been sent in the same time. */
const answerBytes = 16 * 1024

function createStrangersBudget(clock: Clock): (bytes: number) => void {
  const limiter = createRateLimiter({ clock, ...staticBytesRate, unit: 'bytes' })
  return (bytes) => {
    if (!limiter.tryTake('strangers', answerBytes + bytes))
      throw new Refusal(
        'overloaded',
        'Too many requests for the documentation at the moment. Try again in a second, with `Accept-Encoding: br, gzip`.',
        { headers: retryHeaders },
      )
  }
}

/** Mounts the pages with a rate limit per client address, separate from the limit of payment pages. */
export function mountStaticPages(app: FastifyInstance, pages: readonly StaticPage[], options: Options): void {
  const limiter = createAddressLimiter({ clock: options.clock, ...options.pageRate })
  const spend = createStrangersBudget(options.clock)
  for (const page of pages) {
    const answer = createAnswer(page)
    const handle = handleRoute(options, 'page', async (request) => {
      try {
        limiter.take(request.ip)
        const reply = await answer(request)
        spend(request.method === 'HEAD' ? 0 : reply.body.length)
        return reply
      } catch (error) {
        const { requestId, path: instance } = request
        return toProblem(error, { requestId, instance, log: options.log.child({ requestId }) })
      }
    })
    app.route({ method: ['GET', 'HEAD'], url: page.path, handler: handle })
  }
}

type PageReply = Reply & { readonly body: string | Buffer }

function createAnswer({
  status = 200,
  contentType,
  body,
  headers,
}: StaticPage): (request: RawRequest) => Promise<PageReply> {
  const read = loadOnce(async () => {
    const bytes = await body()
    return { bytes, digest: createHash('sha256').update(bytes).digest('base64url') }
  })
  const bodies = new Map<Encoding, Promise<Buffer>>()
  const encoded = (encoding: Encoding, bytes: Buffer) => {
    const known = bodies.get(encoding) ?? compressors[encoding](bytes)
    bodies.set(encoding, known)
    return known
  }
  return async ({ headers: { 'accept-encoding': accepted, 'if-none-match': known } }) => {
    const encoding = encodingFor(typeof accepted === 'string' ? accepted : undefined)
    const { bytes, digest } = await read()
    const etag = `"${digest}-${encoding}"`
    const shared = { ...headers, etag, vary: 'accept-encoding' }
    if (status === 200 && typeof known === 'string' && names(known, etag))
      return { status: 304, headers: shared, body: '' }
    const ofEncoding = encoding === 'identity' ? {} : { 'content-encoding': encoding }
    return {
      status,
      headers: { 'content-type': contentType, ...shared, ...ofEncoding },
      body: await encoded(encoding, bytes),
    }
  }
}

/** Reports whether a list of entity tags contains this one, by weak comparison (RFC 9110, section 13.1.2). */
const names = (known: string, etag: string): boolean =>
  known.split(',').some((each) => each.trim() === '*' || each.trim().replace(/^W\//, '') === etag)
