/** SQL of what partners see and change: endpoint queues, deliveries and attempts. */
import { unprepared, sql, type Tx } from '../../postgres/index.ts'
import type { SubscriptionKey } from '../management/store-subscriptions.ts'

export async function insertEndpointQueue(tx: Tx, partnerId: string, subscriptionId: string): Promise<void> {
  await tx.run(sql`
    insert into delivery.endpoint_queues (partner_id, subscription_id, owed) values (${partnerId}, ${subscriptionId}, 0)`)
}

export async function deleteEndpointQueue(tx: Tx, partnerId: string, subscriptionId: string): Promise<void> {
  await tx.run(sql`
    delete from delivery.endpoint_queues where partner_id = ${partnerId} and subscription_id = ${subscriptionId}`)
}

/** Locks the endpoint queue and makes it due: whatever the transaction goes on to change is looked at soon. False: no endpoint queue. */
export async function wakeEndpointQueue(
  tx: Tx,
  partnerId: string,
  subscriptionId: string,
  now: Date,
): Promise<boolean> {
  const changed = await tx.run(sql`
    update delivery.endpoint_queues set due_at = least(due_at, ${now}::timestamptz)
    where partner_id = ${partnerId} and subscription_id = ${subscriptionId}`)
  return changed === 1
}

/** Due-work scan: endpoint queues that nothing will wake though they have work. Every verb wakes what it changes: finds none. */
export function sleepingEndpointQueues(tx: Tx, endpointQueuesMax: number): Promise<readonly SubscriptionKey[]> {
  return tx.rows<SubscriptionKey>(sql`
    select l.partner_id, l.subscription_id from delivery.endpoint_queues l
    join delivery.subscriptions s on s.partner_id = l.partner_id and s.id = l.subscription_id
    where l.due_at is null and s.status = 'Enabled' and s.deleted_at is null
      and exists (select 1 from delivery.queue d where d.partner_id = l.partner_id
        and d.subscription_id = l.subscription_id and d.status = 'Pending')
    limit ${endpointQueuesMax}`)
}

/** Due-work scan: endpoint queues whose lease or rest ends later than any that may be given. */
export function endpointQueuesFromTheFuture(
  tx: Tx,
  latest: { readonly leaseUntil: Date; readonly pausedUntil: Date },
  endpointQueuesMax: number,
): Promise<readonly SubscriptionKey[]> {
  return tx.rows<SubscriptionKey>(sql`
    select partner_id, subscription_id from delivery.endpoint_queues
    where lease_until > ${latest.leaseUntil} or paused_until > ${latest.pausedUntil} limit ${endpointQueuesMax}`)
}

/** A lease that ends later than `leaseUntil` ends then, and a rest that does now; the endpoint queue is due at the end of both. */
export async function bringToNow(
  tx: Tx,
  { partnerId, subscriptionId }: SubscriptionKey,
  latest: { readonly leaseUntil: Date; readonly pausedUntil: Date },
  now: Date,
): Promise<void> {
  const rests = sql`paused_until > ${latest.pausedUntil}`
  await tx.run(sql`
    update delivery.endpoint_queues set lease_until = least(lease_until, ${latest.leaseUntil}::timestamptz),
      paused_until = case when ${rests} then null else paused_until end,
      due_at = least(due_at, coalesce(least(lease_until, ${latest.leaseUntil}::timestamptz),
        case when ${rests} then ${now}::timestamptz end))
    where partner_id = ${partnerId} and subscription_id = ${subscriptionId}`)
}

/** Held deliveries, and those that wait for a retry, start over and are due: up to `rowsMax`, in order. */
export function makeDue(tx: Tx, key: SubscriptionKey, now: Date, rowsMax: number): Promise<number> {
  const { partnerId, subscriptionId } = key
  return tx.run(
    unprepared(sql`
      update delivery.queue set status = 'Pending', held_at = null, failures = 0, due_at = ${now}
      where partner_id = ${partnerId} and subscription_id = ${subscriptionId} and event_id = any(array(
        (select event_id from delivery.queue
          where partner_id = ${partnerId} and subscription_id = ${subscriptionId} and status = 'Held'
          order by event_id limit ${rowsMax})
        union all
        (select event_id from delivery.queue
          where partner_id = ${partnerId} and subscription_id = ${subscriptionId} and status = 'Pending'
            and due_at > ${now}
          order by due_at desc limit ${rowsMax})
        union all
        (select event_id from delivery.queue
          where partner_id = ${partnerId} and subscription_id = ${subscriptionId} and status = 'Pending'
            and due_at <= ${now} and failures > 0
          order by due_at limit ${rowsMax}) limit ${rowsMax}))`),
  )
}

/**
 * A new beginning: no rest, no open breaker, and a slow start, since all that was held comes at once. Locks the endpoint queue and
 * makes it due. False: no endpoint queue.
 */
export async function restartEndpointQueue(
  tx: Tx,
  partnerId: string,
  subscriptionId: string,
  now: Date,
): Promise<boolean> {
  const changed = await tx.run(sql`
    update delivery.endpoint_queues set due_at = least(due_at, ${now}::timestamptz), paused_until = null, failures = 0,
      failing_since = null, probe_ms = null, slow_start = 1, noticed = null
    where partner_id = ${partnerId} and subscription_id = ${subscriptionId}`)
  return changed === 1
}

export type Reconciliation = {
  readonly subscriptionId: string
  /** Deliveries made for the subscription and not dropped since, counted as they were made and dropped. */
  readonly owed: bigint
  /** What the rows say: the three add up to `owed`. */
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
