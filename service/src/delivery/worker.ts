/** The loops: fan out, send, sweep. HTTP happens between transactions, never inside one. */
import { type Clock, type Log, type Loop, secondMs, startLoop } from '../kernel/index.ts'
import type { Claim, SubscriptionKey, Verdict, Webhooks } from '../rooms/webhooks/index.ts'
import type { Database } from '../postgres/index.ts'
import { createExchange, exchangeTimeoutMsDefault } from './exchange.ts'
import type { Proxy } from './proxy.ts'
import { createResolver, type Resolve } from './resolver.ts'

export type DeliveryObserver = {
  /** One attempt came to its end; `stale` ones were recorded by nobody. */
  readonly attempt?: (outcome: Verdict | 'stale', durationMs: number) => void
  readonly fannedOut?: (events: number) => void
}

export type DeliveryOptions = {
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  readonly webhooks: Webhooks
  /** Only where the service itself listens on loopback alone. */
  readonly allowLoopback: boolean
  readonly observe?: DeliveryObserver
  readonly resolve?: Resolve
  readonly proxy?: Proxy | undefined
  readonly exchangeTimeoutMs?: number
  /** Attempts under way at once in this process. */
  readonly inFlightMax?: number
  readonly idleMs?: number
  /** How long `stop` waits for attempts under way before it abandons them. */
  readonly drainMs?: number
}

const inFlightMaxDefault = 500
const partnersMax = 100
const eventsPerFanOutMax = 100
const lanesPerStepMax = 50
const idleMsDefault = 500
const sweepIdleMs = 10 * secondMs

type Sending = {
  readonly step: () => Promise<number>
  readonly drain: (ms: number) => Promise<void>
}

function createSending(options: DeliveryOptions, onSettled: () => void): Sending {
  const { webhooks, clock, log, allowLoopback, observe, resolve = createResolver() } = options
  const { inFlightMax = inFlightMaxDefault, exchangeTimeoutMs: timeoutMs = exchangeTimeoutMsDefault } = options
  const exchange = createExchange({ clock, allowLoopback, resolve, timeoutMs, proxy: options.proxy })
  const underWay = new Set<Promise<void>>()
  const abandon = new AbortController()

  const attempt = async (claim: Claim) => {
    const result = await exchange.post(claim, abandon.signal).catch((error: unknown) => {
      if (!abandon.signal.aborted) throw error
    })
    if (result === undefined) {
      await webhooks.release(claim)
      return
    }
    const outcome = await webhooks.recordAttempt(claim, result)
    observe?.attempt?.(outcome, result.durationMs)
    const { deliveryId, subscriptionId, eventId } = claim
    if (outcome === 'stale') log.warn({ deliveryId, subscriptionId }, 'an attempt outlived its lease: not recorded')
    else log.debug({ eventId, subscriptionId, outcome, status: result.status }, 'webhook attempted')
  }

  const begin = (claim: Claim) => {
    const task = attempt(claim)
      // The lease ends by itself and the delivery is attempted again: nothing is lost by not knowing.
      .catch((error: unknown) => log.error({ err: error, deliveryId: claim.deliveryId }, 'attempt not recorded'))
      .finally(() => {
        underWay.delete(task)
        onSettled()
      })
    underWay.add(task)
  }

  /** One subscription's trouble (a secret that does not open, say) is not the others'. */
  const claim = (key: SubscriptionKey, attemptsMax: number) =>
    webhooks.claim(key, attemptsMax).catch(async (error: unknown) => {
      log.error({ err: error, subscriptionId: key.subscriptionId }, 'claim failed')
      await webhooks.postpone(key)
      return []
    })

  return {
    step: async () => {
      if (underWay.size >= inFlightMax) return 0
      let claimed = 0
      for (const key of await webhooks.dueSubscriptions(lanesPerStepMax)) {
        const room = inFlightMax - underWay.size
        if (room <= 0) break
        const claims = await claim(key, room)
        claims.forEach(begin)
        claimed += claims.length
      }
      return claimed
    },
    drain: async (ms) => {
      const timer = setTimeout(() => abandon.abort(), ms)
      await Promise.all(underWay)
      clearTimeout(timer)
      await exchange.close()
    },
  }
}

/** `wake`: there may be events. `stop`: nothing more is claimed; attempts under way end, or are given back. */
export function startDelivery(options: DeliveryOptions): Loop {
  const { db, webhooks, log, observe, idleMs = idleMsDefault, drainMs = exchangeTimeoutMsDefault } = options

  const fanOutAll = async () => {
    let events = 0
    for (const partnerId of await webhooks.partnersToFanOut(partnersMax)) {
      // One partner's trouble is not the others'.
      const took = await db
        .transaction((tx) => webhooks.fanOut(tx, partnerId, eventsPerFanOutMax))
        .catch((error: unknown) => {
          log.error({ err: error, partnerId }, 'fan-out failed')
          return 0
        })
      events += took
      if (took > 0) send.wake()
    }
    if (events > 0) observe?.fannedOut?.(events)
    return events
  }

  const sending = createSending(options, () => send.wake())
  const send = startLoop({ name: 'delivery.send', idleMs, step: sending.step, log })
  const fanOut = startLoop({ name: 'delivery.fan-out', idleMs, step: fanOutAll, log })
  const sweep = startLoop({ name: 'delivery.sweep', idleMs: sweepIdleMs, step: webhooks.sweep, log })

  return {
    wake: fanOut.wake,
    stop: async () => {
      await Promise.all([fanOut.stop(), send.stop(), sweep.stop()])
      await sending.drain(drainMs)
    },
  }
}
