/** SQL of what is kept for a while only. Endpoint queues are locked in the order of their subscriptions' ids, before their rows. */
import { unprepared, sql, type Tx } from '../postgres/index.ts'
import { subtractOwed } from './queue/store-endpoint-queues.ts'
import type { SubscriptionKey } from './management/store-subscriptions.ts'

export type Expired = SubscriptionKey & { readonly eventId: string }

/** Due-work scan: what has been held for too long. */
export function expiredHeld(tx: Tx, before: Date, rowsMax: number): Promise<readonly Expired[]> {
  return tx.rows<Expired>(
    unprepared(sql`
      select partner_id, subscription_id, event_id from delivery.queue
      where status = 'Held' and held_at < ${before} order by held_at limit ${rowsMax}`),
  )
}

/** Due-work scan: what a subscription was owed that was disabled then and since; it was held as long as that. */
export function expiredOfDisabled(tx: Tx, before: Date, rowsMax: number): Promise<readonly Expired[]> {
  return tx.rows<Expired>(
    unprepared(sql`
      select q.* from delivery.subscriptions s
      cross join lateral (
        select partner_id, subscription_id, event_id from delivery.queue
        where partner_id = s.partner_id and subscription_id = s.id and status = 'Pending' and created_at < ${before}
        order by event_id limit ${rowsMax}) as q
      where s.disabled_at < ${before} and s.deleted_at is null limit ${rowsMax}`),
  )
}

/** The rows of one partner, where they are still to go, and out of what is owed. Answers how many. */
export async function dropExpired(tx: Tx, rows: readonly Expired[], before: Date): Promise<number> {
  const [partnerId = ''] = rows.map((row) => row.partnerId)
  const subscriptionIds = [...new Set(rows.map((row) => row.subscriptionId))]
  await tx.run(sql`
    select 1 from delivery.endpoint_queues where partner_id = ${partnerId} and subscription_id = any(${subscriptionIds}::uuid[])
    order by subscription_id for update`)
  const gone = await tx.rows<{ subscriptionId: string; count: bigint }>(
    unprepared(sql`
      with gone as (
        delete from delivery.queue q
        using unnest(${rows.map((row) => row.subscriptionId)}::uuid[], ${rows.map((row) => row.eventId)}::uuid[]) as w (s, e)
        where q.partner_id = ${partnerId} and q.subscription_id = w.s and q.event_id = w.e
          and (q.held_at < ${before} or exists (select 1 from delivery.subscriptions s
            where s.partner_id = ${partnerId} and s.id = w.s and s.disabled_at < ${before}))
        returning q.subscription_id)
      select subscription_id, count(*) as count from gone group by subscription_id`),
  )
  await subtractOwed(
    tx,
    gone.map((row) => ({ partnerId, ...row })),
  )
  return gone.reduce((sum, row) => sum + Number(row.count), 0)
}

export type Dropped = SubscriptionKey & { readonly count: bigint }

/** What was delivered of events between two ids, by subscription: a week's worth, of everybody. */
export function deliveredBetween(tx: Tx, from: string, to: string): Promise<readonly Dropped[]> {
  return tx.rows<Dropped>(
    unprepared(sql`
      select partner_id, subscription_id, count(*) as count from delivery.deliveries
      where event_id >= ${from} and event_id < ${to} group by partner_id, subscription_id`),
  )
}

/** Deliveries that the default partition caught, by subscription: up to `rowsMax` of events before an id. */
export function deleteDelivered(tx: Tx, before: string, rowsMax: number): Promise<readonly Dropped[]> {
  return tx.rows<Dropped>(
    unprepared(sql`
      with gone as (
        delete from webhooks.deliveries_default where ctid = any(array(
          select ctid from webhooks.deliveries_default where event_id < ${before} limit ${rowsMax}))
        returning partner_id, subscription_id)
      select partner_id, subscription_id, count(*) as count from gone group by partner_id, subscription_id`),
  )
}

/** Due-work scan: the oldest event that an endpoint is owed. One probe of an index for each endpoint queue, however much it is. */
export async function oldestOwed(tx: Tx): Promise<string | undefined> {
  const row = await tx.row<{ eventId: string }>(
    unprepared(sql`
      select q.event_id from delivery.endpoint_queues l cross join lateral (
        select event_id from delivery.queue where partner_id = l.partner_id and subscription_id = l.subscription_id
        order by event_id limit 1) as q
      order by q.event_id limit 1`),
  )
  return row?.eventId
}

/** Due-work scan: the earliest time from which a recovery under way still needs events. */
export async function earliestRecovery(tx: Tx): Promise<Date | undefined> {
  const row = await tx.row<{ since: Date }>(sql`
    select since from delivery.recoveries where status = 'Running' order by since limit 1`)
  return row?.since
}
