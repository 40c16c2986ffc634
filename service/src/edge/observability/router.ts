/** Health and metrics of a router, which has no database. */
import { Gauge, Registry } from 'prom-client'
import { collectProcessMetrics, createRequestMetrics, type Metrics } from './metrics.ts'
import { createOperationsServer, type OperationsServer } from './operations-server.ts'

export type RouterObservability = OperationsServer & {
  readonly request: Metrics['request']
  /** Marks the router as listening: `/readyz` answers 200, also while no cell answers. */
  readonly ready: () => void
  readonly drain: () => void
}

/** Reports for each cell whether it answers now. */
export type ReadCellStates = () => Promise<Readonly<Record<string, boolean>>>

export function createRouterObservability(answering: ReadCellStates): RouterObservability {
  const registry = new Registry()
  collectProcessMetrics(registry)
  const cells = new Gauge({
    name: 'payments_cell_answers',
    help: '1 if the operations port of the cell answers the router',
    labelNames: ['cell'],
    registers: [registry],
    collect: async () => {
      for (const [cell, answers] of Object.entries(await answering())) cells.set({ cell }, answers ? 1 : 0)
    },
  })
  let state: 'starting' | 'started' | 'stopping' = 'starting'
  const readiness = async () => {
    const facts = { cells: await answering() }
    return state === 'started' ? facts : { ...facts, reason: state }
  }
  return {
    ...createOperationsServer({
      readiness,
      metricsText: () => registry.metrics(),
      metricsType: registry.contentType,
    }),
    request: createRequestMetrics(registry),
    ready: () => {
      state = 'started'
    },
    drain: () => {
      state = 'stopping'
    },
  }
}
