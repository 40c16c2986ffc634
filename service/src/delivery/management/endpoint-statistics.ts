/** How every endpoint stands, for operators. */
import type { Tx } from '../../postgres/index.ts'
import * as store from './store-endpoint-statistics.ts'

export type EndpointState = {
  readonly subscriptionId: string
  /** Deliveries ever made for it, less those that were forgotten with their time; delivered + pending + held. */
  readonly owed: number
  readonly delivered: number
  readonly pending: number
  readonly held: number
  readonly oldestPendingAt: Date | null
  readonly failingSince: Date | null
  readonly breakerOpen: boolean
}

export type EndpointStatistics = {
  /** The walk over all partners, in pages. */
  readonly partnersAfter: (tx: Tx, afterId: string, partnersMax: number) => Promise<readonly string[]>
  /** Each endpoint of a partner, all of one moment. What a disabled one is owed is held. */
  readonly endpointsOf: (tx: Tx, partnerId: string) => Promise<readonly EndpointState[]>
}

export const endpointStatistics: EndpointStatistics = {
  partnersAfter: store.partnersAfter,
  endpointsOf: async (tx, partnerId) =>
    (await store.countEndpoints(tx, partnerId)).map(({ enabled, ...row }) => {
      const [pending, held] = [Number(row.pending), Number(row.held)]
      const counts = enabled ? { pending, held } : { pending: 0, held: pending + held, oldestPendingAt: null }
      return { ...row, owed: Number(row.owed), delivered: Number(row.delivered), ...counts }
    }),
}
