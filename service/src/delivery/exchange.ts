/** One HTTP exchange: a signed POST, and what came back within the time and the bytes allowed. */
import { deliverySignature } from '@partner-payments/wire'
import { Agent } from 'undici'
import { type Clock, minuteMs, secondMs } from '../kernel/index.ts'
import type { AttemptResult, Claim } from '../rooms/webhooks/index.ts'
import { type Answer, createReading } from './answer.ts'
import { createGuard, type Resolve } from './guard.ts'
import type { Proxy } from './proxy.ts'

/** From the look-up of the name to the last byte in. */
export const exchangeTimeoutMsDefault = 15 * secondMs
const connectTimeoutMsMax = 5 * secondMs
/** Far above any event; a receiver may rely on it. */
const bodyBytesMax = 64 * 1024
const userAgent = 'PartnerPayments-Webhooks/2'

export type ExchangeOptions = {
  readonly clock: Clock
  readonly allowLoopback: boolean
  readonly resolve: Resolve
  readonly timeoutMs: number
  /** Every connection but those to loopback goes through it. */
  readonly proxy?: Proxy | undefined
}

export type Exchange = {
  /** Never rejects for what the endpoint does; rejects with `abandon`'s reason once that is aborted. */
  readonly post: (
    claim: Pick<Claim, 'url' | 'keys' | 'eventId' | 'data'> & {
      /** Beyond those of every delivery. */
      readonly headers?: Readonly<Record<string, string>>
    },
    abandon: AbortSignal,
  ) => Promise<AttemptResult>
  readonly close: () => Promise<void>
}

/** Interface document, Events: exactly two fields. Spliced, since `data` must not change by a byte. */
export const envelope = (eventId: string, data: string) => `{"eventId":"${eventId}","data":${data}}`

/** Standard Webhooks: id, seconds of this attempt, and a signature per key, separated by spaces. Names and values in turn. */
function headersOf({ eventId, keys }: Pick<Claim, 'eventId' | 'keys'>, body: Buffer, timestamp: number): string[] {
  const signatures = keys.map((key) => deliverySignature(key, eventId, timestamp, body)).join(' ')
  return [
    ...['content-type', 'application/json', 'user-agent', userAgent],
    ...['webhook-id', eventId, 'webhook-timestamp', String(timestamp), 'webhook-signature', signatures],
  ]
}

export function createExchange(options: ExchangeOptions): Exchange {
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
  const abandoned = createAbandoned()

  const post: Exchange['post'] = (claim, abandon) =>
    new Promise<AttemptResult>((resolvePost, reject) => {
      if (abandon.aborted) return reject(abandon.reason as Error)
      const { origin, pathname, search } = new URL(claim.url)
      const startedAt = clock.now()
      const startMs = performance.now()
      const waiting = abandoned(abandon)
      const settle = (answer: Answer) => {
        clearTimeout(timer)
        waiting.delete(giveUp)
        if (abandon.aborted) return reject(abandon.reason as Error)
        const durationMs = Math.round(performance.now() - startMs)
        const address = answer.status === undefined ? undefined : guard.addressOf(origin)
        resolvePost({ startedAt, durationMs, ...answer, ...(address === undefined ? {} : { address }) })
      }
      const reading = createReading(settle)
      const giveUp = () => reading.stop()
      waiting.add(giveUp)
      // Not AbortSignal.timeout: its timer would let the process end, and with it the attempt.
      const timer = setTimeout(reading.stop, timeoutMs, `no complete answer within ${timeoutMs} ms`)
      const body = Buffer.from(envelope(claim.eventId, claim.data))
      if (body.length > bodyBytesMax) return reading.stop(`the event has more than ${bodyBytesMax} bytes`)
      const further = Object.entries(claim.headers ?? {}).flat()
      const headers = [...headersOf(claim, body, Math.floor(startedAt.getTime() / secondMs)), ...further]
      agent.dispatch({ origin, path: `${pathname}${search}`, method: 'POST', headers, body }, reading)
    })

  return { post, close: () => agent.destroy() }
}

/** Who waits on a signal: one listener each, since a listener for every exchange costs more than signing it. */
function createAbandoned() {
  const bySignal = new WeakMap<AbortSignal, Set<() => void>>()
  return (signal: AbortSignal): Set<() => void> => {
    const known = bySignal.get(signal)
    if (known !== undefined) return known
    const waiting = new Set<() => void>()
    signal.addEventListener('abort', () => waiting.forEach((giveUp) => giveUp()), { once: true })
    bySignal.set(signal, waiting)
    return waiting
  }
}
