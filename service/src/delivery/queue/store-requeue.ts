/**
 * SQL of what is made due again: by enabling, by redelivery, by recovery. The caller has locked the endpoint queue, so that a
 * delivery under way can only move from the queue to the delivered, never back.
 */
import { sql, type Tx } from '../../postgres/index.ts'
import type { SubscriptionKey } from '../management/store-subscriptions.ts'

/** Of these events: held ones are due again. Answers how many. */
export function makeHeldDue(
  tx: Tx,
  { partnerId, subscriptionId }: SubscriptionKey,
  eventIds: readonly string[],
  now: Date,
): Promise<number> {
  return tx.run(sql`
    update delivery.queue set status = 'Pending', held_at = null, failures = 0, due_at = ${now}
    where partner_id = ${partnerId} and subscription_id = ${subscriptionId}
      and event_id = any(${eventIds}::uuid[]) and status = 'Held'`)
}

/** False where it is not in the queue: it was delivered, or was never there. */
export async function hurry(
  tx: Tx,
  { partnerId, subscriptionId }: SubscriptionKey,
  eventId: string,
  now: Date,
): Promise<boolean> {
  const changed = await tx.run(sql`
    update delivery.queue set status = 'Pending', held_at = null, failures = 0, due_at = ${now}
    where partner_id = ${partnerId} and subscription_id = ${subscriptionId} and event_id = ${eventId}`)
  return changed === 1
}

export type Moved = {
  readonly sequence: bigint
  readonly wireEventId: string
  readonly type: string
  readonly reference: string
  readonly attemptCount: number
  readonly createdAt: Date
}

/** Takes a delivery out of the delivered; the attempt that it carries stays in the log. */
export function takeDelivered(
  tx: Tx,
  { partnerId, subscriptionId }: SubscriptionKey,
  eventId: string,
): Promise<Moved | undefined> {
  return tx.row<Moved>(sql`
    with gone as (
      delete from delivery.deliveries
      where partner_id = ${partnerId} and subscription_id = ${subscriptionId} and event_id = ${eventId} returning *),
    kept as (
      insert into delivery.attempts (partner_id, subscription_id, event_id, attempt, started_at, duration_ms, status,
        response_body, address)
      select partner_id, subscription_id, event_id, attempt_count, started_at, duration_ms, status, response_body,
        address from gone where started_at is not null)
    select sequence, wire_event_id, type, reference, attempt_count, created_at from gone`)
}

export type QueueInsert = Moved & { readonly eventId: string }

/** Due at `now`; what is in the queue already stays as it is. Answers how many went in. */
export function insertDue(
  tx: Tx,
  { partnerId, subscriptionId }: SubscriptionKey,
  rows: readonly QueueInsert[],
  now: Date,
): Promise<number> {
  const column = <K extends keyof QueueInsert>(name: K) => rows.map((row) => row[name])
  return tx.run(sql`
    insert into delivery.queue (partner_id, subscription_id, event_id, sequence, wire_event_id, type, reference,
      attempt_count, created_at, status, due_at, failures, ordered)
    select ${partnerId}::uuid, ${subscriptionId}::uuid, q.*, 'Pending', ${now}::timestamptz, 0,
      (select s.ordered from delivery.subscriptions s where s.partner_id = ${partnerId} and s.id = ${subscriptionId})
    from unnest(
      ${column('eventId')}::uuid[], ${column('sequence')}::bigint[], ${column('wireEventId')}::uuid[],
      ${column('type')}::text[], ${column('reference')}::text[], ${column('attemptCount')}::integer[],
      ${column('createdAt')}::timestamptz[]) as q
    on conflict (partner_id, subscription_id, event_id) do nothing`)
}
