/** Health and metrics of a process with a database. */
import { AggregatorRegistry, Registry } from 'prom-client'
import { type Clock, systemClock } from '../../kernel/index.ts'
import { createSchemaCheck, type Database, type SchemaState, sql } from '../../postgres/index.ts'
import { collectProcessMetrics, createMetrics, type Metrics } from './metrics.ts'
import { createOperationsServer, type OperationsServer, type Readiness } from './operations-server.ts'

/** A snapshot of one process's metrics, for another process that serves them. */
export type MetricsSnapshot = Awaited<ReturnType<Registry['getMetricsAsJSON']>>
/** The processes whose readiness and metrics this process serves. */
type OtherProcesses = {
  /** Reason why no other process can serve. Undefined: at least one can. */
  readonly unready: () => string | undefined
  readonly snapshots: () => Promise<readonly MetricsSnapshot[]>
}
export type Observability = {
  readonly metrics: Metrics
  readonly snapshot: () => Promise<MetricsSnapshot>
  /** Marks the process as started: `/readyz` answers 200 while the database answers. */
  readonly ready: () => void
  /** Makes `/readyz` answer 503, so that load balancers use other instances while open requests end. */
  readonly drain: () => void
} & OperationsServer

const readyTimeoutMs = 2_000

export type ObservabilityDeps = {
  readonly db: Database
  readonly clock?: Clock
  /** The label `process` of every series, where several processes run. */
  readonly process?: string
  readonly others?: OtherProcesses
  /** Partner lookup for the router, which queries each cell. */
  readonly partners?: { readonly cell: string | undefined; readonly has: (partnerId: string) => Promise<boolean> }
}

export function createObservability(deps: ObservabilityDeps): Observability {
  const { db, clock = systemClock, process: label, others, partners } = deps
  const registry = new Registry()
  if (label !== undefined) registry.setDefaultLabels({ process: label })
  collectProcessMetrics(registry)
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
    // The label `process` keeps the series separate, so each sum has one summand.
    const summed = [own, ...rest].map((metrics) => metrics.map((metric) => ({ ...metric, aggregator: 'sum' as const })))
    return AggregatorRegistry.aggregate(summed).metrics()
  }
  const findPartner = async (partnerId: string) =>
    (await partners?.has(partnerId)) ? { partnerId, cell: partners?.cell ?? null } : undefined

  return {
    ...createOperationsServer({ readiness, metricsText, metricsType: registry.contentType, findPartner }),
    metrics,
    snapshot,
    ready: () => {
      state = 'started'
    },
    drain: () => {
      state = 'stopping'
    },
  }
}

const readOnlySetting = sql`show transaction_read_only`

/** Reports whether the database answers in time, accepts writes and has the schema that this version needs. */
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
