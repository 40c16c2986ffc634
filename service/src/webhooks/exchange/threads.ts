/** Runs exchanges in threads. One thread serves each origin, so that its connections are shared and counted in one place. */
import { hash } from 'node:crypto'
import { Worker } from 'node:worker_threads'
import { type Clock, type Log, secondMs } from '../../kernel/index.ts'
import type { Exchange } from './exchange.ts'
import { createExchangeThread, type ThreadSettings } from './exchange-thread.ts'
import type { DeliveryTarget } from './request.ts'

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
 * Each thread starts with its first request. A thread that ends or hangs is replaced; its requests end with `undefined`,
 * like abandoned ones.
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
