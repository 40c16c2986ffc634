/**
 * Where signed requests come in: the headers judged, the body read, the place taken, the signature verified, the allowance
 * spent. What is done for them is the desk's, or the api's behind an edge.
 */
import type { Access } from '../access/index.ts'
import type { Caller } from '../api/index.ts'
import type { Clock } from '../kernel/index.ts'
import { createIdentify, readClaim } from './signature.ts'
import { readBody } from './body.ts'
import type { Capacity } from './admission.ts'
import type { Visit } from './dispatcher.ts'
import { createRateLimiter } from './rate.ts'
import type { Pipeline, RawRequest, Reply } from './server.ts'

export type Identified = {
  readonly apiKey: string
  readonly caller: Caller
  readonly nonce: string
  readonly body: Buffer
  /** RateLimit fields, for every answer. */
  readonly headers: Readonly<Record<string, string>>
  /** Gives the place back. */
  readonly leave: () => void
}

export type EntryOptions = {
  readonly credential: Access['credential']
  readonly clock: Clock
  readonly windowSeconds: number
  readonly rate: { readonly perSecond: number; readonly burst: number }
  readonly bodyBytesMax: number
  /** Before a signature is verified: `createTurns` where the thread has more to do. */
  readonly turn?: () => Promise<void>
}

/** Refuses what `readClaim`, `readBody`, `capacity` and `identify` refuse. */
export function createEntry(options: EntryOptions, capacity: Capacity): (request: RawRequest) => Promise<Identified> {
  const limiter = createRateLimiter({ clock: options.clock, ...options.rate })
  const identify = createIdentify({ ...options, spendAllowance: limiter.spend })
  const { turn } = options
  return async (request) => {
    const claim = readClaim(request.headers)
    const body = await readBody(request.message, options.bodyBytesMax)
    // Not before the body is there: a sender that takes its time takes no place.
    const leave = capacity.enter()
    try {
      await turn?.()
      const caller = await identify(claim, { ...request, body })
      return { apiKey: claim.apiKey, nonce: claim.nonce, caller, body, leave, headers: limiter.headers(caller) }
    } catch (error) {
      leave()
      throw error
    }
  }
}

/** `undefined`: the visit led nowhere. */
export type Serve = (identified: Identified, visit: Visit) => Promise<Reply | undefined>

export function createFront(options: EntryOptions & { readonly serve: Serve }, capacity: Capacity): Pipeline {
  const enter = createEntry(options, capacity)
  const visit = async (operation: Visit['operation'], request: RawRequest) => {
    const identified = await enter(request)
    const { nonce, body, headers, leave } = identified
    const { method, path, params, query, contentType, requestId, ip } = request
    const contentEncoding = request.headers['content-encoding']
    try {
      const answer = await options.serve(identified, {
        ...{ operation, nonce, method, path, params, query, contentType, contentEncoding, body, requestId, ip },
      })
      return answer && { ...answer, headers: { ...headers, ...answer.headers } }
    } finally {
      leave()
    }
  }
  return { knock: (request) => visit(undefined, request), run: visit }
}
