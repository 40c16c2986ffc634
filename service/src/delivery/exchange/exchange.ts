/** One HTTP exchange: a signed POST, and what came back within the time and the bytes allowed. */
import { deliverySignature } from '@partner-payments/wire'
import { Agent } from 'undici'
import { type Clock, minuteMs, secondMs } from '../../kernel/index.ts'
import type { AttemptResult } from '../queue/schedule.ts'
import type { Attempt, Target } from '../queue/attempt.ts'
import { type Answer, createReading, type Reading } from './answer.ts'
import { createGuard, type Resolve } from './guard.ts'
import type { Proxy } from './proxy.ts'

/** From the look-up of the name to the last byte in. */
export const exchangeTimeoutMsDefault = 15 * secondMs
const connectTimeoutMsMax = 5 * secondMs
/** Far above any event; a receiver may rely on it. */
const bodyBytesMax = 64 * 1024
const userAgent = 'PartnerPayments-DeliveryEngine/2'

export type ExchangeOptions = {
  readonly clock: Clock
  readonly allowLoopback: boolean
  readonly resolve: Resolve
  readonly timeoutMs: number
  /** Every connection but those to loopback goes through it. */
  readonly proxy?: Proxy | undefined
}

/** One delivery to make. A target is the same object for as long as it is the same: it is taken apart once. */
export type Request = Pick<Attempt, 'eventId' | 'data'> & { readonly target: Pick<Target, 'url' | 'keys'> }

/** Called once, later; undefined: it was abandoned, and nobody knows what the endpoint has seen of it. */
export type Ended = (result: AttemptResult | undefined) => void

export type Exchange = {
  readonly send: (request: Request, ended: Ended) => void
  /** Nobody waits any more: all that is under way ends at once, and so does whatever is sent after. */
  readonly abandon: () => void
  readonly close: () => Promise<void>
}

/** `headers`: beyond those of every delivery. */
export type LocalRequest = Request & { readonly headers?: Readonly<Record<string, string>> }
export type LocalExchange = Omit<Exchange, 'send'> & {
  readonly send: (request: LocalRequest, ended: Ended) => void
}

/** Interface document, Events: exactly two fields. Spliced, since `data` must not change by a byte. */
export const envelope = (eventId: string, data: string) => `{"eventId":"${eventId}","data":${data}}`

/** Standard DeliveryEngine: id, seconds of this attempt, and a signature per key, separated by spaces. Names and values in turn. */
function headersOf({ eventId, target }: Request, body: Buffer, timestamp: number): string[] {
  const signatures = target.keys.map((key) => deliverySignature(key, eventId, timestamp, body)).join(' ')
  return [
    ...['content-type', 'application/json', 'user-agent', userAgent],
    ...['webhook-id', eventId, 'webhook-timestamp', String(timestamp), 'webhook-signature', signatures],
  ]
}

export function createExchange(options: ExchangeOptions): LocalExchange {
  const { clock, allowLoopback, resolve, timeoutMs, proxy } = options
  const connectTimeoutMs = Math.min(connectTimeoutMsMax, timeoutMs)
  const guard = createGuard({ allowLoopback, resolve, connectTimeoutMs, proxy })
  // An agent of our own: no proxy from the environment, no redirects, nothing shared with other callers. The time limit
  // is on the whole exchange, so the limits on its parts are off. Without `allowH2: false` the requests to an endpoint
  // wait for the first of them, to learn whether it speaks HTTP/2.
  const agent = new Agent({
    connect: guard.connect,
    allowH2: false,
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: 4 * secondMs,
    keepAliveMaxTimeout: minuteMs,
  })
  /** When each began, the oldest first. */
  const underWay = new Map<Reading, number>()
  const places = new WeakMap<Request['target'], Place>()
  let abandoned = false

  // One for the oldest, since all have the same time. Not AbortSignal.timeout: its timer would let the process end, and
  // with it the attempts.
  let timer: NodeJS.Timeout | undefined
  const stopLate = () => {
    timer = undefined
    for (const [reading, startMs] of underWay) {
      const restMs = startMs + timeoutMs - performance.now()
      if (restMs > 0) {
        clearTimeout(timer)
        timer = setTimeout(stopLate, Math.ceil(restMs))
        return
      }
      reading.stop(`no complete answer within ${timeoutMs} ms`)
    }
  }
  const done = (reading: Reading) => {
    underWay.delete(reading)
    if (underWay.size > 0) return
    clearTimeout(timer)
    timer = undefined
  }

  const placeOf = (target: Request['target']): Place => {
    const known = places.get(target)
    if (known !== undefined) return known
    const { origin, pathname, search } = new URL(target.url)
    const place = { origin, path: `${pathname}${search}` }
    places.set(target, place)
    return place
  }

  const send: LocalExchange['send'] = (request, ended) => {
    if (abandoned) return queueMicrotask(() => ended(undefined))
    const { origin, path } = placeOf(request.target)
    const startedAt = clock.now()
    const startMs = performance.now()
    const settle = (answer: Answer) => {
      done(reading)
      if (abandoned) return ended(undefined)
      const durationMs = Math.round(performance.now() - startMs)
      const address = answer.status === undefined ? undefined : guard.addressOf(origin)
      ended({ startedAt, durationMs, ...answer, ...(address === undefined ? {} : { address }) })
    }
    const reading = createReading(settle)
    underWay.set(reading, startMs)
    timer ??= setTimeout(stopLate, timeoutMs)
    const body = Buffer.from(envelope(request.eventId, request.data))
    if (body.length > bodyBytesMax)
      return queueMicrotask(() => reading.stop(`the event has more than ${bodyBytesMax} bytes`))
    const further = request.headers === undefined ? [] : Object.entries(request.headers).flat()
    const headers = [...headersOf(request, body, Math.floor(startedAt.getTime() / secondMs)), ...further]
    agent.dispatch({ origin, path, method: 'POST', headers, body }, reading)
  }

  return {
    send,
    abandon: () => {
      abandoned = true
      for (const reading of underWay.keys()) reading.stop()
    },
    close: () => agent.destroy(),
  }
}

type Place = { readonly origin: string; readonly path: string }
