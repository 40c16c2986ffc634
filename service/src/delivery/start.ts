/** The loops: fan out, send, sweep. HTTP happens between transactions, never inside one. */
import { setTimeout as pause } from 'node:timers/promises'
import { assert, type Clock, type Log, type Loop, minuteMs, nilId, secondMs, startLoop } from '../kernel/index.ts'
import type { AttemptResult, Verdict } from './queue/schedule.ts'
import type { Claim } from './queue/endpoint-queue.ts'
import type { Holder } from './queue/worker.ts'
import type { DeliveryEngine } from './engine.ts'
import type { Database } from '../postgres/index.ts'
import { createExchange, type Exchange, exchangeTimeoutMsDefault } from './exchange/exchange.ts'
import type { Proxy } from './exchange/proxy.ts'
import { type Resolve, systemResolve } from './exchange/guard.ts'
import { createThreads } from './exchange/threads.ts'

export type DeliveryObserver = {
  /** One attempt came to its end; `stale` ones were recorded by nobody. */
  readonly attempt?: (outcome: Verdict | 'stale', durationMs: number, subscriptionId: string) => void
  readonly fannedOut?: (events: number) => void
}

export type DeliveryOptions = {
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  readonly webhooks: DeliveryEngine
  /** Only where the service itself listens on loopback alone. */
  readonly allowLoopback: boolean
  readonly observe?: DeliveryObserver
  /** Threads that make the exchanges; 0, unless given: this one does. */
  readonly threads?: number
  /** What runs in them, where it is not the exchange alone. */
  readonly threadProgram?: URL
  /** Without threads only. */
  readonly resolve?: Resolve
  readonly proxy?: Proxy | undefined
  readonly exchangeTimeoutMs?: number
  /** Attempts under way at once in this process. */
  readonly inFlightMax?: number
  readonly idleMs?: number
  /** How long `stop` waits for attempts under way before it abandons them. */
  readonly drainMs?: number
}

const partnersPerFanOutMax = 50
/** Of all partners of one fan-out together, and at least so many of each. */
const eventsPerFanOutMax = 1000
const eventsPerPartnerMin = 20
/** Finding nothing costs one probe of an index, and this is what an event waits at most when nobody gives a hint. */
const idleMsDefault = 50
const sweepIdleMs = 10 * secondMs
const retainIdleMs = 10 * minuteMs

type Sending = {
  readonly holder: Holder
  readonly drain: (ms: number) => Promise<void>
}

/** Whoever makes the exchanges: threads, or this one. */
function createExchangeOf(options: DeliveryOptions): Exchange {
  const { clock, log, allowLoopback, proxy, resolve, threads = 0 } = options
  const { exchangeTimeoutMs: timeoutMs = exchangeTimeoutMsDefault } = options
  if (threads === 0)
    return createExchange({ clock, allowLoopback, resolve: resolve ?? systemResolve, timeoutMs, proxy })
  assert(resolve === undefined, 'a function does not reach another thread')
  return createThreads({
    count: threads,
    clock,
    log,
    program: options.threadProgram,
    settings: { allowLoopback, timeoutMs, proxy },
  })
}

function createSending(options: DeliveryOptions, wake: () => void): Sending {
  const { webhooks, log, observe, inFlightMax, idleMs = idleMsDefault } = options
  const exchange = createExchangeOf(options)
  let underWay = 0
  let idle: (() => void) | undefined

  const settle = async (claim: Claim, result: AttemptResult) => {
    const outcome = await holder.settle(claim, result)
    observe?.attempt?.(outcome, result.durationMs, claim.subscriptionId)
    const { subscriptionId, eventId } = claim
    if (outcome === 'stale') log.warn({ eventId, subscriptionId }, 'an attempt outlived its lease: not recorded')
    else log.debug({ eventId, subscriptionId, outcome, status: result.status }, 'webhook attempted')
  }

  const end = async (claim: Claim, result: AttemptResult | undefined) => {
    try {
      if (result === undefined) holder.giveBack(claim)
      else await settle(claim, result)
    } catch (error) {
      // It is read and attempted again: nothing is lost by not knowing.
      log.error({ err: error, eventId: claim.eventId }, 'attempt not recorded')
    } finally {
      underWay -= 1
      if (underWay === 0) idle?.()
    }
  }

  const begin = (claim: Claim) => {
    underWay += 1
    exchange.send(claim, (result) => void end(claim, result))
  }

  const holder = webhooks.hold(log, { begin, wake, pause: (ms) => pause(ms), idleMs, inFlightMax })
  return {
    holder,
    drain: async (ms) => {
      holder.stop()
      const timer = setTimeout(exchange.abandon, ms)
      if (underWay > 0) await new Promise<void>((resolve) => (idle = resolve))
      clearTimeout(timer)
      await holder.close()
      await exchange.close()
    },
  }
}

type FanOut = { readonly db: Database; readonly log: Log; readonly webhooks: DeliveryEngine; readonly holder: Holder }

const eventsMaxOf = (partners: number) => Math.max(eventsPerPartnerMin, Math.floor(eventsPerFanOutMax / partners))

/**
 * Partners take turns: each step goes on behind the last one. `more`: there may be some that it has left; what comes
 * meanwhile gathers, since a transaction for one event costs as much as for twenty.
 */
function createFanOutStep({ db, log, webhooks, holder }: FanOut) {
  let after = nilId
  const fanOut = async (partnerIds: readonly string[]): Promise<number> => {
    const eventsMax = eventsMaxOf(partnerIds.length)
    const took = await db.transaction((tx) => webhooks.fanOut(tx, partnerIds, eventsMax, holder.workerId))
    if (took.woken.length > 0) holder.hint(took.woken)
    return took.events
  }
  /** One partner's trouble is not the others'. */
  const alone = (partnerId: string) =>
    fanOut([partnerId]).catch((error: unknown) => {
      log.error({ err: error, partnerId }, 'fan-out failed')
      return 0
    })
  const fanOutAll = async (partnerIds: readonly string[]): Promise<number> => {
    if (!webhooks.sharded && partnerIds.length > 1)
      try {
        return await fanOut(partnerIds)
      } catch (error) {
        log.warn({ err: error }, 'fan-out goes on partner by partner')
      }
    let events = 0
    for (const partnerId of partnerIds) events += await alone(partnerId)
    return events
  }
  return async () => {
    let partnerIds = await webhooks.partnersToFanOut(after, partnersPerFanOutMax)
    if (partnerIds.length === 0 && after !== nilId) {
      after = nilId
      partnerIds = await webhooks.partnersToFanOut(after, partnersPerFanOutMax)
    }
    const last = partnerIds.at(-1)
    if (last === undefined) return { events: 0, more: false }
    after = partnerIds.length < partnersPerFanOutMax ? nilId : last
    const events = await fanOutAll(partnerIds)
    return { events, more: after !== nilId || events >= eventsMaxOf(partnerIds.length) }
  }
}

/** `wake`: there may be events. `stop`: nothing more is claimed; attempts under way end, or are given back. */
export function startDelivery(options: DeliveryOptions): Loop {
  const { webhooks, log, observe, idleMs = idleMsDefault, drainMs = exchangeTimeoutMsDefault } = options
  const sending = createSending(options, () => send.wake())
  const { holder } = sending
  const fanOutNext = createFanOutStep({ ...options, holder })
  const fanOutStep = async () => {
    const { events, more } = await fanOutNext()
    if (events > 0) observe?.fannedOut?.(events)
    return more ? 1 : 0
  }
  const send = startLoop({ name: 'delivery.send', idleMs, step: holder.step, log })
  const fanOut = startLoop({ name: 'delivery.fan-out', idleMs, step: fanOutStep, log })
  const sweep = startLoop({ name: 'delivery.sweep', idleMs: sweepIdleMs, step: webhooks.sweep, log })
  const retain = startLoop({ name: 'delivery.retain', idleMs: retainIdleMs, step: () => webhooks.retain(log), log })

  return {
    wake: fanOut.wake,
    stop: async () => {
      await Promise.all([fanOut.stop(), send.stop(), sweep.stop(), retain.stop()])
      await sending.drain(drainMs)
    },
  }
}
