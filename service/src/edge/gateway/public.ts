/**
 * Serves a request for a public page in these steps: same-site check, rate limit of the client's address, body,
 * admission, deadline, handler. A refusal is answered with a page too.
 */
import { Readable } from 'node:stream'
import {
  runAdmitted,
  type PublicAnswer,
  publicHeaders,
  type PublicRequest,
  type PublicRoute,
  type PublicSite,
  Refusal,
} from '../../kernel/api/index.ts'
import { type Clock, type Log, present } from '../../kernel/index.ts'
import { type AdmissionControl, startDeadline } from './admission.ts'
import type { Forwarder, InternalTokens } from './forward.ts'
import type { IncomingRequests } from './incoming.ts'
import { toProblem } from './problems.ts'
import { createAddressLimiter } from './rate.ts'
import type { PublicPipeline, RawRequest, Reply } from './server.ts'

/** Default size limit of a form with a few fields. */
const fieldsBytesMax = 16_384

type PublicOptions = {
  readonly sites: readonly PublicSite[]
  readonly clock: Clock
  readonly log: Log
  readonly requestTimeoutMs: number
}
type ServingDeps = { readonly admission: AdmissionControl; readonly incoming: IncomingRequests }
type ReadingDeps = { readonly admission: AdmissionControl; readonly incoming: Pick<IncomingRequests, 'read'> }
type PageRate = { readonly pageRate: { readonly perSecond: number; readonly burst: number } }

/** Serves public pages with the handlers of this process. */
export function createPublicPipeline(options: PublicOptions & PageRate, serving: ReadingDeps): PublicPipeline<unknown> {
  const guard = createGuard(options)
  return withRefusalPages(options, async (route, request) => {
    guard(request)
    const body = await readForm(serving.incoming, route, request)
    return runHandler(options, serving, route, toPublic(request, body, request.ip))
  })
}

/** Serves public pages by an api process. Refuses requests that need not reach it. */
export function createForwardingPublicPipeline(
  options: PublicOptions & PageRate,
  { admission, incoming }: ServingDeps,
  forwarder: Forwarder,
): PublicPipeline {
  const guard = createGuard(options)
  return withRefusalPages(options, async (route, request, reply) => {
    guard(request)
    const body = await readForm(incoming, route, request)
    const release = admission.admit(route)
    try {
      return await forwarder.forwardPublic(request, body, reply)
    } finally {
      release()
    }
  })
}

/**
 * Serves public pages in an api process. Only its gateway may call, and the gateway's token states the client's
 * address.
 */
export function createInternalPublicPipeline(
  options: PublicOptions,
  tokens: InternalTokens,
  serving: ServingDeps,
): PublicPipeline {
  return withRefusalPages(options, async (route, request) => {
    const body = await serving.incoming.read(request.message, route.bodyBytesMax)
    const { method, url } = request
    const ip = tokens.verifyPublic(request.headers, { method, url, body })
    request.trace.ip = ip
    serving.incoming.verified(request.message.socket)
    return runHandler(options, serving, route, toPublic(request, body, ip))
  })
}

async function runHandler(
  { requestTimeoutMs }: PublicOptions,
  { admission }: Pick<ServingDeps, 'admission'>,
  route: PublicRoute,
  request: PublicRequest,
): Promise<Reply> {
  const release = admission.admit(route)
  const deadline = startDeadline(requestTimeoutMs)
  const work = Promise.try(() => runAdmitted(route, () => route.handle(request)))
  return toReply(await deadline(work.finally(release)))
}

const toReply = ({ body, ...answer }: PublicAnswer): Reply => ({
  ...answer,
  body: typeof body === 'string' || Buffer.isBuffer(body) || body instanceof Readable ? body : Readable.from(body),
})

function withRefusalPages<Sent>({ sites, log }: PublicOptions, run: PublicPipeline<Sent>['run']): PublicPipeline<Sent> {
  const siteOf = new Map(sites.flatMap((site) => site.routes.map((route) => [route, site] as const)))
  return {
    routes: [...siteOf.keys()],
    run: async (route, request, reply) => {
      try {
        return await run(route, request, reply)
      } catch (error) {
        const { requestId } = request
        const problem = toProblem(error, { requestId, instance: request.path, log: log.child({ requestId }) })
        const { 'content-type': _json, 'www-authenticate': _scheme, ...kept } = problem.headers
        const page = present(siteOf.get(route), `no site has the route ${route.path}`).refused(
          toPublic(request, Buffer.alloc(0), request.ip),
          problem,
        )
        return { ...toReply(page), code: problem.code, headers: { ...page.headers, ...kept } }
      }
    },
  }
}

function toPublic({ path, params, query, headers, requestId }: RawRequest, body: Buffer, ip: string): PublicRequest {
  const given = publicHeaders.flatMap((name) => {
    const value = headers[name]
    return typeof value === 'string' ? [[name, value] as const] : []
  })
  return { path, params, query, headers: Object.fromEntries(given), body, ip, requestId }
}

function createGuard({ clock, pageRate }: PublicOptions & PageRate): (request: RawRequest) => void {
  const limiter = createAddressLimiter({ clock, ...pageRate })
  return (request) => {
    if (request.method === 'POST') refuseForeignSite(request)
    limiter.take(request.ip)
    if (request.query.includes(encodedNul)) throw hasNul()
  }
}

/**
 * Refuses forms that another site sends. Such a site does not know the token in the path, so this is defence in depth.
 * A page with `no-referrer` sends `Origin: null` from its own forms, so `Origin` is checked only if it is not null and
 * the browser sends no `Sec-Fetch-Site`.
 */
function refuseForeignSite({ headers }: RawRequest): void {
  const site = headers['sec-fetch-site']
  const { origin, host } = headers
  const isForeign =
    typeof site === 'string'
      ? site !== 'same-origin'
      : typeof origin === 'string' && origin !== 'null' && URL.parse(origin)?.host !== host
  if (isForeign) throw new Refusal('permission_denied', 'The form was sent by another site.')
}

async function readForm(
  incoming: Pick<IncomingRequests, 'read'>,
  { bodyBytesMax }: PublicRoute,
  { headers, message }: RawRequest,
): Promise<Buffer> {
  const bytesMax = bodyBytesMax ?? fieldsBytesMax
  if (Number(headers['content-length'] ?? 0) > bytesMax) throw tooLarge()
  const body = await incoming.read(message, bodyBytesMax)
  if (body.length > bytesMax) throw tooLarge()
  // A form with a file may contain any byte, and JSON has its own reader.
  const isOther = /^(?:multipart\/form-data|application\/json)\b/i.test(String(headers['content-type']))
  if (!isOther && (body.includes(encodedNul) || body.includes(0))) throw hasNul()
  return body
}

/**
 * The encoding of a NUL, which PostgreSQL cannot store. These characters always mean a NUL, because a percent sign is
 * itself encoded.
 */
const encodedNul = '%00'
const hasNul = () => new Refusal('malformed_request', 'The form contains a NUL character.')

/** Closes the connection, because the rest of the body is not read. */
const tooLarge = () => new Refusal('body_too_large', undefined, { headers: { connection: 'close' } })
