/**
 * Observability for operators, on its own port: `/healthz` (the process runs), `/readyz` (the database answers with the required
 * schema, and the process is not stopping), `/metrics` (Prometheus) and `/partners/ID` (whether this database has the partner).
 * Owns no tables.
 */
import type { Tracing } from '../../kernel/index.ts'
import type { Observability, ObservabilityDeps } from './observability.ts'
import type { ReadCellStates, RouterObservability } from './router.ts'

export type { MetricsSnapshot, Observability } from './observability.ts'
export { type QueueProbe, queueAgesJob } from './queue-ages.ts'

// The first call loads them: commands of the operator publish no metrics, and few processes have a collector of traces.
export const createObservability = async (deps: ObservabilityDeps): Promise<Observability> =>
  (await import('./observability.ts')).createObservability(deps)
export const createRouterObservability = async (answering: ReadCellStates): Promise<RouterObservability> =>
  (await import('./router.ts')).createRouterObservability(answering)
export const createTracing = async (endpoint: string, role: string, ratio: number): Promise<Tracing> =>
  (await import('./tracing.ts')).createTracing(endpoint, role, ratio)
