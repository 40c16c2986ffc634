/** The counter `owed` of each endpoint queue of a partner, and the rows that it has to agree with. */
import { sql, type Tx } from '../../service/src/postgres/index.ts'

export type Reconciliation = {
  readonly subscriptionId: string
  /** The counter: deliveries created for the subscription and not dropped since. */
  readonly owed: bigint
  /** Counts of rows. The three add up to `owed`. */
  readonly delivered: bigint
  readonly pending: bigint
  readonly held: bigint
}

export function reconcile(tx: Tx, partnerId: string): Promise<readonly Reconciliation[]> {
  return tx.rows<Reconciliation>(sql`
    select l.subscription_id, l.owed,
      (select count(*) from delivery.deliveries d
        where d.partner_id = ${partnerId} and d.subscription_id = l.subscription_id) as delivered,
      count(q.event_id) filter (where q.status = 'Pending' and s.status = 'Enabled') as pending,
      count(q.event_id) filter (where q.status = 'Held' or (q.status = 'Pending' and s.status = 'Disabled')) as held
    from delivery.endpoint_queues l
    join delivery.subscriptions s on s.partner_id = ${partnerId} and s.id = l.subscription_id
    left join delivery.queue q on q.partner_id = ${partnerId} and q.subscription_id = l.subscription_id
    where l.partner_id = ${partnerId}
    group by l.subscription_id, l.owed order by l.subscription_id`)
}
