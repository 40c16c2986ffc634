/** The metrics of this process. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { Clock } from '../kernel/index.ts'
import type { Database } from '../postgres/index.ts'
import { createEndpointMetrics, type EndpointMetrics } from './endpoint-metrics.ts'

export type Metrics = {
  readonly request: (operation: string, status: number, durationMs: number) => void
  readonly delivery: (outcome: string, durationMs: number, subscriptionId: string) => void
  readonly endpoints: EndpointMetrics['endpoints']
  /** One instruction to a bank: `accepted`, `refused`, `unreachable`, or `failed` by an error of the service. */
  readonly instruction: (rail: string, outcome: string, durationMs: number) => void
  /** One bank notification: `applied`, `duplicate` or `failed`. */
  readonly bankNotification: (rail: string, outcome: string) => void
  /** One attempt to send a mail: `sent`, `postponed` or `given_up`. */
  readonly mail: (outcome: string) => void
  readonly queueAge: (queue: string, ageMs: number) => void
}

const secondsBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15]

export function createMetrics(registry: Registry, db: Database, clock: Clock): Metrics {
  const registers = [registry]
  const deliveries = new Histogram({
    name: 'payments_delivery_duration_seconds',
    help: 'Duration of webhook delivery attempts, by outcome',
    labelNames: ['outcome'],
    buckets: secondsBuckets,
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
    ...createPaymentMetrics(registry),
    request: createRequestMetrics(registry),
    delivery: (outcome, durationMs, subscriptionId) => {
      deliveries.observe({ outcome }, durationMs / 1000)
      endpoints.attempt(subscriptionId, outcome, durationMs)
    },
    endpoints: endpoints.endpoints,
  }
}

export function createRequestMetrics(registry: Registry): Metrics['request'] {
  const registers = [registry]
  const requests = new Histogram({
    name: 'payments_request_duration_seconds',
    help: 'Duration of answered requests, by operation and status',
    labelNames: ['operation', 'status'],
    buckets: secondsBuckets,
    registers,
  })
  const failures = new Counter({
    name: 'payments_requests_failed_total',
    help: 'Requests answered with 5xx, by operation',
    labelNames: ['operation'],
    registers,
  })
  return (operation, status, durationMs) => {
    requests.observe({ operation, status }, durationMs / 1000)
    if (status >= 500) failures.inc({ operation })
  }
}

type PaymentMetrics = Pick<Metrics, 'instruction' | 'bankNotification' | 'mail' | 'queueAge'>

function createPaymentMetrics(registry: Registry): PaymentMetrics {
  const registers = [registry]
  const instructions = new Histogram({
    name: 'payments_instruction_duration_seconds',
    help: 'Duration of payout instructions to a bank, by rail and outcome',
    labelNames: ['rail', 'outcome'],
    buckets: secondsBuckets,
    registers,
  })
  const notifications = new Counter({
    name: 'payments_bank_notifications_total',
    help: 'Bank notifications processed, by rail and outcome',
    labelNames: ['rail', 'outcome'],
    registers,
  })
  const mails = new Counter({
    name: 'payments_mails_total',
    help: 'Attempts to send a mail, by outcome',
    labelNames: ['outcome'],
    registers,
  })
  const ages = new Gauge({
    name: 'payments_queue_oldest_seconds',
    help: 'Seconds that the oldest due work of a queue has waited; 0 if nothing is due',
    labelNames: ['queue'],
    registers,
  })
  return {
    instruction: (rail, outcome, durationMs) => instructions.observe({ rail, outcome }, durationMs / 1000),
    bankNotification: (rail, outcome) => notifications.inc({ rail, outcome }),
    mail: (outcome) => mails.inc({ outcome }),
    queueAge: (queue, ageMs) => ages.set({ queue }, ageMs / 1000),
  }
}
