/** The metrics of this process. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { Clock } from '../kernel/index.ts'
import type { Database } from '../postgres/index.ts'
import { createEndpointMetrics, type EndpointMetrics } from './endpoint-metrics.ts'

export type Metrics = {
  readonly request: (operation: string, status: number, durationMs: number) => void
  readonly delivery: (outcome: string, durationMs: number, subscriptionId: string) => void
  readonly endpoints: EndpointMetrics['endpoints']
}

const secondsBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15]

export function createMetrics(registry: Registry, db: Database, clock: Clock): Metrics {
  const registers = [registry]
  const requests = new Histogram({
    name: 'payments_request_duration_seconds',
    help: 'Duration of answered requests, by operation and status',
    labelNames: ['operation', 'status'],
    buckets: secondsBuckets,
    registers,
  })
  const deliveries = new Histogram({
    name: 'payments_delivery_duration_seconds',
    help: 'Duration of webhook delivery attempts, by outcome',
    labelNames: ['outcome'],
    buckets: secondsBuckets,
    registers,
  })
  const failures = new Counter({
    name: 'payments_requests_failed_total',
    help: 'Requests answered with 5xx, by operation',
    labelNames: ['operation'],
    registers,
  })
  const pool = new Gauge({
    name: 'payments_database_connections',
    help: 'Connections of the pool: idle, busy, and requests that wait for one (waited_for)',
    labelNames: ['state'],
    registers,
    collect: () => {
      pool.set({ state: 'idle' }, db.pool.idleCount)
      pool.set({ state: 'busy' }, db.pool.totalCount - db.pool.idleCount)
      pool.set({ state: 'waited_for' }, db.pool.waitingCount)
    },
  })
  const endpoints = createEndpointMetrics(registry, clock.now)
  return {
    request: (operation, status, durationMs) => {
      requests.observe({ operation, status }, durationMs / 1000)
      if (status >= 500) failures.inc({ operation })
    },
    delivery: (outcome, durationMs, subscriptionId) => {
      deliveries.observe({ outcome }, durationMs / 1000)
      endpoints.attempt(subscriptionId, outcome, durationMs)
    },
    endpoints: endpoints.endpoints,
  }
}
