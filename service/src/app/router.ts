/** The role `router`: the gateway of several cells, without a database and a master key. */
import type { RouterConfig } from './config.ts'
import { requestLimits } from './derived-settings.ts'
import { createRouter } from '../edge/gateway/index.ts'
import { type Log, systemClock } from '../kernel/index.ts'
import { createRouterObservability } from '../edge/observability/index.ts'
import { drainComponents, listenForOperations, listenOrExplain, type StartedComponent } from './process.ts'

type RouterParts = { readonly log: Log; readonly started: StartedComponent[]; readonly stop: () => Promise<void> }

/** Starts the router. Returns the function that drains and stops it. */
export async function startRouter(config: RouterConfig, { log, started, stop }: RouterParts) {
  log.info({ role: 'router', config }, 'starting')
  const router = await createRouter({
    cells: config.CELL_URLS,
    apiTimeoutMs: config.REQUEST_TIMEOUT_MS,
    clock: systemClock,
    log,
    ...requestLimits(config),
    observe: (operation, status, durationMs) => observability.request(operation, status, durationMs),
  })
  const observability = await createRouterObservability(router.answering)
  const opsPort = await listenForOperations(config, true, observability.listen)
  started.push({ name: 'operations', stop: observability.close })
  const port = await listenOrExplain('PORT', config.HOST, config.PORT, router.listen)
  started.push({ name: 'router', drain: router.drain, stop: router.close })
  observability.ready()
  log.info({ role: 'router', port, opsPort }, 'listening')
  return async () => {
    observability.drain()
    await drainComponents(started, config.STOP_DELAY_MS)
    await stop()
  }
}
