/** The program of a thread of exchanges (`threads.ts`): takes orders, answers each. */
import { parentPort, workerData } from 'node:worker_threads'
import { readSigningKey } from '@partner-payments/wire'
import { type Clock, present } from '../../kernel/index.ts'
import { createExchange, type Request } from './exchange.ts'
import { systemResolve } from './resolver.ts'
import type { Answers, Given, Orders } from './threads.ts'

const port = present(parentPort, 'a thread has one')
/** The engine's time, carried on from what it last said: a clock that it was given is in force here, too. */
let told = { nowMs: 0, at: 0 }
const clock: Clock = { now: () => new Date(told.nowMs + performance.now() - told.at) }
const exchange = createExchange({ ...(workerData as Given), clock, resolve: systemResolve })
const targets = new Map<number, Request['target']>()

const noAnswers = (): Answers => ({
  ...{ ids: [], startedAtMs: [], durationsMs: [], statuses: [], addresses: [], errors: [], responseBodies: [] },
  retryAfters: [],
})
let answers = noAnswers()
const flush = () => {
  port.postMessage(answers)
  answers = noAnswers()
}

const order = (id: number, request: Request) =>
  exchange.send(request, (result) => {
    const { startedAt, durationMs, status, address, error, responseBody, retryAfter } = present(
      result,
      'none is abandoned',
    )
    if (answers.ids.length === 0) setImmediate(flush)
    answers.ids.push(id)
    answers.startedAtMs.push(startedAt.getTime())
    answers.durationsMs.push(durationMs)
    answers.statuses.push(status)
    answers.addresses.push(address)
    answers.errors.push(error)
    answers.responseBodies.push(responseBody)
    answers.retryAfters.push(retryAfter)
  })

port.on('message', (orders: Orders) => {
  told = { nowMs: orders.nowMs, at: performance.now() }
  if (orders.forget) targets.clear()
  for (const { number, url, keys } of orders.targets) targets.set(number, { url, keys: keys.map(readSigningKey) })
  orders.ids.forEach((id, index) => {
    const target = present(targets.get(orders.numbers[index] as number), 'told before')
    const [eventId, data] = [orders.eventIds[index] as string, orders.data[index] as string]
    order(id, { target, eventId, data })
  })
})
