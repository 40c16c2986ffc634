/** SQL of the statistics for operators. Counts the rows themselves, outside of the path of deliveries. */
import { dueWork, sql, type Tx } from '../../postgres/index.ts'

export type EndpointCounts = {
  readonly subscriptionId: string
  readonly enabled: boolean
  readonly owed: bigint
  readonly delivered: bigint
  readonly pending: bigint
  readonly held: bigint
  readonly oldestPendingAt: Date | null
  readonly failingSince: Date | null
  readonly breakerOpen: boolean
}

/** Lists all partners in pages. */
export async function partnersAfter(tx: Tx, afterId: string, partnersMax: number): Promise<readonly string[]> {
  const rows = await tx.rows<{ partnerId: string }>(
    dueWork(
      'walks over all partners to count for operators',
      (whose) => sql`/* delivery.partnersAfter */
      select partner_id from delivery.partners where partner_id > ${afterId} and ${whose()}
      order by partner_id limit ${partnersMax}`,
    ),
  )
  return rows.map((row) => row.partnerId)
}

/** Counts in one statement, so that all counts are of the same moment. Reads every queued and delivered row of the partner. */
export function countEndpoints(tx: Tx, partnerId: string): Promise<readonly EndpointCounts[]> {
  return tx.rows<EndpointCounts>(sql`/* delivery.countEndpoints */
    select endpoint_queues.subscription_id, subscriptions.status = 'Enabled' as enabled, endpoint_queues.owed,
      endpoint_queues.failing_since, endpoint_queues.probe_ms is not null as breaker_open,
      coalesce(delivered.count, 0) as delivered, coalesce(queued.pending, 0) as pending,
      coalesce(queued.held, 0) as held, queued.oldest_pending_at
    from delivery.endpoint_queues
    join delivery.subscriptions on subscriptions.partner_id = ${partnerId}
      and subscriptions.id = endpoint_queues.subscription_id and subscriptions.deleted_at is null
    left join (
      select subscription_id, count(*) filter (where status = 'Pending') as pending,
        count(*) filter (where status = 'Held') as held,
        min(created_at) filter (where status = 'Pending') as oldest_pending_at
      from delivery.queue where partner_id = ${partnerId} group by subscription_id) as queued
      on queued.subscription_id = endpoint_queues.subscription_id
    left join (
      select subscription_id, count(*) as count
      from delivery.deliveries where partner_id = ${partnerId} group by subscription_id) as delivered
      on delivered.subscription_id = endpoint_queues.subscription_id
    where endpoint_queues.partner_id = ${partnerId} order by endpoint_queues.subscription_id`)
}
