/**
 * SQL that makes deliveries due again, for enabling, redelivery and recovery. The caller has locked the endpoint queue. So
 * an attempt in flight can move its delivery from the queue to the deliveries, but nothing moves it back meanwhile.
 */
import { insertBy, type RowOf, sql, type Tx, unprepared } from '../../postgres/index.ts'
import type { SubscriptionKey } from '../management/store-subscriptions.ts'

/**
 * Makes held deliveries due, and those that wait for a retry, up to `rowsMax` in their order. The schedule of each starts
 * over. Returns how many.
 */
export function makeDue(tx: Tx, key: SubscriptionKey, now: Date, rowsMax: number): Promise<number> {
  const { partnerId, subscriptionId } = key
  return tx.run(
    unprepared(sql`/* delivery.makeDue */
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

/** Makes the held deliveries of these events due. Returns how many. */
export function makeHeldDue(
  tx: Tx,
  { partnerId, subscriptionId }: SubscriptionKey,
  eventIds: readonly string[],
  now: Date,
): Promise<number> {
  return tx.run(sql`/* delivery.makeHeldDue */
    update delivery.queue set status = 'Pending', held_at = null, failures = 0, due_at = ${now}
    where partner_id = ${partnerId} and subscription_id = ${subscriptionId}
      and event_id = any(${eventIds}::uuid[]) and status = 'Held'`)
}

/** Makes one delivery due. False if it is not in the queue: it was delivered, or it never was in the queue. */
export async function hurry(
  tx: Tx,
  { partnerId, subscriptionId }: SubscriptionKey,
  eventId: string,
  now: Date,
): Promise<boolean> {
  const changed = await tx.run(sql`/* delivery.hurry */
    update delivery.queue set status = 'Pending', held_at = null, failures = 0, due_at = ${now}
    where partner_id = ${partnerId} and subscription_id = ${subscriptionId} and event_id = ${eventId}`)
  return changed === 1
}

export type RemovedDelivery = {
  readonly sequence: bigint
  readonly wireEventId: string
  readonly type: string
  readonly reference: string
  readonly attemptCount: number
  readonly createdAt: Date
}

/** Removes a row from the deliveries. The attempt that its row holds moves to the attempts. */
export function takeDelivered(
  tx: Tx,
  { partnerId, subscriptionId }: SubscriptionKey,
  eventId: string,
): Promise<RemovedDelivery | undefined> {
  return tx.row<RemovedDelivery>(sql`/* delivery.takeDelivered */
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

export type QueueInsert = RemovedDelivery & { readonly eventId: string }

const types = {
  partnerId: 'uuid',
  subscriptionId: 'uuid',
  eventId: 'uuid',
  sequence: 'bigint',
  wireEventId: 'uuid',
  type: 'text',
  reference: 'text',
  attemptCount: 'integer',
  createdAt: 'timestamptz',
  status: 'text',
  dueAt: 'timestamptz',
  failures: 'integer',
  ordered: 'boolean',
} as const
type QueuedRow = RowOf<typeof types, { status: 'Pending' }>

const newRows = insertBy<QueuedRow>(types, [['partnerId', 'subscriptionId', 'status', 'dueAt', 'failures', 'ordered']])

/** Inserts rows that are due at `now`. Rows that are in the queue already do not change. Returns how many were inserted. */
export async function insertDue(
  tx: Tx,
  { partnerId, subscriptionId }: SubscriptionKey,
  inserts: readonly QueueInsert[],
  now: Date,
): Promise<number> {
  if (inserts.length === 0) return 0
  const subscription = await tx.row<{ readonly ordered: boolean }>(sql`/* delivery.insertDue */
    select ordered from delivery.subscriptions where partner_id = ${partnerId} and id = ${subscriptionId}`)
  const fixed = { partnerId, subscriptionId, status: 'Pending', dueAt: now, failures: 0 } as const
  const rows = inserts.map((row) => ({ ...row, ...fixed, ordered: subscription?.ordered ?? false }))
  return tx.run(sql`/* delivery.insertDue */
    insert into delivery.queue (partner_id, subscription_id, event_id, sequence, wire_event_id, type, reference,
      attempt_count, created_at, status, due_at, failures, ordered) ${newRows(tx, rows)}
    on conflict (partner_id, subscription_id, event_id) do nothing`)
}
