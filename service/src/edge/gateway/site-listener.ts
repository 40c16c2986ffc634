/** Serves a site of pages on a plain HTTP server, with the same checks as on the public port. */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { type PublicSite, Refusal } from '../../kernel/api/index.ts'
import { type Clock, type Log, present } from '../../kernel/index.ts'
import { createAdmissionControl } from './admission.ts'
import { createBodyBuffer, readBody } from './incoming.ts'
import { createPublicPipeline } from './public.ts'
import { type RawRequest, readRequestId, strictTransportHeader } from './server.ts'
import { isIP } from 'node:net'
import { createAddressCheck } from '../../access/index.ts'

export type SiteOptions = {
  readonly site: PublicSite
  readonly clock: Clock
  readonly log: Log
  readonly requestTimeoutMs: number
  /** Addresses and networks whose X-Forwarded-For is trusted. */
  readonly trustedProxies: readonly string[] | undefined
  readonly pageRate: { readonly perSecond: number; readonly burst: number }
  readonly strictTransport?: string | undefined
}

/** Maximum number of concurrent requests. The users are employees of one company, so more would be an attack. */
const requestsMax = 32
const bodyBytesMax = 16_384

export function createSiteListener({
  site,
  trustedProxies,
  strictTransport,
  ...options
}: SiteOptions): RequestListener {
  // The route of unknown paths, with the same checks as pages.
  const unknown = {
    method: 'GET',
    path: '',
    handle: () => {
      throw new Refusal('not_found')
    },
  } as const
  const addressOf = createClientAddress(trustedProxies)
  const routes = site.routes.map((route) => ({ route, pattern: toPathPattern(route.path) }))
  const pipeline = createPublicPipeline(
    { ...options, sites: [{ ...site, routes: [...site.routes, unknown] }] },
    {
      admission: createAdmissionControl(requestsMax),
      incoming: {
        read: (message) =>
          readBody(
            message,
            createBodyBuffer(bodyBytesMax, () => undefined),
          ),
      },
    },
  )
  const answer = async (message: IncomingMessage, response: ServerResponse): Promise<void> => {
    const request = toRaw(message, addressOf(message.socket.remoteAddress ?? '', message.headers['x-forwarded-for']))
    const asked = request.method === 'HEAD' ? 'GET' : request.method
    const found = routes
      .filter(({ route }) => route.method === asked)
      .map(({ route, pattern }) => ({ route, params: pattern.exec(request.path)?.groups }))
      .find(({ params }) => params !== undefined)
    const { route, params = {} } = found ?? { route: unknown }
    const {
      status,
      headers,
      cookies = [],
      body,
    } = present(await pipeline.run(route, { ...request, params }, undefined), `no answer of the page ${request.path}`)
    if (cookies.length > 0) response.setHeader('set-cookie', cookies)
    if (strictTransport !== undefined) response.setHeader(strictTransportHeader, strictTransport)
    response.writeHead(status, { 'x-request-id': request.requestId, ...headers })
    response.end(request.method === 'HEAD' ? undefined : body)
  }
  return (message, response) => {
    answer(message, response).catch((err: unknown) => {
      options.log.error({ err }, 'a page could not be answered')
      response.destroy()
    })
  }
}

/** Returns a pattern whose named groups are the parameters of the path. */
const toPathPattern = (path: string): RegExp =>
  new RegExp(`^(?<path>${path.replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)')})$`)

function toRaw(message: IncomingMessage, ip: string): Omit<RawRequest, 'params'> {
  const { method = 'GET', url = '/', headers } = message
  const [path = '/', ...rest] = url.split('?')
  return {
    method,
    url,
    path,
    query: rest.join('?'),
    headers,
    contentType: headers['content-type'],
    requestId: readRequestId(message),
    ip,
    message,
    trace: {},
  }
}

// Reads the address of a client behind proxies in the same way as Fastify.

type ClientAddress = (remote: string, forwarded: string | readonly string[] | undefined) => string

/**
 * Follows `X-Forwarded-For` from the nearest proxy outwards while the addresses are trusted. The client may have forged
 * the entries further out. Without proxies the header is ignored.
 */
export function createClientAddress(proxies: readonly string[] | undefined): ClientAddress {
  const isTrusted = createAddressCheck(proxies ?? [])
  if (isTrusted === undefined) return (remote) => remote
  return (remote, forwarded) => {
    const hops = [forwarded ?? []].flat().join(',').split(',')
    let address = remote
    for (const hop of hops.map((text) => text.trim()).toReversed()) {
      if (!isTrusted(address) || isIP(hop) === 0) return address
      address = hop
    }
    return address
  }
}
