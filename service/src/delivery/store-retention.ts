/**
 * SQL of retention. Statements that change several endpoint queues lock them in the order of the subscription ids, before
 * their rows.
 */
import { acrossPartners, columnOf, unprepared, sql, type Tx } from '../postgres/index.ts'
import type { SubscriptionKey } from './management/store-subscriptions.ts'
import { subtractOwed } from './queue/store-endpoint-queues.ts'

export type Expired = SubscriptionKey & { readonly eventId: string }

/** Due-work scan: deliveries held since before `before`. */
export function expiredHeld(tx: Tx, before: Date, rowsMax: number): Promise<readonly Expired[]> {
  return tx.rows<Expired>(
    unprepared(
      acrossPartners(
        'finds deliveries that were held too long, without a lock',
        sql`/* delivery.expiredHeld */
      select partner_id, subscription_id, event_id from delivery.queue
      where status = 'Held' and held_at < ${before} order by held_at limit ${rowsMax}`,
      ),
    ),
  )
}

/** Due-work scan: old pending deliveries of subscriptions that were disabled before `before`. They count as held. */
export function expiredOfDisabled(tx: Tx, before: Date, rowsMax: number): Promise<readonly Expired[]> {
  return tx.rows<Expired>(
    unprepared(
      acrossPartners(
        'finds deliveries of subscriptions that were disabled too long, without a lock',
        sql`/* delivery.expiredOfDisabled */
      select expired.* from delivery.subscriptions
      cross join lateral (
        select partner_id, subscription_id, event_id from delivery.queue
        where partner_id = subscriptions.partner_id and subscription_id = subscriptions.id and status = 'Pending'
          and created_at < ${before}
        order by event_id limit ${rowsMax}) as expired
      where subscriptions.disabled_at < ${before} and subscriptions.deleted_at is null limit ${rowsMax}`,
      ),
    ),
  )
}

const totalOf = (rows: readonly { readonly count: bigint }[]): number =>
  rows.reduce((sum, row) => sum + Number(row.count), 0)

/** Deletes the rows of one partner that are still expired, and subtracts them from `owed`. Returns how many. */
export async function dropExpired(tx: Tx, rows: readonly Expired[], before: Date): Promise<number> {
  const column = columnOf(rows)
  const [partnerId = ''] = column('partnerId')
  const subscriptionIds = [...new Set(column('subscriptionId'))]
  await tx.run(sql`/* delivery.dropExpired */
    select 1 from delivery.endpoint_queues where partner_id = ${partnerId} and subscription_id = any(${subscriptionIds}::uuid[])
    order by subscription_id for update`)
  const dropped = await tx.rows<{ subscriptionId: string; count: bigint }>(
    unprepared(sql`/* delivery.dropExpired */
      with dropped as (
        delete from delivery.queue
        using unnest(${column('subscriptionId')}::uuid[], ${column('eventId')}::uuid[]) as input (subscription_id, event_id)
        where queue.partner_id = ${partnerId} and queue.subscription_id = input.subscription_id
          and queue.event_id = input.event_id
          and (queue.held_at < ${before} or exists (select 1 from delivery.subscriptions
            where subscriptions.partner_id = ${partnerId} and subscriptions.id = input.subscription_id
              and subscriptions.disabled_at < ${before}))
        returning queue.subscription_id)
      select subscription_id, count(*) as count from dropped group by subscription_id`),
  )
  const counts = dropped.map((row) => ({ partnerId, ...row }))
  await subtractOwed(tx, counts)
  return totalOf(dropped)
}

export type DroppedCount = SubscriptionKey & { readonly count: bigint }

/** Counts the deliveries of events between two ids, that is of one week, by subscription of all partners. */
export function deliveredBetween(tx: Tx, from: string, to: string): Promise<readonly DroppedCount[]> {
  return tx.rows<DroppedCount>(
    unprepared(
      acrossPartners(
        'counts the deliveries of a week that is dropped as a whole',
        sql`/* delivery.deliveredBetween */
      select partner_id, subscription_id, count(*) as count from delivery.deliveries
      where event_id >= ${from} and event_id < ${to} group by partner_id, subscription_id`,
      ),
    ),
  )
}

/** Deletes up to `rowsMax` deliveries of events before an id from the default partition. Returns counts by subscription. */
export function deleteDelivered(tx: Tx, before: string, rowsMax: number): Promise<readonly DroppedCount[]> {
  return tx.rows<DroppedCount>(
    unprepared(
      acrossPartners(
        'deletes old deliveries from the default partition',
        sql`/* delivery.deleteDelivered */
      with dropped as (
        delete from delivery.deliveries_default where ctid = any(array(
          select ctid from delivery.deliveries_default where event_id < ${before} limit ${rowsMax}))
        returning partner_id, subscription_id)
      select partner_id, subscription_id, count(*) as count from dropped group by partner_id, subscription_id`,
      ),
    ),
  )
}

/** Due-work scan: the oldest event in the queue. Probes the index once per endpoint queue, whatever its length. */
export async function oldestOwed(tx: Tx): Promise<string | undefined> {
  const row = await tx.row<{ eventId: string }>(
    unprepared(
      acrossPartners(
        'finds the oldest event with a pending delivery, whose partition must be kept',
        sql`/* delivery.oldestOwed */
      select oldest.event_id from delivery.endpoint_queues cross join lateral (
        select event_id from delivery.queue
        where partner_id = endpoint_queues.partner_id and subscription_id = endpoint_queues.subscription_id
        order by event_id limit 1) as oldest
      order by oldest.event_id limit 1`,
      ),
    ),
  )
  return row?.eventId
}

/** Due-work scan: the earliest time from which a running recovery needs events. */
export async function earliestRecovery(tx: Tx): Promise<Date | undefined> {
  const row = await tx.row<{ since: Date }>(
    acrossPartners(
      'finds the time from which recoveries in progress need partitions',
      sql`/* delivery.earliestRecovery */
    select since from delivery.recoveries where status = 'Running' order by since limit 1`,
    ),
  )
  return row?.since
}
