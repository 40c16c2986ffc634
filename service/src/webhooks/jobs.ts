/** The jobs of delivery: fan-out, sending, recovery, sweep, retention. No HTTP exchange happens inside a transaction. */
import { setTimeout as pause } from 'node:timers/promises'
import { eventsDue } from '../events/index.ts'
import { defineJob, type Job } from '../postgres/jobs/index.ts'
import { assert, type Clock, type Log, minuteMs, nilId, present, secondMs } from '../kernel/index.ts'
import type { AttemptResult, Verdict } from './queue/schedule.ts'
import type { Attempt } from './queue/endpoint-queue.ts'
import { endpointQueuesDue } from './queue/store-endpoint-queues.ts'
import type { QueueWorker } from './queue/worker.ts'
import type { DeliveryEngine } from './engine.ts'
import { recoveriesDue } from './management/store-history.ts'
import type { Database } from '../postgres/index.ts'
import { createExchange, type Exchange, exchangeTimeoutMsDefault } from './exchange/exchange.ts'
import type { Proxy } from './exchange/proxy.ts'
import { type Resolve, systemResolve } from './exchange/guard.ts'
import { createThreads } from './exchange/exchange-thread.ts'

type DeliveryObserver = {
  /** Called when an attempt has ended. `stale`: its result was discarded. */
  readonly attempt?: (outcome: Verdict | 'stale', durationMs: number, subscriptionId: string) => void
}

export type DeliveryJobsOptions = {
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  readonly webhooks: DeliveryEngine
  /** Allowed only if the service itself listens on loopback alone. */
  readonly allowLoopback: boolean
  readonly observe?: DeliveryObserver
  /** Number of exchange threads. 0, the default: this thread makes the exchanges. */
  readonly threads?: number
  /** The program of the exchange threads, if it is not the default. */
  readonly threadProgram?: URL
  /** Requires `threads` 0. */
  readonly resolve?: Resolve
  readonly proxy?: Proxy | undefined
  readonly exchangeTimeoutMs?: number
  /** Attempts in flight in this process. */
  readonly inFlightMax?: number
  /** Interval at which this process maintains the endpoint queues that it holds. */
  readonly idleMs?: number
  /** How long a shutdown waits for attempts in flight before it abandons them. */
  readonly drainMs?: number
}

const partnersPerFanOutMax = 50
/** Limit of one fan-out, for all partners together. */
const eventsPerFanOutMax = 1000
const eventsPerPartnerMin = 20
const idleMsDefault = 20
const sweepEveryMs = 10 * secondMs
const retainEveryMs = 10 * minuteMs

function openExchange(options: DeliveryJobsOptions): Exchange {
  const { clock, log, allowLoopback, proxy, resolve, threads = 0 } = options
  const { exchangeTimeoutMs: timeoutMs = exchangeTimeoutMsDefault } = options
  if (threads === 0)
    return createExchange({ clock, allowLoopback, resolve: resolve ?? systemResolve, timeoutMs, proxy })
  assert(resolve === undefined, '`resolve` requires `threads` 0: a function cannot be sent to another thread')
  return createThreads({
    count: threads,
    clock,
    log,
    program: options.threadProgram,
    settings: { allowLoopback, timeoutMs, proxy },
  })
}

type Sender = {
  readonly worker: QueueWorker
  /** Stops starting attempts, waits up to `ms` for those in flight, and releases everything. */
  readonly drain: (ms: number) => Promise<void>
}

/** Creates a queue worker and the exchanges that make its attempts. */
function createSender(options: DeliveryJobsOptions, wake: () => void): Sender {
  const { webhooks, log, observe, inFlightMax, idleMs = idleMsDefault } = options
  const exchange = openExchange(options)
  let exchanges = 0
  let onIdle: (() => void) | undefined

  const record = async (attempt: Attempt, result: AttemptResult) => {
    const outcome = await worker.recordResult(attempt, result)
    observe?.attempt?.(outcome, result.durationMs, attempt.subscriptionId)
    const { subscriptionId, eventId } = attempt
    if (outcome === 'stale')
      log.warn({ eventId, subscriptionId }, 'stale result discarded: the delivery changed, or the lease was lost')
    else log.debug({ eventId, subscriptionId, outcome, status: result.status }, 'webhook delivery attempted')
  }

  const end = async (attempt: Attempt, result: AttemptResult | undefined) => {
    try {
      if (result === undefined) worker.returnToQueue(attempt)
      else await record(attempt, result)
    } catch (error) {
      // No delivery is lost: a worker reads and attempts it again.
      log.error({ err: error, eventId: attempt.eventId }, 'result of an attempt could not be recorded')
    } finally {
      exchanges -= 1
      if (exchanges === 0) onIdle?.()
    }
  }

  const begin = (attempt: Attempt) => {
    exchanges += 1
    exchange.send(attempt, (result) => void end(attempt, result))
  }

  const worker = webhooks.createQueueWorker(log, { begin, wake, pause: (ms) => pause(ms), idleMs, inFlightMax })
  return {
    worker,
    drain: async (ms) => {
      worker.stop()
      const timer = setTimeout(exchange.abandon, ms)
      if (exchanges > 0) await new Promise<void>((resolve) => (onIdle = resolve))
      clearTimeout(timer)
      await worker.close()
      await exchange.close()
    },
  }
}

type FanOutDeps = Pick<DeliveryJobsOptions, 'db' | 'log' | 'webhooks'> & {
  /** Returns the queue worker of this process, which starts before the first fan-out. */
  readonly queueWorker: () => QueueWorker
}

const eventsPerPartnerMax = (partners: number) =>
  Math.max(eventsPerPartnerMin, Math.floor(eventsPerFanOutMax / partners))

/** Fans out for all partners together. If that fails, fans out for each partner, so that one failure does not delay the others. */
function createFanOut({ db, log, webhooks, queueWorker }: FanOutDeps) {
  const fanOut = async (partnerIds: readonly string[]): Promise<number> => {
    const worker = queueWorker()
    const eventsMax = eventsPerPartnerMax(partnerIds.length)
    const { events, deliveries } = await db.transaction((tx) =>
      webhooks.fanOut(tx, partnerIds, eventsMax, worker.workerId),
    )
    if (deliveries.length > 0) worker.addNewDeliveries(deliveries)
    return events
  }
  const fanOutOne = (partnerId: string) =>
    fanOut([partnerId]).catch((error: unknown) => {
      log.error({ err: error, partnerId }, 'fan-out failed')
      return 0
    })
  return async (partnerIds: readonly string[]): Promise<number> => {
    if (!db.sharded && partnerIds.length > 1)
      try {
        return await fanOut(partnerIds)
      } catch (error) {
        log.warn({ err: error }, 'fan-out of several partners failed; retrying partner by partner')
      }
    let events = 0
    for (const partnerId of partnerIds) events += await fanOutOne(partnerId)
    return events
  }
}

/**
 * Fans out the events of a page of partners and returns their number. Partners take turns: each run continues after the
 * last partner of the previous run.
 */
function createFanOutStep(deps: FanOutDeps) {
  const { webhooks } = deps
  const fanOut = createFanOut(deps)
  let after = nilId
  return async (): Promise<number> => {
    let page = await webhooks.partnersToFanOut(after, partnersPerFanOutMax)
    if (page.partnerIds.length === 0 && after !== nilId) {
      after = nilId
      page = await webhooks.partnersToFanOut(after, partnersPerFanOutMax)
    }
    const { partnerIds, complete } = page
    const last = partnerIds.at(-1)
    if (last === undefined) return 0
    after = complete ? nilId : last
    const events = await fanOut(partnerIds)
    // The next page may have events although this one had none.
    return events > 0 || after === nilId ? events : 1
  }
}

/**
 * Creates the jobs of delivery. `delivery.send` and `delivery.fan-out` share a sender; the last of them to stop drains it, within
 * `drainMs`.
 */
export function deliveryJobs(options: DeliveryJobsOptions): readonly Job[] {
  const { webhooks, log, idleMs = idleMsDefault, drainMs = exchangeTimeoutMsDefault } = options
  let sender: Sender | undefined
  const queueWorker = () => present(sender, 'no sender: the job runs before its start').worker
  let users = 2
  const drain = async () => {
    users -= 1
    if (users === 0) await sender?.drain(drainMs)
  }
  return [
    defineJob({
      name: 'delivery.send',
      due: endpointQueuesDue,
      connect: (wake) => (sender = createSender(options, wake)),
      everyMs: () => (queueWorker().isHolding() ? idleMs : Infinity),
      run: () => queueWorker().step(),
      drain,
      releaseLeases: webhooks.releaseLeases,
    }),
    defineJob({
      name: 'delivery.fan-out',
      due: eventsDue,
      run: createFanOutStep({ ...options, queueWorker }),
      drain,
      age: { queue: 'events', since: webhooks.oldestEvent },
    }),
    defineJob({
      name: 'webhooks.recover',
      due: recoveriesDue,
      run: webhooks.recoverStep,
      age: { queue: 'recoveries' },
    }),
    defineJob({
      name: 'delivery.sweep',
      wokenBy: ['delivery.endpoint_queues', 'delivery.subscriptions'],
      restMs: sweepEveryMs,
      everyMs: sweepEveryMs,
      quietAfterMs: minuteMs,
      run: () => webhooks.sweep(log),
    }),
    defineJob({ name: 'delivery.retain', everyMs: retainEveryMs, run: () => webhooks.retain(log) }),
  ]
}
