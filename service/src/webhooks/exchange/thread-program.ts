/** The program of an exchange thread: sends each request of a batch and returns the results in batches. */
import { parentPort, workerData } from 'node:worker_threads'
import { parseSigningKey } from '@partner-payments/wire'
import { type Clock, present } from '../../kernel/index.ts'
import { addResult, emptyResponseBatch, type RequestBatch } from './batches.ts'
import { createExchange, type DeliveryRequest, type DeliveryTarget } from './exchange.ts'
import type { ThreadSettings } from './exchange-thread.ts'
import { systemResolve } from './resolver.ts'

const port = present(parentPort, 'no port to a parent: this program runs in a worker thread only')
/** The engine's time continues from its last message, so that a manual clock of the engine also applies here. */
let engineTime = { nowMs: 0, receivedAtMs: 0 }
const clock: Clock = { now: () => new Date(engineTime.nowMs + performance.now() - engineTime.receivedAtMs) }
const exchange = createExchange({ ...(workerData as ThreadSettings), clock, resolve: systemResolve })
const targets = new Map<number, DeliveryTarget>()

let responses = emptyResponseBatch()
const flush = () => {
  port.postMessage(responses)
  responses = emptyResponseBatch()
}

const send = (requestId: number, request: DeliveryRequest) =>
  exchange.send(request, (result) => {
    if (responses.requestIds.length === 0) setImmediate(flush)
    addResult(responses, requestId, present(result, `no result of request ${requestId}`))
  })

port.on('message', (batch: RequestBatch) => {
  engineTime = { nowMs: batch.nowMs, receivedAtMs: performance.now() }
  if (batch.dropTargets) targets.clear()
  for (const { number, url, keys } of batch.targets) targets.set(number, { url, keys: keys.map(parseSigningKey) })
  batch.requestIds.forEach((requestId, index) => {
    const target = present(
      targets.get(batch.targetNumbers[index] as number),
      `no target ${batch.targetNumbers[index]} for request ${requestId}`,
    )
    send(requestId, { target, eventId: batch.eventIds[index] as string, data: batch.data[index] as string })
  })
})
