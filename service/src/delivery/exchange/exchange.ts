/** One HTTP exchange: sends a signed POST and reads the response within limits of time and size. */
import { createRequire } from 'node:module'
import type * as undici from 'undici'
import { type Clock, minuteMs, secondMs } from '../../kernel/index.ts'
import type { AttemptResult } from '../queue/schedule.ts'
import { createGuard, type Resolve } from './guard.ts'
import type { Proxy } from './proxy.ts'
import { createDestinations, type DeliveryRequest, envelope, headersOf, type LocalRequest } from './request.ts'
import { createResponseReader, type EndpointResponse } from './response-reader.ts'
import { createTimeLimit } from './time-limit.ts'

/** Time limit of an exchange, from the start of the name lookup to the last byte of the response. */
export const exchangeTimeoutMsDefault = 15 * secondMs
const connectTimeoutMsMax = 5 * secondMs
/** Far above the size of any event. Receivers may rely on this limit. */
const bodyBytesMax = 64 * 1024

export type ExchangeOptions = {
  readonly clock: Clock
  readonly allowLoopback: boolean
  readonly resolve: Resolve
  readonly timeoutMs: number
  /** All connections go through the proxy, except those to loopback. */
  readonly proxy?: Proxy | undefined
}

/**
 * Called once, after `send` has returned. `undefined`: the exchange was abandoned, and the endpoint may or may not have
 * received the request.
 */
export type OnResult = (result: AttemptResult | undefined) => void

export type Exchange = {
  readonly send: (request: DeliveryRequest, onResult: OnResult) => void
  /** Ends all requests under way at once, and every later request as well. */
  readonly abandon: () => void
  readonly close: () => Promise<void>
}

/** An exchange in this thread. */
export type LocalExchange = Omit<Exchange, 'send'> & {
  readonly send: (request: LocalRequest, onResult: OnResult) => void
}

const require = createRequire(import.meta.url)

/**
 * The time limit covers the whole exchange, so the limits of its parts are off. README.md, The agent, has the reasons. The package is
 * loaded with the first agent: only a process that sends webhooks makes one.
 */
function createAgent(connect: undici.buildConnector.connector) {
  const { Agent } = require('undici') as typeof undici
  return new Agent({
    connect,
    allowH2: false,
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: 4 * secondMs,
    keepAliveMaxTimeout: minuteMs,
  })
}

export function createExchange({ clock, allowLoopback, resolve, timeoutMs, proxy }: ExchangeOptions): LocalExchange {
  const connectTimeoutMs = Math.min(connectTimeoutMsMax, timeoutMs)
  const guard = createGuard({ allowLoopback, resolve, connectTimeoutMs, proxy })
  const agent = createAgent(guard.connect)
  const timeLimit = createTimeLimit(timeoutMs)
  const destinationOf = createDestinations()
  let abandoned = false

  const send: LocalExchange['send'] = (request, onResult) => {
    if (abandoned) return queueMicrotask(() => onResult(undefined))
    const { origin, path } = destinationOf(request.target)
    const startedAt = clock.now()
    const startMs = performance.now()
    const end = (response: EndpointResponse) => {
      timeLimit.end(reader)
      if (abandoned) return onResult(undefined)
      const durationMs = Math.round(performance.now() - startMs)
      const address = response.status === undefined ? undefined : guard.addressOf(origin)
      onResult({ startedAt, durationMs, ...response, ...(address === undefined ? {} : { address }) })
    }
    const reader = createResponseReader(end)
    timeLimit.start(reader, startMs)
    const body = Buffer.from(envelope(request.eventId, request.data))
    if (body.length > bodyBytesMax)
      return queueMicrotask(() => reader.stop(`the event has more than ${bodyBytesMax} bytes`))
    const headers = headersOf(request, body, startedAt)
    agent.dispatch({ origin, path, method: 'POST', headers, body }, reader)
  }

  return {
    send,
    abandon: () => {
      abandoned = true
      timeLimit.stopAll()
    },
    close: () => agent.destroy(),
  }
}
