/** SQL of lanes, deliveries and attempts. A lane is locked before its deliveries, always. */
import { noSql, sql, type Tx } from '../../postgres/index.ts'
import type { DeliveryStatus } from './rules.ts'
import type { AttemptResult, Next } from './schedule.ts'
import type { SubscriptionKey } from './store.ts'

export async function insertLane(tx: Tx, partnerId: string, subscriptionId: string): Promise<void> {
  await tx.run(sql`
    insert into webhooks.lanes (partner_id, subscription_id, owed) values (${partnerId}, ${subscriptionId}, 0)`)
}

export async function deleteLane(tx: Tx, partnerId: string, subscriptionId: string): Promise<void> {
  await tx.run(sql`
    delete from webhooks.lanes where partner_id = ${partnerId} and subscription_id = ${subscriptionId}`)
}

/** Locks the lane and makes it due: whatever the transaction goes on to change is looked at soon. False: no lane. */
export async function wakeLane(tx: Tx, partnerId: string, subscriptionId: string, now: Date): Promise<boolean> {
  const changed = await tx.run(sql`
    update webhooks.lanes set due_at = least(due_at, ${now}::timestamptz)
    where partner_id = ${partnerId} and subscription_id = ${subscriptionId}`)
  return changed === 1
}

export async function pauseLane(tx: Tx, { partnerId, subscriptionId }: SubscriptionKey, until: Date): Promise<void> {
  await tx.run(sql`
    update webhooks.lanes set paused_until = greatest(paused_until, ${until}::timestamptz)
    where partner_id = ${partnerId} and subscription_id = ${subscriptionId}`)
}

export async function addOwed(tx: Tx, { partnerId, subscriptionId }: SubscriptionKey, count: number): Promise<void> {
  await tx.run(sql`
    update webhooks.lanes set owed = owed + ${count}
    where partner_id = ${partnerId} and subscription_id = ${subscriptionId}`)
}

/** Due-work scan: the lanes that have waited longest come first. */
export function dueLanes(tx: Tx, now: Date, lanesMax: number): Promise<readonly SubscriptionKey[]> {
  return tx.rows<SubscriptionKey>(sql`
    select partner_id, subscription_id from webhooks.lanes where due_at <= ${now} order by due_at limit ${lanesMax}`)
}

/** Due-work scan: lanes that nothing will wake though they have work. Every verb wakes what it changes: finds none. */
export function sleepingLanes(tx: Tx, lanesMax: number): Promise<readonly SubscriptionKey[]> {
  return tx.rows<SubscriptionKey>(sql`
    select l.partner_id, l.subscription_id from webhooks.lanes l
    join webhooks.subscriptions s on s.partner_id = l.partner_id and s.id = l.subscription_id
    where l.due_at is null and s.status = 'Enabled' and s.deleted_at is null
      and exists (select 1 from webhooks.deliveries d where d.partner_id = l.partner_id
        and d.subscription_id = l.subscription_id and d.status = 'Pending')
    limit ${lanesMax}`)
}

export type Lane = { readonly pausedUntil: Date | null; readonly inFlight: number }

/** Undefined where another worker is claiming from it, or it is gone. */
export async function lockLane(tx: Tx, key: SubscriptionKey, now: Date): Promise<Lane | undefined> {
  const { partnerId, subscriptionId } = key
  const lane = await tx.row<{ pausedUntil: Date | null }>(sql`
    select paused_until from webhooks.lanes
    where partner_id = ${partnerId} and subscription_id = ${subscriptionId} for update skip locked`)
  if (lane === undefined) return undefined
  const leased = await tx.row<{ count: bigint }>(sql`
    select count(*) as count from webhooks.deliveries
    where partner_id = ${partnerId} and subscription_id = ${subscriptionId}
      and lease_id is not null and lease_until > ${now}`)
  return { pausedUntil: lane.pausedUntil, inFlight: Number(leased?.count ?? 0n) }
}

export async function setLaneDue(tx: Tx, key: SubscriptionKey, dueAt: Date | null): Promise<void> {
  await tx.run(sql`
    update webhooks.lanes set due_at = ${dueAt}
    where partner_id = ${key.partnerId} and subscription_id = ${key.subscriptionId}`)
}

/**
 * Due after a claim took what it could: when the next delivery comes due, or when a lease ends, should nobody record.
 * A delivery that is due and was not taken waits for one that is leased (its turn, or room under the cap).
 */
export async function settleLane(tx: Tx, key: SubscriptionKey, now: Date): Promise<void> {
  const { partnerId, subscriptionId } = key
  await tx.run(sql`
    update webhooks.lanes set due_at = least(
      (select min(next_attempt_at) from webhooks.deliveries
        where partner_id = ${partnerId} and subscription_id = ${subscriptionId} and status = 'Pending'
          and next_attempt_at > ${now}),
      (select min(lease_until) from webhooks.deliveries
        where partner_id = ${partnerId} and subscription_id = ${subscriptionId} and lease_id is not null
          and lease_until > ${now}))
    where partner_id = ${partnerId} and subscription_id = ${subscriptionId}`)
}

export type DeliveryInsert = {
  readonly id: string
  readonly subscriptionId: string
  readonly eventId: string
  readonly wireEventId: string
  readonly sequence: bigint
  readonly reference: string
}

export async function insertMessages(
  tx: Tx,
  partnerId: string,
  messages: readonly { readonly id: string; readonly type: string; readonly data: string }[],
): Promise<void> {
  await tx.run(sql`
    insert into webhooks.messages (partner_id, event_id, type, data)
    select ${partnerId}::uuid, m.* from unnest(${messages.map((m) => m.id)}::uuid[], ${messages.map((m) => m.type)}::text[],
      ${messages.map((m) => m.data)}::text[]) as m`)
}

export async function insertDeliveries(
  tx: Tx,
  partnerId: string,
  rows: readonly DeliveryInsert[],
  now: Date,
): Promise<void> {
  await tx.run(sql`
    insert into webhooks.deliveries (partner_id, id, subscription_id, event_id, wire_event_id, sequence, reference,
      status, attempt_count, failures, next_attempt_at, created_at)
    select ${partnerId}::uuid, d.*, 'Pending', 0, 0, ${now}::timestamptz, ${now}::timestamptz from unnest(
      ${rows.map((r) => r.id)}::uuid[], ${rows.map((r) => r.subscriptionId)}::uuid[],
      ${rows.map((r) => r.eventId)}::uuid[], ${rows.map((r) => r.wireEventId)}::uuid[],
      ${rows.map((r) => r.sequence)}::bigint[], ${rows.map((r) => r.reference)}::text[]) as d`)
}

export type Claimed = {
  readonly id: string
  readonly eventId: string
  readonly data: string
  readonly sequence: bigint
}

/**
 * Leases up to `rowsMax` due deliveries, in order. One waits while an earlier one of its reference was not attempted
 * yet or is being attempted; after its first failure the earlier one no longer stands before the later ones. That is
 * asked by a subquery with a limit, which PostgreSQL probes row by row: as `not exists` it became an anti join over the
 * whole queue, and a claim from 200,000 rows did not end within 15 s.
 */
export async function claim(
  tx: Tx,
  { partnerId, subscriptionId }: SubscriptionKey,
  lease: { readonly id: string; readonly until: Date },
  now: Date,
  rowsMax: number,
): Promise<readonly Claimed[]> {
  const rows = await tx.rows<Claimed>(sql`
    update webhooks.deliveries u set lease_id = ${lease.id}, lease_until = ${lease.until}
    from webhooks.messages m
    where u.partner_id = ${partnerId} and m.partner_id = ${partnerId} and m.event_id = u.event_id
      and u.id = any(array(
        select d.id from webhooks.deliveries d
        where d.partner_id = ${partnerId} and d.subscription_id = ${subscriptionId} and d.status = 'Pending'
          and d.next_attempt_at <= ${now} and (d.lease_until is null or d.lease_until <= ${now})
          and (select e.id from webhooks.deliveries e
            where e.partner_id = ${partnerId} and e.subscription_id = ${subscriptionId} and e.status = 'Pending'
              and e.reference = d.reference and e.sequence < d.sequence
              and (e.failures = 0 or e.lease_until > ${now}) limit 1) is null
        order by d.next_attempt_at, d.sequence limit ${rowsMax} for update skip locked))
    returning u.id, u.wire_event_id as event_id, m.data, u.sequence`)
  return rows.toSorted((a, b) => (a.sequence < b.sequence ? -1 : 1))
}

type Leased = { readonly partnerId: string; readonly deliveryId: string; readonly leaseId: string }

/** Undefined where the lease is no longer held: somebody else has the delivery, or had it. */
export function lockLeased(
  tx: Tx,
  { partnerId, deliveryId, leaseId }: Leased,
): Promise<{ readonly attemptCount: number; readonly failures: number } | undefined> {
  return tx.row(sql`
    select attempt_count, failures from webhooks.deliveries
    where partner_id = ${partnerId} and id = ${deliveryId} and lease_id = ${leaseId} for no key update`)
}

export async function recordNext(tx: Tx, partnerId: string, deliveryId: string, next: Next): Promise<void> {
  await tx.run(sql`
    update webhooks.deliveries set status = ${next.status}, attempt_count = attempt_count + 1,
      failures = ${next.failures}, next_attempt_at = ${next.nextAttemptAt}, lease_id = null, lease_until = null
    where partner_id = ${partnerId} and id = ${deliveryId}`)
}

export async function insertAttempt(
  tx: Tx,
  partnerId: string,
  deliveryId: string,
  attempt: number,
  result: AttemptResult,
): Promise<void> {
  await tx.run(sql`
    insert into webhooks.attempts
      (partner_id, delivery_id, attempt, started_at, duration_ms, status, error, response_body, address)
    values (${partnerId}, ${deliveryId}, ${attempt}, ${result.startedAt}, ${result.durationMs},
      ${result.status ?? null}, ${result.error ?? null}, ${result.responseBody ?? null}, ${result.address ?? null})`)
}

export async function releaseLease(tx: Tx, { partnerId, deliveryId, leaseId }: Leased): Promise<boolean> {
  const changed = await tx.run(sql`
    update webhooks.deliveries set lease_id = null, lease_until = null
    where partner_id = ${partnerId} and id = ${deliveryId} and lease_id = ${leaseId}`)
  return changed === 1
}

/** In the order of their ids, as every verb locks several lanes. */
export async function leasedSubscriptions(tx: Tx, partnerId: string): Promise<readonly string[]> {
  const rows = await tx.rows<{ subscriptionId: string }>(sql`
    select distinct subscription_id from webhooks.deliveries
    where partner_id = ${partnerId} and lease_id is not null order by subscription_id`)
  return rows.map((row) => row.subscriptionId)
}

export async function releaseLeases(tx: Tx, { partnerId, subscriptionId }: SubscriptionKey): Promise<void> {
  await tx.run(sql`
    update webhooks.deliveries set lease_id = null, lease_until = null
    where partner_id = ${partnerId} and subscription_id = ${subscriptionId} and lease_id is not null`)
}

/** Held deliveries, and those that wait for a retry, start over and are due: up to `rowsMax`, in order. */
export function makeDue(tx: Tx, key: SubscriptionKey, now: Date, rowsMax: number): Promise<number> {
  const { partnerId, subscriptionId } = key
  return tx.run(sql`
    update webhooks.deliveries set status = 'Pending', failures = 0, next_attempt_at = ${now}
    where partner_id = ${partnerId} and id = any(array(
      select id from webhooks.deliveries
      where partner_id = ${partnerId} and subscription_id = ${subscriptionId} and status <> 'Delivered'
        and lease_id is null and (status = 'Held' or failures > 0)
      order by sequence limit ${rowsMax}))`)
}

export type DeliveryRow = {
  readonly id: string
  readonly eventId: string
  readonly eventType: string
  readonly reference: string
  readonly status: DeliveryStatus
  readonly attemptCount: number
  readonly nextAttemptAt: Date | null
  readonly createdAt: Date
}

/** Newest first, up to `rowsMax`, from behind `afterId`. */
export function listDeliveries(
  tx: Tx,
  { partnerId, subscriptionId }: SubscriptionKey,
  statuses: readonly DeliveryStatus[],
  afterId: string | null,
  rowsMax: number,
): Promise<readonly DeliveryRow[]> {
  return tx.rows<DeliveryRow>(sql`
    select d.id, d.wire_event_id as event_id, m.type as event_type, d.reference, d.status, d.attempt_count,
      d.next_attempt_at, d.created_at
    from webhooks.deliveries d join webhooks.messages m on m.partner_id = ${partnerId} and m.event_id = d.event_id
    where d.partner_id = ${partnerId} and d.subscription_id = ${subscriptionId}
      and d.status = any(${statuses}::text[]) ${afterId === null ? noSql : sql`and d.id < ${afterId}`}
    order by d.id desc limit ${rowsMax}`)
}

export type AttemptRow = {
  readonly deliveryId: string
  readonly attempt: number
  readonly startedAt: Date
  readonly durationMs: number
  readonly status: number | null
  readonly error: string | null
  readonly responseBody: string | null
}

export function attemptsOf(tx: Tx, partnerId: string, deliveryIds: readonly string[]): Promise<readonly AttemptRow[]> {
  return tx.rows<AttemptRow>(sql`
    select delivery_id, attempt, started_at, duration_ms, status, error, response_body from webhooks.attempts
    where partner_id = ${partnerId} and delivery_id = any(${deliveryIds}::uuid[]) order by delivery_id, attempt`)
}

export type Reconciliation = {
  readonly subscriptionId: string
  /** Deliveries ever made for the subscription, counted as they were made. */
  readonly owed: bigint
  /** What the rows say: the three add up to `owed`. */
  readonly delivered: bigint
  readonly pending: bigint
  readonly held: bigint
}

export function reconcile(tx: Tx, partnerId: string): Promise<readonly Reconciliation[]> {
  return tx.rows<Reconciliation>(sql`
    select l.subscription_id, l.owed,
      count(d.id) filter (where d.status = 'Delivered') as delivered,
      count(d.id) filter (where d.status = 'Pending' and s.status = 'Enabled') as pending,
      count(d.id) filter (where d.status = 'Held' or (d.status = 'Pending' and s.status = 'Disabled')) as held
    from webhooks.lanes l
    join webhooks.subscriptions s on s.partner_id = ${partnerId} and s.id = l.subscription_id
    left join webhooks.deliveries d on d.partner_id = ${partnerId} and d.subscription_id = l.subscription_id
    where l.partner_id = ${partnerId}
    group by l.subscription_id, l.owed order by l.subscription_id`)
}
