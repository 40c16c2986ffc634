/**
 * The messages between the engine and its exchange threads. Each field is one array for all requests. README.md, Threads,
 * has the reasons.
 */
import { signingKeyText } from '@partner-payments/wire'
import type { AttemptResult } from '../queue/schedule.ts'
import type { DeliveryRequest, DeliveryTarget } from './exchange.ts'

export type RequestBatch = {
  /** The time by the clock of the engine when it sent the batch. */
  readonly nowMs: number
  /** The thread drops all targets that it has received, because no later request refers to them. */
  readonly dropTargets: boolean
  /** New targets, with keys as text. Sent before or with the first request that refers to them. */
  readonly targets: { readonly number: number; readonly url: string; readonly keys: readonly string[] }[]
  readonly requestIds: number[]
  readonly targetNumbers: number[]
  readonly eventIds: string[]
  readonly data: string[]
}

export type ResponseBatch = {
  readonly requestIds: number[]
  readonly startedAtMs: number[]
  readonly durationsMs: number[]
  readonly statuses: (number | undefined)[]
  readonly addresses: (string | undefined)[]
  readonly errors: (string | undefined)[]
  readonly responseBodies: (string | undefined)[]
  readonly retryAfters: (string | undefined)[]
}

/** A batch that still collects requests. The time is set when it is sent. */
type OpenRequestBatch = Omit<RequestBatch, 'nowMs'>

export const emptyRequestBatch = (dropTargets: boolean): OpenRequestBatch => ({
  dropTargets,
  targets: [],
  requestIds: [],
  targetNumbers: [],
  eventIds: [],
  data: [],
})

export function addTarget(batch: OpenRequestBatch, number: number, { url, keys }: DeliveryTarget): void {
  batch.targets.push({ number, url, keys: keys.map(signingKeyText) })
}

export function addRequest(
  batch: OpenRequestBatch,
  requestId: number,
  targetNumber: number,
  { eventId, data }: DeliveryRequest,
): void {
  batch.requestIds.push(requestId)
  batch.targetNumbers.push(targetNumber)
  batch.eventIds.push(eventId)
  batch.data.push(data)
}

export const emptyResponseBatch = (): ResponseBatch => ({
  requestIds: [],
  startedAtMs: [],
  durationsMs: [],
  statuses: [],
  addresses: [],
  errors: [],
  responseBodies: [],
  retryAfters: [],
})

export function addResult(batch: ResponseBatch, requestId: number, result: AttemptResult): void {
  batch.requestIds.push(requestId)
  batch.startedAtMs.push(result.startedAt.getTime())
  batch.durationsMs.push(result.durationMs)
  batch.statuses.push(result.status)
  batch.addresses.push(result.address)
  batch.errors.push(result.error)
  batch.responseBodies.push(result.responseBody)
  batch.retryAfters.push(result.retryAfter)
}

export function resultAt(batch: ResponseBatch, index: number): AttemptResult {
  const status = batch.statuses[index]
  const address = batch.addresses[index]
  const error = batch.errors[index]
  const responseBody = batch.responseBodies[index]
  const retryAfter = batch.retryAfters[index]
  return {
    startedAt: new Date(batch.startedAtMs[index] as number),
    durationMs: batch.durationsMs[index] as number,
    ...(status === undefined ? {} : { status }),
    ...(address === undefined ? {} : { address }),
    ...(error === undefined ? {} : { error }),
    ...(responseBody === undefined ? {} : { responseBody }),
    ...(retryAfter === undefined ? {} : { retryAfter }),
  }
}
