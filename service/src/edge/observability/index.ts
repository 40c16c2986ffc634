/**
 * Observability for operators: `/healthz` (the process runs), `/readyz` (it can serve: the database answers with
 * the schema that it needs, and the process is not stopping), `/metrics` (Prometheus) and `/partners/ID` (whether this
 * database has the partner), on a port of their own. Owns no tables.
 */
import type { Tracing } from '../../kernel/index.ts'
import type { Observability, ObservabilityDeps } from './observability.ts'
import type { CellsAnswering, RouterObservability } from './router.ts'

export type { MetricsSnapshot, Observability, ObservabilityDeps, OtherProcesses } from './observability.ts'
export { type QueueProbe, queueAgesJob } from './queue-ages.ts'

// The first call loads them: commands of the operator publish no metrics, and few processes have a collector of traces.
export const createObservability = async (deps: ObservabilityDeps): Promise<Observability> =>
  (await import('./observability.ts')).createObservability(deps)
export const createRouterObservability = async (answering: CellsAnswering): Promise<RouterObservability> =>
  (await import('./router.ts')).createRouterObservability(answering)
export const createTracing = async (endpoint: string, role: string, ratio: number): Promise<Tracing> =>
  (await import('./tracing.ts')).createTracing(endpoint, role, ratio)
