/** Personal columns of the items of bulks: texts to the payee, and why one was refused. */
import { type KeptTable, sql } from '../../postgres/index.ts'

export const keptBulks: KeptTable = {
  table: 'payouts.bulks',
  isOver: ({ endedBefore }) => sql`ended_at < ${endedBefore}`,
  personal: [
    {
      table: 'payouts.bulk_items',
      by: 'bulk_id',
      erased: { reference: null, end_to_end_id: null, problem_detail: null },
    },
  ],
}
