/** SQL of the endpoint queues that workers hold. Several are locked in the order of their subscriptions' ids, everywhere. */
import { ofOnePartner, ofPartners, unprepared, sql, type Tx } from '../../postgres/index.ts'
import type { Health } from './health.ts'
import type { SubscriptionKey } from '../management/store-subscriptions.ts'

const healthColumns = sql`paused_until, failures, failing_since, probe_ms, slow_start, noticed`

const partnersOf = (keys: readonly SubscriptionKey[]) => keys.map((key) => key.partnerId)
const idsOf = (keys: readonly SubscriptionKey[]) => keys.map((key) => key.subscriptionId)

/**
 * Due-work scan: endpoint queues that have something due and that nobody else holds, longest waiting first. `mine`: held by this
 * worker, and somebody has woken them.
 */
export function dueEndpointQueues(
  tx: Tx,
  workerId: string,
  now: Date,
  endpointQueuesMax: number,
): Promise<readonly (SubscriptionKey & { readonly mine: boolean })[]> {
  return tx.rows(
    unprepared(sql`
      select partner_id, subscription_id, coalesce(lease_id = ${workerId}, false) as mine from delivery.endpoint_queues
      where due_at <= ${now} and (lease_until is null or lease_until <= ${now} or lease_id = ${workerId})
      order by due_at limit ${endpointQueuesMax}`),
  )
}

/**
 * Leases endpoint queues that nobody holds and that do not rest. While it is held a endpoint queue is due when its lease ends, so that a dead
 * worker's endpoint queues are found like any others; anything earlier means that somebody has woken it.
 */
export function claimEndpointQueues(
  tx: Tx,
  keys: readonly SubscriptionKey[],
  workerId: string,
  now: Date,
  until: Date,
): Promise<readonly (SubscriptionKey & Health)[]> {
  const whose = ofPartners(partnersOf(keys))
  return tx.rows(sql`
    update delivery.endpoint_queues set lease_id = ${workerId}, lease_until = ${until}, due_at = ${until}
    where ${whose} and subscription_id = any(array(
      select subscription_id from delivery.endpoint_queues
      where ${whose} and subscription_id = any(${idsOf(keys)}::uuid[])
        and (lease_until is null or lease_until <= ${now}) and (paused_until is null or paused_until <= ${now})
      order by subscription_id for update skip locked))
    returning partner_id, subscription_id, ${healthColumns}`)
}

/** Answers those that are still held. One whose lease had ended may have been woken, and looks the same: it stays due. */
export async function renewEndpointQueues(
  tx: Tx,
  keys: readonly SubscriptionKey[],
  workerId: string,
  now: Date,
  until: Date,
): Promise<readonly string[]> {
  const whose = ofPartners(partnersOf(keys))
  const rows = await tx.rows<{ subscriptionId: string }>(sql`
    update delivery.endpoint_queues set lease_until = ${until},
      due_at = case when due_at < lease_until or lease_until <= ${now} then due_at else ${until} end
    where ${whose} and subscription_id = any(array(
      select subscription_id from delivery.endpoint_queues
      where ${whose} and subscription_id = any(${idsOf(keys)}::uuid[]) and lease_id = ${workerId}
      order by subscription_id for update))
    returning subscription_id`)
  return rows.map((row) => row.subscriptionId)
}

/** The worker has heard that somebody woke these, and looks. Answers their state, which may have been changed as well. */
export function hearEndpointQueues(
  tx: Tx,
  keys: readonly SubscriptionKey[],
  workerId: string,
): Promise<readonly (SubscriptionKey & Health)[]> {
  const whose = ofPartners(partnersOf(keys))
  return tx.rows(sql`
    update delivery.endpoint_queues set due_at = lease_until
    where ${whose} and subscription_id = any(array(
      select subscription_id from delivery.endpoint_queues
      where ${whose} and subscription_id = any(${idsOf(keys)}::uuid[]) and lease_id = ${workerId}
      order by subscription_id for update))
    returning partner_id, subscription_id, ${healthColumns}`)
}

export type Release = SubscriptionKey & {
  /** What the worker knows of: new rows up to this number, */
  readonly after: bigint
  /** and the time at which one is due again. */
  readonly dueAt: Date | null
  /** Nothing can be attempted: only who changes that wakes the endpoint queue. */
  readonly closed: boolean
}

/** Locks the endpoint queues that are still held: whoever was waking one has committed after that, and his rows are seen. */
export async function lockHeld(tx: Tx, keys: readonly SubscriptionKey[], workerId: string): Promise<readonly string[]> {
  const rows = await tx.rows<{ subscriptionId: string }>(sql`
    select subscription_id from delivery.endpoint_queues
    where ${ofPartners(partnersOf(keys))} and subscription_id = any(${idsOf(keys)}::uuid[]) and lease_id = ${workerId}
    order by subscription_id for update`)
  return rows.map((row) => row.subscriptionId)
}

/** Free again; due when there is something to do. The endpoint queues are locked. */
export async function releaseEndpointQueues(tx: Tx, rows: readonly Release[], now: Date): Promise<void> {
  await tx.run(
    unprepared(sql`
      update delivery.endpoint_queues l set lease_id = null, lease_until = null,
        due_at = case when w.c then null when l.due_at < l.lease_until or l.lease_until <= ${now} then l.due_at
          when (select true from delivery.queue q where q.partner_id = w.p and q.subscription_id = w.s
            and q.status = 'Pending' and q.due_at is null and q.sequence > w.a limit 1)
          then greatest(l.paused_until, ${now}::timestamptz)
          when w.d is not null then greatest(w.d, l.paused_until) end
      from unnest(${partnersOf(rows)}::uuid[], ${idsOf(rows)}::uuid[], ${rows.map((row) => row.after)}::bigint[],
        ${rows.map((row) => row.dueAt)}::timestamptz[], ${rows.map((row) => row.closed)}::boolean[]) as w (p, s, a, d, c)
      where l.partner_id = w.p and l.subscription_id = w.s and ${ofOnePartner(partnersOf(rows), sql`l.partner_id`)}`),
  )
}

/** What attempts have taught about endpoint queues that are still held. Locks them in order first. */
export async function saveHealth(
  tx: Tx,
  workerId: string,
  rows: readonly (SubscriptionKey & { readonly health: Health })[],
): Promise<void> {
  await lockHeld(tx, rows, workerId)
  const healths = rows.map((row) => row.health)
  await tx.run(sql`
    update delivery.endpoint_queues l set paused_until = w.u, failures = w.f, failing_since = w.i, probe_ms = w.m,
      slow_start = w.l, noticed = w.n
    from unnest(${partnersOf(rows)}::uuid[], ${idsOf(rows)}::uuid[], ${healths.map((h) => h.pausedUntil)}::timestamptz[],
      ${healths.map((h) => h.failures)}::integer[], ${healths.map((h) => h.failingSince)}::timestamptz[],
      ${healths.map((h) => h.probeMs)}::integer[], ${healths.map((h) => h.slowStart)}::integer[],
      ${healths.map((h) => h.noticed)}::text[]) as w (p, s, u, f, i, m, l, n)
    where l.partner_id = w.p and l.subscription_id = w.s and l.lease_id = ${workerId}
      and ${ofOnePartner(partnersOf(rows), sql`l.partner_id`)}`)
}

export type Fanned = SubscriptionKey & { readonly count: number }

/** In the order of their ids. */
export function lockEndpointQueues(tx: Tx, keys: readonly SubscriptionKey[]): void {
  tx.later(sql`
    select 1 from delivery.endpoint_queues
    where ${ofPartners(partnersOf(keys))} and subscription_id = any(${idsOf(keys)}::uuid[])
    order by subscription_id for update`)
}

/**
 * So many more are owed, and the endpoint queues are due, not before their rest is over. One that is held by `workerId` is not
 * touched in that: its holder is told directly. The endpoint queues are locked.
 */
export function addOwed(
  tx: Tx,
  rows: readonly (Fanned & { readonly wake: boolean })[],
  workerId: string | null,
  now: Date,
): void {
  tx.later(sql`
    update delivery.endpoint_queues l set owed = l.owed + w.n,
      due_at = case when not w.k or (l.lease_id = ${workerId}::uuid and l.lease_until > ${now}) then l.due_at
        else least(l.due_at, greatest(${now}::timestamptz, l.paused_until)) end
    from unnest(${partnersOf(rows)}::uuid[], ${idsOf(rows)}::uuid[], ${rows.map((row) => row.count)}::bigint[],
      ${rows.map((row) => row.wake)}::boolean[]) as w (p, s, n, k)
    where l.partner_id = w.p and l.subscription_id = w.s and ${ofOnePartner(partnersOf(rows), sql`l.partner_id`)}`)
}

/** Frees whatever is held. Only where no worker is alive. */
export async function releaseAll(tx: Tx, partnerId: string, now: Date): Promise<void> {
  await tx.run(sql`
    update delivery.endpoint_queues set lease_id = null, lease_until = null, due_at = ${now}
    where partner_id = ${partnerId} and subscription_id = any(array(
      select subscription_id from delivery.endpoint_queues
      where partner_id = ${partnerId} and lease_id is not null order by subscription_id for update))`)
}
