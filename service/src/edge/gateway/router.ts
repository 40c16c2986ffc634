/**
 * The router forwards each request to the cell of its partner and returns the answer. It does not verify signatures and
 * has no database. A request whose API key or link does not identify a partner goes to the first cell, because every
 * cell answers it in the same way.
 */
import { finished, type Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { Pool } from 'undici'
import { apiKeyPartnerId, linkTokenPartnerId } from '../../access/index.ts'
import {
  partnerCookie,
  readCookie,
  linkPartnerId,
  Refusal,
  sessionCookie,
  Unreachable,
} from '../../kernel/api/index.ts'
import { assert, type Clock, type Log, present, secondMs, uuidPattern } from '../../kernel/index.ts'
import { createAdmissionControl } from './admission.ts'
import { type Gateway, openGateway } from './gateway.ts'
import { createIncomingRequests, type IncomingLimits } from './incoming.ts'
import { createRefusalBudget } from './rate.ts'
import type { RawRequest, ServerOptions } from './server.ts'
import { toUnreachable } from './problems.ts'

export type RouterOptions = {
  readonly cells: readonly Cell[]
  readonly apiTimeoutMs: number
  readonly clock: Clock
  readonly log: Log
} & IncomingLimits &
  Pick<ServerOptions, 'headerBytesMax' | 'headersTimeoutMs' | 'bodyTimeoutMs' | 'trustedProxies' | 'observe'>

export type Router = Gateway & Pick<CellLookup, 'answering'>

/**
 * Maximum number of concurrent requests to a cell. A cell itself refuses excess requests, so that more than this means
 * that it hangs. They must not fill the router's memory.
 */
const requestsPerCellMax = 1024

export function createRouter(options: RouterOptions): Router {
  const { cells, log } = options
  const incoming = createIncomingRequests(options)
  const lookup = createCellLookup(options)
  const upstreams = new Map(cells.map((cell) => [cell, createUpstream(cell, options.apiTimeoutMs)]))
  const [first] = cells
  assert(first, 'CELL_URLS does not name a cell')
  const pass = async (request: RawRequest, reply: FastifyReply) => {
    const { socket } = request.message
    const body = await incoming.read(request.message)
    const leave = incoming.protect(socket)
    try {
      const partnerId = findPartnerId(request)
      const own = partnerId === undefined ? undefined : await lookup.find(partnerId)
      const answer = await present(upstreams.get(own ?? first), `no upstream for cell ${(own ?? first).name}`).send(
        request,
        body,
      )
      // Below /v1 only requests with a valid signature succeed.
      if (own && answer.status < 400 && request.path.startsWith('/v1/')) incoming.verified(socket)
      void reply.code(answer.status).headers(answer.headers).send(answer.body)
    } finally {
      leave()
    }
    return undefined
  }
  const admission = { isFull: () => false }
  const gateway = openGateway({
    ...options,
    log,
    admission,
    incoming,
    refusals: createRefusalBudget(options.clock),
    pipeline: { pass },
  })
  return {
    ...gateway,
    answering: lookup.answering,
    close: async () => {
      await gateway.close()
      await Promise.all([lookup.close(), ...[...upstreams.values()].map(({ close }) => close())])
    },
  }
}

/** Finds the partner by the API key, or by the token in the link of a public page. */
function findPartnerId({ headers, path, query }: RawRequest): string | undefined {
  const apiKey = headers['apikey']
  if (typeof apiKey === 'string') return apiKeyPartnerId(apiKey)
  if (path.startsWith('/reports/')) return linkPartnerId(path.slice('/reports/'.length))
  const [, audience, token = ''] = path.split('/')
  if (audience === 'console') return consolePartnerId(headers, query)
  return audience === 'checkout' ? linkTokenPartnerId(token) : undefined
}

/** Finds the partner of an opened link, of a signed-in member, or of the last sign-in. */
function consolePartnerId({ cookie }: RawRequest['headers'], query: string): string | undefined {
  const cookies = typeof cookie === 'string' ? cookie : undefined
  const given = new URLSearchParams(query)
  const token = given.get('token') ?? readCookie(cookies, sessionCookie)
  const partnerId = given.get('partner') ?? readCookie(cookies, partnerCookie) ?? ''
  return (token && linkTokenPartnerId(token)) || (uuidPattern.test(partnerId) ? partnerId : undefined)
}

type CellResponse = {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[]>>
  readonly body: Readable
}
type Upstream = {
  /** Throws Unreachable if the cell does not answer. Refuses: malformed_request, overloaded. */
  readonly send: (request: RawRequest, body: Buffer) => Promise<CellResponse>
  readonly close: () => Promise<void>
}

/**
 * The connection pool of one cell. The router does not retry requests: partners repeat them with their idempotency key.
 */
function createUpstream({ name, url }: Cell, timeoutMs: number): Upstream {
  const pool = new Pool(url, { headersTimeout: timeoutMs, bodyTimeout: timeoutMs, connect: { timeout: timeoutMs } })
  const { admit } = createAdmissionControl(requestsPerCellMax)
  return {
    send: async (request, body) => {
      const release = admit()
      try {
        const {
          statusCode,
          headers,
          body: stream,
        } = await pool.request({
          method: request.method as 'GET',
          path: request.url,
          headers: requestHeaders(request),
          body: body.length > 0 ? body : null,
        })
        finished(stream, release)
        return { status: statusCode, headers: responseHeaders(headers), body: stream }
      } catch (error) {
        release()
        // For example the target `*`, or a second header of a name that may occur once.
        const { code } = error as { readonly code?: unknown }
        if (code === 'UND_ERR_INVALID_ARG' || code === 'UND_ERR_NOT_SUPPORTED') throw new Refusal('malformed_request')
        throw toUnreachable(error, `cell ${name}`)
      }
    },
    close: () => pool.destroy(),
  }
}

/** Headers that apply to one connection only (RFC 9110, section 7.6.1). */
const hopByHopHeaders = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])
/** Headers that the router replaces, and `expect`, which it has already answered. */
const replaced = new Set(['content-length', 'expect', 'x-forwarded-for', 'x-request-id'])
const connectionHeaders = (connection: string | undefined) =>
  new Set((connection ?? '').split(',').map((name) => name.trim().toLowerCase()))

/** Returns the request headers as sent, with their order and repetitions. */
function requestHeaders({ message, headers, ip, requestId }: RawRequest): string[] {
  const named = connectionHeaders(headers['connection'] as string | undefined)
  const kept: string[] = []
  for (let at = 0; at < message.rawHeaders.length; at += 2) {
    const [name = '', value = ''] = message.rawHeaders.slice(at, at + 2)
    const lower = name.toLowerCase()
    if (!hopByHopHeaders.has(lower) && !replaced.has(lower) && !named.has(lower)) kept.push(name, value)
  }
  return [...kept, 'X-Forwarded-For', ip, 'X-Request-Id', requestId]
}

function responseHeaders(headers: Readonly<Record<string, string | string[] | undefined>>): CellResponse['headers'] {
  const kept = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined || hopByHopHeaders.has(name) ? [] : [[name, value] as const],
  )
  return Object.fromEntries(kept)
}

// Finds the cell of a partner. The router queries the operations ports of the cells and caches each answer for `freshMs`. A
// moved partner is found in its new cell after that time.

export type Cell = {
  readonly name: string
  readonly url: string
  /** URL of the cell's operations port. */
  readonly opsUrl: string
}

type CellLookup = {
  /**
   * Finds the cell of a partner. Undefined: every cell has answered that it does not have the partner. Throws Unreachable if no cell has
   * confirmed the partner and a cell does not answer.
   */
  readonly find: (partnerId: string) => Promise<Cell | undefined>
  /** Reports for each cell whether it answers now. */
  readonly answering: () => Promise<Readonly<Record<string, boolean>>>
  readonly close: () => Promise<void>
}

/** Time for which a result is cached: as long as a gateway caches a credential. */
const freshMs = 2 * secondMs
const lookupTimeoutMs = secondMs
/**
 * Maximum number of cached results, because callers can invent keys. When the cache is full, the oldest entry is
 * dropped.
 */
const partnersKeptMax = 100_000
/**
 * Maximum number of concurrent lookups. Lookups of invented keys wait for each other and use few connections to a cell.
 */
const connectionsMax = 16

type CachedCell = { readonly cell: Cell | undefined; readonly untilMs: number }
type AskCell = (cell: Cell, path: string) => Promise<boolean>

function createCellLookup(deps: {
  readonly cells: readonly Cell[]
  readonly clock: Clock
  readonly log: Log
}): CellLookup {
  const { cells, clock, log } = deps
  const { ask, close } = createAsk(cells)
  const known = new Map<string, CachedCell>()
  const lookups = new Map<string, Promise<Cell | undefined>>()

  const keep = (partnerId: string, cell: Cell | undefined) => {
    known.delete(partnerId)
    known.set(partnerId, { cell, untilMs: clock.now().getTime() + freshMs })
    const [oldest] = known.size > partnersKeptMax ? known.keys() : []
    if (oldest !== undefined) known.delete(oldest)
    return cell
  }
  const lookUp = async (partnerId: string, last: Cell | undefined) => {
    try {
      return keep(partnerId, await findCell(cells, last, (cell) => ask(cell, `/partners/${partnerId}`)))
    } catch (error) {
      if (last === undefined) throw error
      log.debug(
        { err: error, partnerId, cell: last.name },
        'a cell does not answer; the partner stays in its last cell',
      )
      return keep(partnerId, last)
    }
  }
  return {
    find: async (partnerId) => {
      const last = known.get(partnerId)
      if (last !== undefined && last.untilMs > clock.now().getTime()) return last.cell
      const lookup =
        lookups.get(partnerId) ?? lookUp(partnerId, last?.cell).finally(() => void lookups.delete(partnerId))
      lookups.set(partnerId, lookup)
      return lookup
    },
    answering: async () => {
      const answers = await Promise.all(
        cells.map(async (cell) => {
          const answers = await ask(cell, '/healthz').catch(() => false)
          return [cell.name, answers] as const
        }),
      )
      return Object.fromEntries(answers)
    },
    close,
  }
}

/** Queries the last known cell of the partner first, then all others. Returns the first cell that has the partner. */
async function findCell(
  cells: readonly Cell[],
  last: Cell | undefined,
  has: (cell: Cell) => Promise<boolean>,
): Promise<Cell | undefined> {
  let failure: unknown
  const hasOrFails = async (cell: Cell) => {
    try {
      return await has(cell)
    } catch (error) {
      failure = error
      return false
    }
  }
  if (last !== undefined && (await hasOrFails(last))) return last
  const others = cells.filter((cell) => cell !== last)
  const found = await Promise.any(
    others.map(async (cell) => {
      if (!(await hasOrFails(cell))) throw new Error('the cell does not have the partner')
      return cell
    }),
  ).catch(() => undefined)
  if (found === undefined && failure !== undefined)
    throw new Unreachable('downstream_unreachable', 'no cell has the partner, and one does not answer', failure)
  return found
}

/**
 * Queries the operations port of a cell. Returns true for 200 and false for 404. Rejects on any other answer and on a
 * timeout.
 */
function createAsk(cells: readonly Cell[]): { readonly ask: AskCell; readonly close: () => Promise<void> } {
  const timeouts = { headersTimeout: lookupTimeoutMs, bodyTimeout: lookupTimeoutMs }
  const poolOf = ({ opsUrl }: Cell) =>
    new Pool(opsUrl, { ...timeouts, connections: connectionsMax, connect: { timeout: lookupTimeoutMs } })
  const pools = new Map(cells.map((cell) => [cell, poolOf(cell)]))
  return {
    ask: async (cell, path) => {
      const pool = pools.get(cell)
      if (pool === undefined) return false
      // The timeouts of undici apply to single steps. The signal also ends the wait for a connection.
      const signal = AbortSignal.timeout(lookupTimeoutMs)
      const { statusCode, body } = await pool.request({ method: 'GET', path, signal })
      await body.dump()
      if (statusCode !== 200 && statusCode !== 404) throw new Error(`cell ${cell.name} answers ${statusCode}`)
      return statusCode === 200
    },
    close: async () => {
      await Promise.all([...pools.values()].map((pool) => pool.destroy()))
    },
  }
}
