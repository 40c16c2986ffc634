/** SQL of leftovers: queue rows of deliveries that are recorded as delivered. */
import { acrossPartners, columnOf, ofOnePartner, sql, type Tx, unprepared } from '../../postgres/index.ts'
import type { SubscriptionKey } from '../management/store-subscriptions.ts'

export type QueueKey = SubscriptionKey & { readonly eventId: string }

/** The next `rowsMax` rows of the queue after a key. */
export const queuedBehind = (
  tx: Tx,
  { partnerId, subscriptionId, eventId }: QueueKey,
  rowsMax: number,
): Promise<readonly QueueKey[]> =>
  tx.rows<QueueKey>(
    unprepared(
      acrossPartners(
        'walks over the queue to find rows whose delivery is recorded, without a lock',
        sql`/* delivery.queuedBehind */
      select partner_id, subscription_id, event_id from delivery.queue
      where (partner_id, subscription_id, event_id) > (${partnerId}::uuid, ${subscriptionId}::uuid, ${eventId}::uuid)
      order by partner_id, subscription_id, event_id limit ${rowsMax}`,
      ),
    ),
  )

/**
 * The leftovers among these rows. Sharded: rows of one partner. A subquery with a limit, because PostgreSQL would turn
 * `exists` into a join with all deliveries.
 */
export function leftoversOf(tx: Tx, rows: readonly QueueKey[]): Promise<readonly QueueKey[]> {
  const column = columnOf(rows)
  return tx.rows<QueueKey>(
    unprepared(sql`/* delivery.leftoversOf */
      select examined.partner_id, examined.subscription_id, examined.event_id
      from unnest(${column('partnerId')}::uuid[], ${column('subscriptionId')}::uuid[], ${column('eventId')}::uuid[])
        as examined (partner_id, subscription_id, event_id)
      where (select true from delivery.deliveries as delivered
        where delivered.partner_id = examined.partner_id and ${ofOnePartner(column('partnerId'), sql`delivered.partner_id`)}
          and delivered.subscription_id = examined.subscription_id and delivered.event_id = examined.event_id
        limit 1) is not null`),
  )
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
