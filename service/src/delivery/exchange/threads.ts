/**
 * Exchanges by threads: signing, TLS and HTTP take a core of their own, and an endpoint that trickles or sends too much
 * takes no time of the engine's. An origin is always called by the same thread, so that its connections are shared and
 * counted in one place. Both ways what one turn of the event loop has brought travels together: a message costs as much
 * as half a delivery, however much is in it.
 */
import { hash } from 'node:crypto'
import { Worker } from 'node:worker_threads'
import { signingKeyText } from '@partner-payments/wire'
import { type Clock, type Log, secondMs } from '../../kernel/index.ts'
import type { AttemptResult } from '../queue/schedule.ts'
import type { Ended, Exchange, ExchangeOptions, Request } from './exchange.ts'

/** What a thread is made with. */
export type Given = Omit<ExchangeOptions, 'clock' | 'resolve'>

/** A column each: a list of equal objects would repeat their names in every one. */
export type Orders = {
  /** By the clock of the engine, when they were sent. */
  readonly nowMs: number
  /** All targets known so far are not referred to again. */
  readonly forget: boolean
  /** Told before the first order that refers to them; keys as text. */
  readonly targets: { readonly number: number; readonly url: string; readonly keys: readonly string[] }[]
  readonly ids: number[]
  /** Each order's target. */
  readonly numbers: number[]
  readonly eventIds: string[]
  readonly data: string[]
}
export type Answers = {
  readonly ids: number[]
  readonly startedAtMs: number[]
  readonly durationsMs: number[]
  readonly statuses: (number | undefined)[]
  readonly addresses: (string | undefined)[]
  readonly errors: (string | undefined)[]
  readonly responseBodies: (string | undefined)[]
  readonly retryAfters: (string | undefined)[]
}

/** Before a thread that died is replaced: what kills it may come again. Well within the margin that a lease leaves. */
const restMs = secondMs
/** More than a thread takes to begin, and the rest before that. */
const graceMsDefault = 5 * secondMs
/** Targets that a thread remembers; then it begins anew. */
const targetsMaxDefault = 10_000

export type ThreadsOptions = {
  readonly count: number
  readonly clock: Clock
  readonly log: Log
  readonly given: Given
  readonly program?: URL | undefined
  readonly targetsMax?: number
  /** For how much longer than its time limit an exchange may last before its thread is taken to hang. */
  readonly graceMs?: number
}

/**
 * Threads are started when there is something for them. One that dies, or that lets an exchange last longer than any may,
 * is replaced; of what it had under way nobody knows the end, as if it had been abandoned.
 */
export function createThreads(options: ThreadsOptions): Exchange {
  const { count, clock, log, given, program, targetsMax = targetsMaxDefault } = options
  const hangMs = given.timeoutMs + (options.graceMs ?? graceMsDefault)
  const start = () => new Worker(program ?? new URL('thread.ts', import.meta.url), { workerData: given, env: {} })
  const lines = Array.from({ length: count }, () => createLine(start, { clock, log, hangMs, targetsMax }))
  const lineOf = new WeakMap<Request['target'], Line>()
  const choose = (target: Request['target']): Line => {
    const digest = hash('sha256', new URL(target.url).origin, 'hex')
    const line = lines[Number.parseInt(digest.slice(0, 8), 16) % count] as Line
    lineOf.set(target, line)
    return line
  }
  return {
    send: (request, ended) => (lineOf.get(request.target) ?? choose(request.target)).send(request, ended),
    abandon: () => lines.forEach((line) => line.abandon()),
    close: async () => void (await Promise.all(lines.map((line) => line.close()))),
  }
}

type Line = Exchange

type LineOptions = { readonly clock: Clock; readonly log: Log; readonly hangMs: number; readonly targetsMax: number }

function createLine(start: () => Worker, { clock, log, hangMs, targetsMax }: LineOptions): Line {
  let worker: Worker | undefined
  let orders = noOrders(false)
  let known = new WeakMap<Request['target'], number>()
  let targets = 0
  let lastId = 0
  let open = true
  let flushSoon: NodeJS.Immediate | undefined
  let resting: NodeJS.Timeout | undefined
  const waiting = new Map<number, Ended>()

  const end = () => {
    const lost = [...waiting.values()]
    waiting.clear()
    orders = noOrders(true)
    known = new WeakMap()
    for (const ended of lost) ended(undefined)
  }
  const died = (code: number) => {
    worker = undefined
    if (!open) return
    log.error({ code, lost: waiting.size }, 'a thread of exchanges ended: another takes its place')
    end()
    resting = setTimeout(() => {
      resting = undefined
      flush()
    }, restMs)
  }
  const startOne = (): Worker => {
    const started = start()
    started.on('error', (error: unknown) => log.error({ err: error }, 'a thread of exchanges failed'))
    started.on('exit', died)
    started.on('messageerror', () => void started.terminate())
    started.on('message', (answers: Answers) => {
      answers.ids.forEach((id, index) => {
        const ended = waiting.get(id)
        waiting.delete(id)
        ended?.(answerAt(answers, index))
      })
    })
    return started
  }
  const flush = () => {
    flushSoon = undefined
    if (!open || resting !== undefined || orders.ids.length === 0) return
    worker ??= startOne()
    worker.postMessage({ ...orders, nowMs: clock.now().getTime() } satisfies Orders)
    orders = noOrders(targets >= targetsMax)
    if (!orders.forget) return
    known = new WeakMap()
    targets = 0
  }
  const numberOf = (target: Request['target']): number => {
    const number = known.get(target)
    if (number !== undefined) return number
    targets += 1
    known.set(target, targets)
    orders.targets.push({ number: targets, url: target.url, keys: target.keys.map(signingKeyText) })
    return targets
  }
  const watch = watchOver(waiting, hangMs, () => void worker?.terminate())

  return {
    send: ({ target, eventId, data }, ended) => {
      if (!open) return queueMicrotask(() => ended(undefined))
      lastId += 1
      waiting.set(lastId, ended)
      orders.ids.push(lastId)
      orders.numbers.push(numberOf(target))
      orders.eventIds.push(eventId)
      orders.data.push(data)
      flushSoon ??= setImmediate(flush)
    },
    abandon: () => {
      open = false
      end()
    },
    close: async () => {
      open = false
      end()
      clearInterval(watch)
      clearTimeout(resting)
      await worker?.terminate()
    },
  }
}

/** Calls `hang` where the oldest of what waits has waited for longer than `ms`. A timestamp for each would cost more. */
function watchOver(waiting: ReadonlyMap<number, Ended>, ms: number, hang: () => void): NodeJS.Timeout {
  let before: number | undefined
  const look = () => {
    const oldest = waiting.keys().next().value
    if (oldest !== undefined && oldest === before) hang()
    before = oldest
  }
  return setInterval(look, ms).unref()
}

const noOrders = (forget: boolean): Omit<Orders, 'nowMs'> => ({
  ...{ forget, targets: [], ids: [], numbers: [], eventIds: [], data: [] },
})

function answerAt(answers: Answers, index: number): AttemptResult {
  const [status, address, error] = [answers.statuses[index], answers.addresses[index], answers.errors[index]]
  const [responseBody, retryAfter] = [answers.responseBodies[index], answers.retryAfters[index]]
  return {
    startedAt: new Date(answers.startedAtMs[index] as number),
    durationMs: answers.durationsMs[index] as number,
    ...(status === undefined ? {} : { status }),
    ...(address === undefined ? {} : { address }),
    ...(error === undefined ? {} : { error }),
    ...(responseBody === undefined ? {} : { responseBody }),
    ...(retryAfter === undefined ? {} : { retryAfter }),
  }
}
