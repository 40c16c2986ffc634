/** SQL of leftovers: queue rows of deliveries that are recorded as delivered. */
import { acrossPartners, sql, type Tx, unprepared } from '../../postgres/index.ts'
import type { SubscriptionKey } from '../management/store-subscriptions.ts'

export type QueueKey = SubscriptionKey & { readonly eventId: string }

/**
 * Due-work scan: the leftovers among the next `rowsMax` rows of the queue. `last` is the last row examined, or undefined at
 * the end of the queue. A subquery with a limit, because PostgreSQL would turn `exists` into a join with all deliveries.
 */
export async function findLeftovers(
  tx: Tx,
  { partnerId, subscriptionId, eventId }: QueueKey,
  rowsMax: number,
): Promise<{ readonly last: QueueKey | undefined; readonly leftovers: readonly QueueKey[] }> {
  const rows = await tx.rows<QueueKey & { readonly isLeftover: boolean; readonly isLast: boolean }>(
    unprepared(
      acrossPartners(
        'finds queue rows whose delivery is recorded, without a lock',
        sql`/* delivery.findLeftovers */
      with examined as (
        select following.*, row_number() over (order by partner_id, subscription_id, event_id) = ${rowsMax} as is_last
        from (select partner_id, subscription_id, event_id from delivery.queue
          where (partner_id, subscription_id, event_id) > (${partnerId}::uuid, ${subscriptionId}::uuid, ${eventId}::uuid)
          order by partner_id, subscription_id, event_id limit ${rowsMax}) as following),
      compared as (
        select examined.*, (select true from delivery.deliveries as delivered
          where delivered.partner_id = examined.partner_id and delivered.subscription_id = examined.subscription_id
            and delivered.event_id = examined.event_id limit 1) is not null as is_leftover
        from examined)
      select * from compared where is_leftover or is_last`,
      ),
    ),
  )
  return { last: rows.find(({ isLast }) => isLast), leftovers: rows.filter(({ isLeftover }) => isLeftover) }
}

/** Deletes those of these queue rows that are leftovers. The caller has locked the endpoint queue. Returns how many. */
export function deleteLeftovers(
  tx: Tx,
  { partnerId, subscriptionId }: SubscriptionKey,
  eventIds: readonly string[],
): Promise<number> {
  return tx.run(
    unprepared(sql`/* delivery.deleteLeftovers */
      delete from delivery.queue
      where partner_id = ${partnerId} and subscription_id = ${subscriptionId} and event_id = any(array(
        select event_id from delivery.deliveries
        where partner_id = ${partnerId} and subscription_id = ${subscriptionId}
          and event_id = any(${eventIds}::uuid[])))`),
  )
}
