/** The engine's side of an exchange thread: starts the worker thread, sends batches and replaces a failed thread. */
import { Worker } from 'node:worker_threads'
import { type Clock, type Log, secondMs } from '../../kernel/index.ts'
import { addRequest, addTarget, emptyRequestBatch, type RequestBatch, type ResponseBatch, resultAt } from './batches.ts'
import type { DeliveryTarget, Exchange, ExchangeOptions, OnResult } from './exchange.ts'
import { hash } from 'node:crypto'

export type ThreadSettings = Omit<ExchangeOptions, 'clock' | 'resolve'>

/** The pause before a failed thread is replaced, in case its cause recurs. Well within the margin that a lease leaves. */
const restartPauseMs = secondMs

type ExchangeThreadOptions = {
  readonly start: () => Worker
  readonly clock: Clock
  readonly log: Log
  /** A thread is terminated if an exchange lasts longer. */
  readonly hangMs: number
  /** The thread drops its targets when it has received this many. */
  readonly targetsMax: number
}

/** The requests to which the thread has not responded. */
type Pending = Map<number, OnResult>

function endAll(pending: Pending): void {
  const callbacks = [...pending.values()]
  pending.clear()
  for (const onResult of callbacks) onResult(undefined)
}

/** Collects requests until `take`, and numbers their targets so that the thread gets each target once. */
function createBatchBuilder(targetsMax: number) {
  let batch = emptyRequestBatch(false)
  let targetNumbers = new WeakMap<DeliveryTarget, number>()
  let targetCount = 0
  const numberOf = (target: DeliveryTarget): number => {
    const known = targetNumbers.get(target)
    if (known !== undefined) return known
    targetCount += 1
    targetNumbers.set(target, targetCount)
    addTarget(batch, targetCount, target)
    return targetCount
  }
  const restart = (dropTargets: boolean) => {
    batch = emptyRequestBatch(dropTargets)
    if (!dropTargets) return
    targetNumbers = new WeakMap()
    targetCount = 0
  }
  return {
    isEmpty: () => batch.requestIds.length === 0,
    add: (requestId: number, request: Parameters<Exchange['send']>[0]) =>
      addRequest(batch, requestId, numberOf(request.target), request),
    take: (nowMs: number): RequestBatch => {
      const taken = { ...batch, nowMs }
      restart(targetCount >= targetsMax)
      return taken
    },
    /** Discards the requests, and sends every target again. */
    reset: () => restart(true),
  }
}

/** Starts the worker thread when it is first needed, and again after a pause when it has ended. */
function createWorkerSupervisor(
  { start, log }: ExchangeThreadOptions,
  pending: Pending,
  { onEnd, onReady }: { readonly onEnd: () => void; readonly onReady: () => void },
) {
  let worker: Worker | undefined
  let restartTimer: NodeJS.Timeout | undefined
  let open = true

  const onExit = (code: number) => {
    worker = undefined
    if (!open) return
    log.error({ code, lost: pending.size }, 'exchange thread ended; starting a replacement')
    onEnd()
    restartTimer = setTimeout(() => {
      restartTimer = undefined
      onReady()
    }, restartPauseMs)
  }
  const startWorker = (): Worker => {
    const started = start()
    started.on('error', (error: unknown) => log.error({ err: error }, 'exchange thread failed'))
    started.on('exit', onExit)
    started.on('messageerror', () => void started.terminate())
    started.on('message', (batch: ResponseBatch) => {
      batch.requestIds.forEach((requestId, index) => {
        const onResult = pending.get(requestId)
        pending.delete(requestId)
        onResult?.(resultAt(batch, index))
      })
    })
    return started
  }
  return {
    /** False after `stop`, and during the pause before a replacement starts. */
    isReady: () => open && restartTimer === undefined,
    post: (batch: RequestBatch) => (worker ??= startWorker()).postMessage(batch),
    terminate: () => worker?.terminate(),
    stop: () => void (open = false),
    close: async () => {
      clearTimeout(restartTimer)
      await worker?.terminate()
    },
  }
}

function createExchangeThread(options: ExchangeThreadOptions): Exchange {
  const { clock, hangMs, targetsMax } = options
  const pending: Pending = new Map()
  const requests = createBatchBuilder(targetsMax)
  let lastRequestId = 0
  let open = true
  let flushSoon: NodeJS.Immediate | undefined

  const flush = () => {
    flushSoon = undefined
    if (supervisor.isReady() && !requests.isEmpty()) supervisor.post(requests.take(clock.now().getTime()))
  }
  const endRequests = () => {
    requests.reset()
    endAll(pending)
  }
  const supervisor = createWorkerSupervisor(options, pending, { onEnd: endRequests, onReady: flush })
  const hangTimer = watchForHang(pending, hangMs, () => void supervisor.terminate())

  const abandon = () => {
    open = false
    supervisor.stop()
    endRequests()
  }
  return {
    send: (request, onResult) => {
      if (!open) return queueMicrotask(() => onResult(undefined))
      lastRequestId += 1
      pending.set(lastRequestId, onResult)
      requests.add(lastRequestId, request)
      flushSoon ??= setImmediate(flush)
    },
    abandon,
    close: async () => {
      abandon()
      clearInterval(hangTimer)
      await supervisor.close()
    },
  }
}

/** Calls `onHang` if the oldest request has been pending for `hangMs`. A timestamp for each request would cost more. */
function watchForHang(pending: ReadonlyMap<number, OnResult>, hangMs: number, onHang: () => void): NodeJS.Timeout {
  let oldestBefore: number | undefined
  const check = () => {
    const oldest = pending.keys().next().value
    if (oldest !== undefined && oldest === oldestBefore) onHang()
    oldestBefore = oldest
  }
  return setInterval(check, hangMs).unref()
}

// Runs exchanges in threads. One thread serves each origin, so that its connections are shared and counted in one place.

/** More than the start of a thread takes, including the pause before a restart. */
const hangMarginMsDefault = 5 * secondMs
const targetsMaxDefault = 10_000

export type ThreadsOptions = {
  readonly count: number
  readonly clock: Clock
  readonly log: Log
  readonly settings: ThreadSettings
  readonly program?: URL | undefined
  readonly targetsMax?: number
  /** A thread counts as hung when an exchange exceeds its time limit by this much. */
  readonly hangMarginMs?: number
}

/**
 * Creates the exchange threads. Each starts with its first request. A thread that ends or hangs is replaced, and its requests end with
 * `undefined`, like abandoned requests.
 */
export function createThreads(options: ThreadsOptions): Exchange {
  const { count, clock, log, settings, program, targetsMax = targetsMaxDefault } = options
  const hangMs = settings.timeoutMs + (options.hangMarginMs ?? hangMarginMsDefault)
  const start = () =>
    new Worker(program ?? new URL('thread-program.ts', import.meta.url), { workerData: settings, env: {} })
  const threads = Array.from({ length: count }, () => createExchangeThread({ start, clock, log, hangMs, targetsMax }))
  const threadOf = new WeakMap<DeliveryTarget, Exchange>()
  const chooseThread = (target: DeliveryTarget): Exchange => {
    const digest = hash('sha256', new URL(target.url).origin, 'hex')
    const thread = threads[Number.parseInt(digest.slice(0, 8), 16) % count] as Exchange
    threadOf.set(target, thread)
    return thread
  }
  return {
    send: (request, onResult) => (threadOf.get(request.target) ?? chooseThread(request.target)).send(request, onResult),
    abandon: () => threads.forEach((thread) => thread.abandon()),
    close: async () => void (await Promise.all(threads.map((thread) => thread.close()))),
  }
}
