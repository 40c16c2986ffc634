/**
 * SQL of retention. Statements that change several endpoint queues lock them in the order of the subscription ids, before
 * their rows.
 */
import { acrossPartners, columnOf, dueWork, unprepared, sql, type Tx } from '../postgres/index.ts'
import type { SubscriptionKey } from './management/store-subscriptions.ts'
import { subtractOwed } from './queue/store-endpoint-queues.ts'

export type Expired = SubscriptionKey & { readonly eventId: string }

/** Due-work scan: deliveries held since before `before`. */
export function expiredHeld(tx: Tx, before: Date, rowsMax: number): Promise<readonly Expired[]> {
  return tx.rows<Expired>(
    dueWork('finds deliveries that were held too long, without a lock', (whose) =>
      unprepared(sql`/* delivery.expiredHeld */
        select partner_id, subscription_id, event_id from delivery.queue
        where status = 'Held' and held_at < ${before} and ${whose()} order by held_at limit ${rowsMax}`),
    ),
  )
}

/** Due-work scan: subscriptions that were disabled before `before`. Their old pending deliveries count as held. */
export function disabledBefore(tx: Tx, before: Date): Promise<readonly SubscriptionKey[]> {
  return tx.rows<SubscriptionKey>(
    dueWork(
      'finds subscriptions that were disabled too long, without a lock',
      (whose) => sql`/* delivery.disabledBefore */
      select partner_id, id as subscription_id from delivery.subscriptions
      where disabled_at < ${before} and deleted_at is null and ${whose()}`,
    ),
  )
}

export function expiredOf(
  tx: Tx,
  { partnerId, subscriptionId }: SubscriptionKey,
  before: Date,
  rowsMax: number,
): Promise<readonly Expired[]> {
  return tx.rows<Expired>(
    unprepared(sql`/* delivery.expiredOf */
      select partner_id, subscription_id, event_id from delivery.queue
      where partner_id = ${partnerId} and subscription_id = ${subscriptionId} and status = 'Pending'
        and created_at < ${before}
      order by event_id limit ${rowsMax}`),
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

/** Deliveries in the default partition, of events before an id. */
export function oldInDefault(tx: Tx, before: string, rowsMax: number): Promise<readonly Expired[]> {
  return tx.rows<Expired>(
    acrossPartners(
      'finds old deliveries in the default partition, without a lock',
      sql`/* delivery.oldInDefault */
      select partner_id, subscription_id, event_id from delivery.deliveries_default
      where event_id < ${before} limit ${rowsMax}`,
    ),
  )
}

/** Deletes deliveries of one partner, and subtracts them from `owed`. Returns how many. */
export async function dropDelivered(tx: Tx, rows: readonly Expired[]): Promise<number> {
  const column = columnOf(rows)
  const [partnerId = ''] = column('partnerId')
  const dropped = await tx.rows<SubscriptionKey>(
    unprepared(sql`/* delivery.dropDelivered */
      delete from delivery.deliveries using unnest(${column('subscriptionId')}::uuid[], ${column('eventId')}::uuid[])
        as input (subscription_id, event_id)
      where deliveries.partner_id = ${partnerId} and deliveries.subscription_id = input.subscription_id
        and deliveries.event_id = input.event_id
      returning deliveries.partner_id, deliveries.subscription_id`),
  )
  const bySubscription = Map.groupBy(dropped, ({ subscriptionId }) => subscriptionId)
  const counts = [...bySubscription].map(([subscriptionId, own]) => ({
    partnerId,
    subscriptionId,
    count: BigInt(own.length),
  }))
  await subtractOwed(tx, counts)
  return dropped.length
}

/** The oldest event in the queue. Probes the index once per endpoint queue, whatever its length. */
export async function oldestOwed(tx: Tx): Promise<string | undefined> {
  const partners = await tx.rows<{ readonly partnerId: string }>(
    acrossPartners(
      'lists the partners whose oldest pending delivery keeps a partition',
      sql`/* delivery.oldestOwed */ select distinct partner_id from delivery.endpoint_queues`,
    ),
  )
  const oldest = await Promise.all(partners.map(({ partnerId }) => oldestOwedOf(tx, partnerId)))
  return oldest.filter((eventId) => eventId !== undefined).toSorted()[0]
}

async function oldestOwedOf(tx: Tx, partnerId: string): Promise<string | undefined> {
  const row = await tx.row<{ readonly eventId: string }>(sql`/* delivery.oldestOwedOf */
    select oldest.event_id from delivery.endpoint_queues cross join lateral (
      select event_id from delivery.queue
      where partner_id = ${partnerId} and subscription_id = endpoint_queues.subscription_id
      order by event_id limit 1) as oldest
    where endpoint_queues.partner_id = ${partnerId} order by oldest.event_id limit 1`)
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
