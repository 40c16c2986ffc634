/** What operators see of endpoints: counted where the truth is, never on the way of a delivery. */
import { sql, type Tx } from '../../postgres/index.ts'

type CountedRow = {
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

/** The walk over all partners, in pages: it names no partner by design. */
export async function partnersAfter(tx: Tx, afterId: string, partnersMax: number): Promise<readonly string[]> {
  const rows = await tx.rows<{ partnerId: string }>(sql`
    select partner_id from delivery.partners where partner_id > ${afterId} order by partner_id limit ${partnersMax}`)
  return rows.map((row) => row.partnerId)
}

/** One statement, so that what it counts is of one moment. Reads all that the partner is owed, and all that it got. */
export function countEndpoints(tx: Tx, partnerId: string): Promise<readonly CountedRow[]> {
  return tx.rows<CountedRow>(sql`
    select l.subscription_id, s.status = 'Enabled' as enabled, l.owed, l.failing_since,
      l.probe_ms is not null as breaker_open, coalesce(d.delivered, 0) as delivered, coalesce(q.pending, 0) as pending,
      coalesce(q.held, 0) as held, q.oldest_pending_at
    from delivery.endpoint_queues l
    join delivery.subscriptions s
      on s.partner_id = ${partnerId} and s.id = l.subscription_id and s.deleted_at is null
    left join (
      select subscription_id, count(*) filter (where status = 'Pending') as pending,
        count(*) filter (where status = 'Held') as held, min(created_at) filter (where status = 'Pending') as oldest_pending_at
      from delivery.queue where partner_id = ${partnerId} group by subscription_id) q
      on q.subscription_id = l.subscription_id
    left join (
      select subscription_id, count(*) as delivered
      from delivery.deliveries where partner_id = ${partnerId} group by subscription_id) d
      on d.subscription_id = l.subscription_id
    where l.partner_id = ${partnerId} order by l.subscription_id`)
}
