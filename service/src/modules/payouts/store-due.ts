/** Reads when the work of payouts is due, by an index and without a lock. */
import { dueWork, type Sql, sql } from '../../postgres/index.ts'

/** The due time of the next payout of a connector. */
export const payoutsDue = (connector: string, after: Date): Sql =>
  dueWork(
    'reads when the next payout of a connector is due',
    (whose) => sql`/* payouts.payoutsDue */
      select min(due_at) as due_at from payouts.payouts
      where connector = ${connector} and due_at > ${after} and ${whose()}`,
  )

export const approvalsDue = (after: Date): Sql =>
  dueWork(
    'reads when the time of the next approval ends',
    (whose) => sql`/* payouts.approvalsDue */
      select expires_at as due_at from payouts.approvals where decision is null and expires_at > ${after} and ${whose()} order by expires_at limit 1`,
  )
