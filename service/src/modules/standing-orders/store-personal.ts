/** Personal columns of standing orders. */
import { type KeptTable, type PersonalColumns, sql } from '../../postgres/index.ts'

export const personalOrders: PersonalColumns = {
  table: 'payouts.standing_orders',
  by: 'id',
  erased: { reference: null },
}

export const keptOrders: KeptTable = {
  table: 'payouts.standing_orders',
  isOver: ({ endedBefore }) => sql`ended_at < ${endedBefore}`,
  personal: [personalOrders],
}
