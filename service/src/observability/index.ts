/**
 * Observability for operators: `/healthz` (the process runs), `/readyz` (it can serve: the database answers with
 * the schema that it needs, and the process is not stopping) and `/metrics` (Prometheus), on a port of their own. Owns no tables.
 */
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { AggregatorRegistry, collectDefaultMetrics, Registry } from 'prom-client'
import { type Clock, systemClock } from '../kernel/index.ts'
import { createSchemaCheck, type Database, type SchemaState, sql } from '../postgres/index.ts'
import { createMetrics, type Metrics } from './metrics.ts'

export { type QueueProbe, startQueueAges } from './queue-ages.ts'
export { observabilitySettings } from './settings.ts'
export { createTracing } from './tracing.ts'

/** The metrics of one process, for another process that serves them. */
export type MetricsSnapshot = Awaited<ReturnType<Registry['getMetricsAsJSON']>>
/** The processes whose readiness and metrics this process serves. */
export type OtherProcesses = {
  /** Why no other process can serve. Undefined: at least one can. */
  readonly unready: () => string | undefined
  readonly snapshots: () => Promise<readonly MetricsSnapshot[]>
}
export type Observability = {
  readonly metrics: Metrics
  readonly snapshot: () => Promise<MetricsSnapshot>
  /** Resolves to the port. Rejects with the error of the socket. */
  readonly listen: (host: string, port: number) => Promise<number>
  /** Everything is started: `/readyz` answers 200 while the database answers. */
  readonly ready: () => void
  /** `/readyz` answers 503, so that load balancers use other instances while open requests end. */
  readonly drain: () => void
  readonly close: () => Promise<void>
}

const readyTimeoutMs = 2_000

export type ObservabilityDeps = {
  readonly db: Database
  readonly clock?: Clock
  /** The label `process` of every series, where several processes run. */
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

  const readSchema = createSchemaCheck(db.pool)
  const readiness = async (): Promise<Readiness> => {
    const reason = state === 'started' ? others?.unready() : state
    return reason === undefined ? databaseReadiness(db, readSchema) : { reason }
  }
  const snapshot = () => registry.getMetricsAsJSON()
  const metricsText = async () => {
    if (!others) return registry.metrics()
    const [own, rest] = await Promise.all([snapshot(), others.snapshots()])
    // The label `process` separates the series, so that each sum has one summand.
    const summed = [own, ...rest].map((metrics) => metrics.map((metric) => ({ ...metric, aggregator: 'sum' as const })))
    return AggregatorRegistry.aggregate(summed).metrics()
  }
  const server = createServer(createRoutes({ readiness, metricsText, metricsType: registry.contentType }))

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

const readOnlySetting = sql`show transaction_read_only`

/** `reason`: why the process cannot serve. `schema`: the last migration of the database. */
type Readiness = { readonly reason?: string | undefined; readonly schema?: number }

/** Whether the database answers in time, accepts writes and has the schema that this version needs. */
function databaseReadiness(db: Database, readSchema: () => Promise<SchemaState>): Promise<Readiness> {
  const timeout = new Promise<Readiness>((resolve) => {
    setTimeout(() => resolve({ reason: 'the database does not answer' }), readyTimeoutMs).unref()
  })
  const probe = Promise.all([db.row<{ transactionReadOnly: string }>(readOnlySetting), readSchema()]).then(
    ([row, { version, problem }]) => {
      const readOnly = row?.transactionReadOnly === 'on' ? 'the database is read only' : undefined
      return { schema: version, reason: db.writes.problem() ?? readOnly ?? problem }
    },
    () => ({ reason: 'the database cannot be reached' }),
  )
  return Promise.race([probe, timeout])
}

type Pages = {
  readonly readiness: () => Promise<Readiness>
  readonly metricsText: () => Promise<string>
  readonly metricsType: string
}

function createRoutes({ readiness, metricsText, metricsType }: Pages): RequestListener {
  return (request, response) => {
    const answer = (status: number, type: string, body: string) => {
      response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(body)
    }
    const answerJson = (status: number, body: object) => answer(status, 'application/json', JSON.stringify(body))
    const path = request.url?.split('?', 1)[0]
    const route = async () => {
      if (path === '/healthz') return answerJson(200, { status: 'ok' })
      if (path === '/metrics') return answer(200, metricsType, await metricsText())
      if (path !== '/readyz') return answerJson(404, { status: 'unknown path' })
      const { reason, schema } = await readiness()
      return reason === undefined
        ? answerJson(200, { status: 'ok', schema })
        : answerJson(503, { status: 'unavailable', reason, schema })
    }
    route().catch(() => answerJson(500, { status: 'failed' }))
  }
}
