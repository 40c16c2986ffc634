/** Statistics of every endpoint, for operators. */
import type { Tx } from '../../postgres/index.ts'
import * as store from './store-endpoint-statistics.ts'

export type EndpointState = {
  readonly subscriptionId: string
  /** All deliveries within the retention period: delivered + pending + held. */
  readonly owed: number
  readonly delivered: number
  readonly pending: number
  readonly held: number
  readonly oldestPendingAt: Date | null
  readonly failingSince: Date | null
  readonly breakerOpen: boolean
}

export type EndpointStatistics = {
  /** Lists the partners in pages. */
  readonly partnersAfter: (tx: Tx, afterId: string, partnersMax: number) => Promise<readonly string[]>
  /** Counts each endpoint of a partner, all at the same moment. The pending deliveries of a disabled one count as held. */
  readonly endpointsOf: (tx: Tx, partnerId: string) => Promise<readonly EndpointState[]>
}

function stateOf(row: store.EndpointCounts): EndpointState {
  const pending = Number(row.pending)
  const held = Number(row.held)
  return {
    subscriptionId: row.subscriptionId,
    owed: Number(row.owed),
    delivered: Number(row.delivered),
    pending: row.enabled ? pending : 0,
    held: row.enabled ? held : pending + held,
    oldestPendingAt: row.enabled ? row.oldestPendingAt : null,
    failingSince: row.failingSince,
    breakerOpen: row.breakerOpen,
  }
}

export const endpointStatistics: EndpointStatistics = {
  partnersAfter: store.partnersAfter,
  endpointsOf: async (tx, partnerId) => (await store.countEndpoints(tx, partnerId)).map(stateOf),
}
