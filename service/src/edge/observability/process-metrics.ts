/** The usual metrics of a Node process. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { collectDefaultMetrics, Gauge, type Registry } from 'prom-client'
import { hourMs } from '../../kernel/index.ts'

const nanosecondsPerSecond = 1e9
const lagName = 'nodejs_eventloop_lag_p99_seconds'

/**
 * Measures the delay of the event loop by its iterations. The library measures it by a timer, which would wake an idle process a
 * hundred times a second: half of its processor time. Its gauges of the delay are removed, and its timer is made rare.
 */
export function collectProcessMetrics(register: Registry): void {
  collectDefaultMetrics({ register, eventLoopMonitoringPrecision: hourMs })
  for (const { name } of register.getMetricsAsArray())
    if (name.startsWith('nodejs_eventloop_lag_')) register.removeSingleMetric(name)
  const delays = monitorEventLoopDelay({ samplePerIteration: true })
  delays.enable()
  new Gauge({
    name: lagName,
    help: '99th percentile of the duration of an iteration of the event loop, since the last collection.',
    registers: [register],
    collect() {
      this.set(delays.percentile(99) / nanosecondsPerSecond)
      delays.reset()
    },
  })
}
