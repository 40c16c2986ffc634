/** Since when payouts wait for a decision about a name, of all partners, for a metric. */
import { acrossPartners, sql, type Tx } from '../../postgres/index.ts'

/** Null: none waits. The condition on `due_at` is that of the index. */
export async function oldestInScreening(tx: Tx): Promise<Date | null> {
  const row = await tx.row<{ since: Date }>(
    acrossPartners(
      'reads since when the oldest payout waits for a decision about a name, for a metric',
      sql`/* payouts.oldestInScreening */ select screening_since as since from payouts.payouts
        where screening_since is not null and due_at is not null and status = 'Pending'
        order by screening_since limit 1`,
    ),
  )
  return row?.since ?? null
}
