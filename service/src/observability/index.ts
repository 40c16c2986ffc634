/**
 * Observability: what the person who runs the service sees. `/healthz` (the process lives), `/readyz` (it can serve: the
 * database answers and no stop is under way) and `/metrics` (Prometheus), on a port of their own. Owns no tables.
 */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { AggregatorRegistry, collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import { type Clock, systemClock } from '../kernel/index.ts'
import type { Database } from '../postgres/index.ts'
import { createEndpointMetrics, type EndpointMetrics } from './endpoint-metrics.ts'

export { observabilitySettings } from './settings.ts'

export type Metrics = {
  readonly request: (operation: string, status: number, durationMs: number) => void
  readonly delivery: (outcome: string, durationMs: number, subscriptionId: string) => void
  readonly endpoints: EndpointMetrics['endpoints']
}
/** What one process has counted, to be sent to another. */
export type MetricsSnapshot = Awaited<ReturnType<Registry['getMetricsAsJSON']>>
/** The processes that this one speaks for. */
export type OtherProcesses = {
  /** Why none of them can serve; undefined where one can. */
  readonly unready: () => string | undefined
  readonly snapshots: () => Promise<readonly MetricsSnapshot[]>
}
export type Observability = {
  readonly metrics: Metrics
  readonly snapshot: () => Promise<MetricsSnapshot>
  /** Resolves to the port; rejects with the socket's error. */
  readonly listen: (host: string, port: number) => Promise<number>
  /** From now on ready, as long as the database answers: everything is started. */
  readonly ready: () => void
  /** From now on not ready: load balancers look elsewhere while what is under way ends. */
  readonly drain: () => void
  readonly close: () => Promise<void>
}

const readyTimeoutMs = 2_000
const secondsBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15]

export type ObservabilityDeps = {
  readonly db: Database
  readonly clock?: Clock
  /** Of several: the label `process` of every series, so that each has a history of its own. */
  readonly process?: string
  readonly others?: OtherProcesses
}

export function createObservability(deps: ObservabilityDeps): Observability {
  const { db, clock = systemClock, process: label, others } = deps
  const registry = new Registry()
  if (label !== undefined) registry.setDefaultLabels({ process: label })
  collectDefaultMetrics({ register: registry })
  const metrics = createMetrics(registry, db, clock)
  let state: 'starting' | 'started' | 'stopping' = 'starting'

  const ready = async () => {
    if (state !== 'started') return state
    const unready = others?.unready()
    if (unready !== undefined) return unready
    const timeout = new Promise<string>((resolve) => {
      setTimeout(() => resolve('the database does not answer'), readyTimeoutMs).unref()
    })
    const probe = db.pool.query('select 1').then(
      () => undefined,
      () => 'the database cannot be reached',
    )
    return Promise.race([probe, timeout])
  }

  const snapshot = () => registry.getMetricsAsJSON()
  const text = async () => {
    if (!others) return registry.metrics()
    const [own, rest] = await Promise.all([snapshot(), others.snapshots()])
    // The label keeps their series apart, so that a sum is of one value.
    const summed = [own, ...rest].map((metrics) => metrics.map((metric) => ({ ...metric, aggregator: 'sum' as const })))
    return AggregatorRegistry.aggregate(summed).metrics()
  }

  const server: Server = createServer((request, response) => {
    const answer = (status: number, type: string, body: string) => {
      response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(body)
    }
    const path = request.url?.split('?', 1)[0]
    const route = async () => {
      if (path === '/healthz') return answer(200, 'application/json', '{"status":"ok"}')
      if (path === '/readyz') {
        const reason = await ready()
        return answer(
          reason === undefined ? 200 : 503,
          'application/json',
          JSON.stringify(reason === undefined ? { status: 'ok' } : { status: 'unavailable', reason }),
        )
      }
      if (path === '/metrics') return answer(200, registry.contentType, await text())
      return answer(404, 'application/json', '{"status":"unknown path"}')
    }
    route().catch(() => answer(500, 'application/json', '{"status":"failed"}'))
  })

  return {
    metrics,
    snapshot,
    listen: (host, port) =>
      new Promise((resolve, reject) => {
        server.once('error', reject)
        server.listen(port, host, () => resolve((server.address() as AddressInfo).port))
      }),
    ready: () => {
      state = 'started'
    },
    drain: () => {
      state = 'stopping'
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function createMetrics(registry: Registry, db: Database, clock: Clock): Metrics {
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
  const refusals = new Counter({
    name: 'payments_requests_failed_total',
    help: 'Requests answered with 5xx',
    labelNames: ['operation'],
    registers,
  })
  const pool = new Gauge({
    name: 'payments_database_connections',
    help: 'Connections of the pool, by state',
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
      if (status >= 500) refusals.inc({ operation })
    },
    delivery: (outcome, durationMs, subscriptionId) => {
      deliveries.observe({ outcome }, durationMs / 1000)
      endpoints.attempt(subscriptionId, outcome, durationMs)
    },
    endpoints: endpoints.endpoints,
  }
}
