/** Collects the endpoint statistics of all partners, with long pauses, because counting deliveries is expensive. */
import { defineJob, type Job } from '../postgres/jobs/index.ts'
import { nilId, secondMs } from '../kernel/index.ts'
import type { Database, Tx } from '../postgres/index.ts'
import * as store from './management/store-subscriptions.ts'

type StatisticsCollectorOptions = {
  readonly db: Database
  readonly endpointStatistics: EndpointStatistics
  /** Receives the current statistics of all endpoints of a partner. */
  readonly observe: (partnerId: string, endpoints: readonly EndpointState[]) => void
  readonly everyMs?: number
}

const partnersPerPage = 100
/** The pause after a step, as a multiple of its duration: counting uses a hundredth of a connection's time. */
const pausePerWork = 99
const everyMsDefault = 5 * secondMs
const stepMsMax = 50
/**
 * Interval after a complete round that no commit interrupts, as a multiple of the interval between steps: a minute by
 * default.
 */
const stepsPerRest = 12

export function statisticsJob({
  db,
  endpointStatistics,
  observe,
  everyMs = everyMsDefault,
}: StatisticsCollectorOptions): Job {
  let after = nilId
  let pausedUntilMs = 0
  let isCounted = false
  const step = async () => {
    const startMs = performance.now()
    isCounted = false
    if (startMs < pausedUntilMs) return 0
    const page = await endpointStatistics.partnersAfter(db, after, partnersPerPage)
    try {
      for (const partnerId of page) {
        // Advances before the count, so that a partner whose count fails does not block the next ones.
        after = partnerId
        observe(partnerId, await endpointStatistics.endpointsOf(db, partnerId))
        if (performance.now() - startMs > stepMsMax) return 0
      }
      if (page.length < partnersPerPage) [after, isCounted] = [nilId, true]
    } finally {
      pausedUntilMs = performance.now() + (performance.now() - startMs) * pausePerWork
    }
    return 0
  }
  return defineJob({
    name: 'delivery.statistics',
    wokenBy: ['delivery.endpoint_queues', 'delivery.subscriptions'],
    restMs: everyMs,
    everyMs: () => (isCounted ? everyMs * stepsPerRest : everyMs),
    run: step,
  })
}

// Statistics of every endpoint, for operators.

export type EndpointState = {
  readonly subscriptionId: string
  /** All deliveries within the retention period: delivered + pending + held. */
  readonly owed: number
  readonly delivered: number
  readonly pending: number
  readonly held: number
  readonly oldestPendingAt: Date | null
  readonly failingSince: Date | null
  readonly breakerOpen: boolean
}

type EndpointStatistics = {
  readonly partnersAfter: (tx: Tx, afterId: string, partnersMax: number) => Promise<readonly string[]>
  /** Counts each endpoint of a partner, all at the same moment. The pending deliveries of a disabled one count as held. */
  readonly endpointsOf: (tx: Tx, partnerId: string) => Promise<readonly EndpointState[]>
}

function toEndpointState(row: store.EndpointCounts): EndpointState {
  const pending = Number(row.pending)
  const held = Number(row.held)
  return {
    subscriptionId: row.subscriptionId,
    owed: Number(row.owed),
    delivered: Number(row.delivered),
    pending: row.enabled ? pending : 0,
    held: row.enabled ? held : pending + held,
    oldestPendingAt: row.enabled ? row.oldestPendingAt : null,
    failingSince: row.failingSince,
    breakerOpen: row.breakerOpen,
  }
}

export const endpointStatistics: EndpointStatistics = {
  partnersAfter: store.partnersAfter,
  endpointsOf: async (tx, partnerId) => (await store.countEndpoints(tx, partnerId)).map(toEndpointState),
}
