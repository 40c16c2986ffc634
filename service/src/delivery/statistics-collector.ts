/** Walks over all partners and tells how their endpoints stand: slowly, since counting what is owed is not free. */
import { type Log, type Loop, nilId, secondMs, startLoop } from '../kernel/index.ts'
import type { Database } from '../postgres/index.ts'
import type { EndpointStatistics, EndpointState } from './management/endpoint-statistics.ts'

export type StatisticsCollectorOptions = {
  readonly db: Database
  readonly log: Log
  readonly endpointStatistics: EndpointStatistics
  /** A partner's endpoints, as they are now. */
  readonly observe: (partnerId: string, endpoints: readonly EndpointState[]) => void
  readonly idleMs?: number
}

const partnersPerPage = 100
/** Of a connection's time at most the twentieth part. */
const restPerWork = 19
const stepMsMax = 50

export function startStatisticsCollector({
  db,
  log,
  endpointStatistics,
  observe,
  idleMs = secondMs,
}: StatisticsCollectorOptions): Loop {
  let after = nilId
  let restUntilMs = 0
  const step = async () => {
    const startMs = performance.now()
    if (startMs < restUntilMs) return 0
    const page = await endpointStatistics.partnersAfter(db, after, partnersPerPage)
    try {
      for (const partnerId of page) {
        // Before the count: a partner that cannot be counted does not hold up those behind it.
        after = partnerId
        observe(partnerId, await endpointStatistics.endpointsOf(db, partnerId))
        if (performance.now() - startMs > stepMsMax) return 0
      }
      if (page.length < partnersPerPage) after = nilId
    } finally {
      restUntilMs = performance.now() + (performance.now() - startMs) * restPerWork
    }
    return 0
  }
  return startLoop({ name: 'delivery.census', idleMs, step, log })
}
