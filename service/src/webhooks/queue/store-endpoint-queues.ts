/**
 * SQL of `delivery.endpoint_queues`, one row for each subscription. Every statement that changes such a row is in this
 * file. A transaction that locks several rows locks them in the order of their subscription ids, so that they cannot deadlock.
 */
import {
  columnValues,
  dueWork,
  ofOnePartner,
  ofPartners,
  unprepared,
  type Sql,
  sql,
  type Tx,
} from '../../postgres/index.ts'
import type { EndpointHealth } from './health.ts'
import type { SubscriptionKey } from '../management/store-subscriptions.ts'

const healthColumns = sql`paused_until, failures, failing_since, probe_ms, slow_start, last_alert`

const partnersOf = (keys: readonly SubscriptionKey[]) => keys.map((key) => key.partnerId)
const idsOf = (keys: readonly SubscriptionKey[]) => keys.map((key) => key.subscriptionId)

export async function insertEndpointQueue(tx: Tx, partnerId: string, subscriptionId: string): Promise<void> {
  await tx.run(sql`/* delivery.insertEndpointQueue */
    insert into delivery.endpoint_queues (partner_id, subscription_id, owed) values (${partnerId}, ${subscriptionId}, 0)`)
}

export async function deleteEndpointQueue(tx: Tx, partnerId: string, subscriptionId: string): Promise<void> {
  await tx.run(sql`/* delivery.deleteEndpointQueue */
    delete from delivery.endpoint_queues where partner_id = ${partnerId} and subscription_id = ${subscriptionId}`)
}

/**
 * Locks the endpoint queue and makes it due, so that a worker sees the changes of the transaction. Returns false if the endpoint
 * queue does not exist.
 */
export async function wakeEndpointQueue(
  tx: Tx,
  partnerId: string,
  subscriptionId: string,
  now: Date,
): Promise<boolean> {
  const changed = await tx.run(sql`/* delivery.wakeEndpointQueue */
    update delivery.endpoint_queues set due_at = least(due_at, ${now}::timestamptz)
    where partner_id = ${partnerId} and subscription_id = ${subscriptionId}`)
  return changed === 1
}

/**
 * Locks the endpoint queue, makes it due and resets its health. Begins a slow start, because all held deliveries become due at once.
 * Returns false if the endpoint queue does not exist.
 */
export async function restartEndpointQueue(
  tx: Tx,
  partnerId: string,
  subscriptionId: string,
  now: Date,
): Promise<boolean> {
  const changed = await tx.run(sql`/* delivery.restartEndpointQueue */
    update delivery.endpoint_queues set due_at = least(due_at, ${now}::timestamptz), paused_until = null, failures = 0,
      failing_since = null, probe_ms = null, slow_start = 1, last_alert = null
    where partner_id = ${partnerId} and subscription_id = ${subscriptionId}`)
  return changed === 1
}

/**
 * Due-work scan: due endpoint queues that no other worker holds, longest waiting first. `isHeld`: this worker holds the endpoint
 * queue, and another transaction has woken it.
 */
export function dueEndpointQueues(
  tx: Tx,
  workerId: string,
  now: Date,
  endpointQueuesMax: number,
): Promise<readonly (SubscriptionKey & { readonly isHeld: boolean })[]> {
  return tx.rows(
    dueWork('finds endpoint queues with due deliveries, without a lock', (whose) =>
      unprepared(sql`/* delivery.dueEndpointQueues */
        select partner_id, subscription_id, coalesce(lease_id = ${workerId}, false) as is_held
        from delivery.endpoint_queues
        where due_at <= ${now} and (lease_until is null or lease_until <= ${now} or lease_id = ${workerId})
          and ${whose()}
        order by due_at limit ${endpointQueuesMax}`),
    ),
  )
}

/** Selects when the next endpoint queue is due. A held endpoint queue is due at the end of its lease. */
export const endpointQueuesDue = (after: Date): Sql =>
  dueWork(
    'reads when the next endpoint queue is due',
    (whose) => sql`/* delivery.endpointQueuesDue */
      select due_at from delivery.endpoint_queues where due_at > ${after} and ${whose()} order by due_at limit 1`,
  )

/**
 * Leases endpoint queues that are free and not resting. A held endpoint queue is due when its lease ends, so that the scan also
 * finds the queues of a dead worker. An earlier `due_at` means that another transaction has woken it.
 */
export function claimEndpointQueues(
  tx: Tx,
  keys: readonly SubscriptionKey[],
  workerId: string,
  now: Date,
  until: Date,
): Promise<readonly (SubscriptionKey & EndpointHealth)[]> {
  const own = ofPartners(partnersOf(keys))
  return tx.rows(sql`/* delivery.claimEndpointQueues */
    update delivery.endpoint_queues set lease_id = ${workerId}, lease_until = ${until}, due_at = ${until}
    where ${own} and subscription_id = any(array(
      select subscription_id from delivery.endpoint_queues
      where ${own} and subscription_id = any(${idsOf(keys)}::uuid[])
        and (lease_until is null or lease_until <= ${now}) and (paused_until is null or paused_until <= ${now})
      order by subscription_id for update skip locked))
    returning partner_id, subscription_id, ${healthColumns}`)
}

/**
 * Renews leases. Returns the ids of endpoint queues that the worker still holds. After the end of a lease, `due_at` does not show
 * whether the endpoint queue was woken, so it stays due.
 */
export async function renewEndpointQueues(
  tx: Tx,
  keys: readonly SubscriptionKey[],
  workerId: string,
  now: Date,
  until: Date,
): Promise<readonly string[]> {
  const own = ofPartners(partnersOf(keys))
  const rows = await tx.rows<{ subscriptionId: string }>(sql`/* delivery.renewEndpointQueues */
    update delivery.endpoint_queues set lease_until = ${until},
      due_at = case when due_at < lease_until or lease_until <= ${now} then due_at else ${until} end
    where ${own} and subscription_id = any(array(
      select subscription_id from delivery.endpoint_queues
      where ${own} and subscription_id = any(${idsOf(keys)}::uuid[]) and lease_id = ${workerId}
      order by subscription_id for update))
    returning subscription_id`)
  return rows.map((row) => row.subscriptionId)
}

/** Clears the wake-ups of held endpoint queues. Returns their health, which the same transaction may have changed. */
export function acknowledgeWakeUps(
  tx: Tx,
  keys: readonly SubscriptionKey[],
  workerId: string,
): Promise<readonly (SubscriptionKey & EndpointHealth)[]> {
  const own = ofPartners(partnersOf(keys))
  return tx.rows(sql`/* delivery.acknowledgeWakeUps */
    update delivery.endpoint_queues set due_at = lease_until
    where ${own} and subscription_id = any(array(
      select subscription_id from delivery.endpoint_queues
      where ${own} and subscription_id = any(${idsOf(keys)}::uuid[]) and lease_id = ${workerId}
      order by subscription_id for update))
    returning partner_id, subscription_id, ${healthColumns}`)
}

export type LeaseRelease = SubscriptionKey & {
  /** The worker has read the new rows up to this number of the feed. */
  readonly readUpTo: bigint
  /** When the next row that the worker has read is due. */
  readonly dueAt: Date | null
  /** True if no delivery can be attempted until a change of the subscription wakes the endpoint queue. */
  readonly closed: boolean
}

/** Locks endpoint queues that the worker still holds. The rows of a concurrent wake-up are visible after it. */
export async function lockHeld(tx: Tx, keys: readonly SubscriptionKey[], workerId: string): Promise<readonly string[]> {
  const rows = await tx.rows<{ subscriptionId: string }>(sql`/* delivery.lockHeld */
    select subscription_id from delivery.endpoint_queues
    where ${ofPartners(partnersOf(keys))} and subscription_id = any(${idsOf(keys)}::uuid[]) and lease_id = ${workerId}
    order by subscription_id for update`)
  return rows.map((row) => row.subscriptionId)
}

/** Ends the leases and sets when the endpoint queues are due next. The caller has locked them (`lockHeld`). */
export async function releaseEndpointQueues(tx: Tx, rows: readonly LeaseRelease[], now: Date): Promise<void> {
  const column = columnValues(rows)
  await tx.run(
    unprepared(sql`/* delivery.releaseEndpointQueues */
      update delivery.endpoint_queues as stored set lease_id = null, lease_until = null,
        due_at = case when input.closed then null
          when stored.due_at < stored.lease_until or stored.lease_until <= ${now} then stored.due_at
          when (select true from delivery.queue as unread where unread.partner_id = input.partner_id
            and ${ofOnePartner(partnersOf(rows), sql`unread.partner_id`)} and unread.subscription_id = input.subscription_id and unread.status = 'Pending' and unread.due_at is null
            and unread.sequence > input.read_up_to limit 1)
          then greatest(stored.paused_until, ${now}::timestamptz)
          when input.due_at is not null then greatest(input.due_at, stored.paused_until) end
      from unnest(${column('partnerId')}::uuid[], ${column('subscriptionId')}::uuid[], ${column('readUpTo')}::bigint[],
        ${column('dueAt')}::timestamptz[], ${column('closed')}::boolean[])
        as input (partner_id, subscription_id, read_up_to, due_at, closed)
      where stored.partner_id = input.partner_id and stored.subscription_id = input.subscription_id
        and ${ofOnePartner(partnersOf(rows), sql`stored.partner_id`)}`),
  )
}

/** Saves the health of endpoint queues that the worker still holds. Locks them in their order first. */
export async function saveHealth(
  tx: Tx,
  workerId: string,
  rows: readonly (SubscriptionKey & { readonly health: EndpointHealth })[],
): Promise<void> {
  await lockHeld(tx, rows, workerId)
  const column = columnValues(rows.map((row) => row.health))
  await tx.run(sql`/* delivery.saveHealth */
    update delivery.endpoint_queues as stored set paused_until = input.paused_until, failures = input.failures,
      failing_since = input.failing_since, probe_ms = input.probe_ms, slow_start = input.slow_start,
      last_alert = input.last_alert
    from unnest(${partnersOf(rows)}::uuid[], ${idsOf(rows)}::uuid[], ${column('pausedUntil')}::timestamptz[],
      ${column('failures')}::integer[], ${column('failingSince')}::timestamptz[], ${column('probeMs')}::integer[],
      ${column('slowStart')}::integer[], ${column('lastAlert')}::text[])
      as input (partner_id, subscription_id, paused_until, failures, failing_since, probe_ms, slow_start, last_alert)
    where stored.partner_id = input.partner_id and stored.subscription_id = input.subscription_id
      and stored.lease_id = ${workerId} and ${ofOnePartner(partnersOf(rows), sql`stored.partner_id`)}`)
}

/** Locks endpoint queues. Sent with the next statement of the transaction. */
export function lockEndpointQueues(tx: Tx, keys: readonly SubscriptionKey[]): void {
  tx.later(sql`/* delivery.lockEndpointQueues */
    select 1 from delivery.endpoint_queues
    where ${ofPartners(partnersOf(keys))} and subscription_id = any(${idsOf(keys)}::uuid[])
    order by subscription_id for update`)
}

type QueueAddition = SubscriptionKey & {
  /** Rows that the transaction adds to the queue. */
  readonly count: number
  /** True if deliveries can be attempted: the endpoint queue becomes due. */
  readonly wake: boolean
}

/**
 * Counts rows that are added to the queue. Makes their endpoint queues due at the end of their rest, except those that `workerId`
 * holds: the caller hands the rows to that worker. The caller has locked the endpoint queues.
 */
export function addOwed(tx: Tx, rows: readonly QueueAddition[], workerId: string | null, now: Date): void {
  const column = columnValues(rows)
  tx.later(sql`/* delivery.addOwed */
    update delivery.endpoint_queues as stored set owed = stored.owed + input.added,
      due_at = case when not input.wake or (stored.lease_id = ${workerId}::uuid and stored.lease_until > ${now})
        then stored.due_at
        else least(stored.due_at, greatest(${now}::timestamptz, stored.paused_until)) end
    from unnest(${column('partnerId')}::uuid[], ${column('subscriptionId')}::uuid[], ${column('count')}::bigint[],
      ${column('wake')}::boolean[]) as input (partner_id, subscription_id, added, wake)
    where stored.partner_id = input.partner_id and stored.subscription_id = input.subscription_id
      and ${ofOnePartner(partnersOf(rows), sql`stored.partner_id`)}`)
}

/** Counts rows that were dropped from the queue or from the deliveries. Locks the endpoint queues in their order first. */
export async function subtractOwed(
  tx: Tx,
  rows: readonly (SubscriptionKey & { readonly count: bigint })[],
): Promise<void> {
  if (rows.length === 0) return
  const column = columnValues(rows)
  await tx.run(sql`/* delivery.subtractOwed */
    select 1 from delivery.endpoint_queues
    where ${ofPartners(partnersOf(rows))} and subscription_id = any(${idsOf(rows)}::uuid[])
    order by subscription_id for update`)
  await tx.run(sql`/* delivery.subtractOwed */
    update delivery.endpoint_queues as stored set owed = stored.owed - input.dropped
    from unnest(${column('partnerId')}::uuid[], ${column('subscriptionId')}::uuid[], ${column('count')}::bigint[])
      as input (partner_id, subscription_id, dropped)
    where stored.partner_id = input.partner_id and stored.subscription_id = input.subscription_id
      and ${ofOnePartner(partnersOf(rows), sql`stored.partner_id`)}`)
}

/** Ends every lease of the partner. Only for a start without live workers. */
export async function releaseAllQueues(tx: Tx, partnerId: string, now: Date): Promise<void> {
  await tx.run(sql`/* delivery.releaseAllQueues */
    update delivery.endpoint_queues set lease_id = null, lease_until = null, due_at = ${now}
    where partner_id = ${partnerId} and subscription_id = any(array(
      select subscription_id from delivery.endpoint_queues
      where partner_id = ${partnerId} and lease_id is not null order by subscription_id for update))`)
}

/** Leases the endpoint queues of a partner to `holderId`. Results of the workers that held them become stale. */
export async function holdAllQueues(tx: Tx, partnerId: string, holderId: string, until: Date): Promise<void> {
  await tx.run(sql`/* delivery.holdAllQueues */
    update delivery.endpoint_queues set lease_id = ${holderId}, lease_until = ${until}, due_at = ${until}
    where partner_id = ${partnerId} and subscription_id = any(array(
      select subscription_id from delivery.endpoint_queues
      where partner_id = ${partnerId} order by subscription_id for update))`)
}

/** Due-work scan: endpoint queues that have pending rows and are never due. Finds rows only if a writer forgot a wake-up. */
export function stuckEndpointQueues(tx: Tx, endpointQueuesMax: number): Promise<readonly SubscriptionKey[]> {
  return tx.rows<SubscriptionKey>(
    dueWork(
      'finds endpoint queues with work that were not woken, without a lock',
      (whose) => sql`/* delivery.stuckEndpointQueues */
      select endpoint_queues.partner_id, endpoint_queues.subscription_id from delivery.endpoint_queues
      join delivery.subscriptions on subscriptions.partner_id = endpoint_queues.partner_id
        and subscriptions.id = endpoint_queues.subscription_id
      where endpoint_queues.due_at is null and subscriptions.status = 'Enabled' and subscriptions.deleted_at is null
        and ${whose(sql`endpoint_queues.partner_id`)}
        and exists (select 1 from delivery.queue where queue.partner_id = endpoint_queues.partner_id
          and queue.subscription_id = endpoint_queues.subscription_id and queue.status = 'Pending')
      limit ${endpointQueuesMax}`,
    ),
  )
}

/** The latest possible ends of a lease and a rest, by the current clock. */
type LatestTimes = { readonly leaseUntil: Date; readonly pausedUntil: Date }

/** Due-work scan: endpoint queues whose lease or rest ends later than the given times. */
export function endpointQueuesEndingLater(
  tx: Tx,
  latest: LatestTimes,
  endpointQueuesMax: number,
): Promise<readonly SubscriptionKey[]> {
  return tx.rows<SubscriptionKey>(
    dueWork(
      'finds leases and rests from before the clock was set back, without a lock',
      (whose) => sql`/* delivery.endpointQueuesEndingLater */
      select partner_id, subscription_id from delivery.endpoint_queues
      where (lease_until > ${latest.leaseUntil} or paused_until > ${latest.pausedUntil}) and ${whose()}
      limit ${endpointQueuesMax}`,
    ),
  )
}

/** Shortens a longer lease to `leaseUntil` and ends a longer rest now. The endpoint queue becomes due when both have ended. */
export async function shortenLeaseAndRest(
  tx: Tx,
  { partnerId, subscriptionId }: SubscriptionKey,
  latest: LatestTimes,
  now: Date,
): Promise<void> {
  const restsTooLong = sql`paused_until > ${latest.pausedUntil}`
  await tx.run(sql`/* delivery.shortenLeaseAndRest */
    update delivery.endpoint_queues set lease_until = least(lease_until, ${latest.leaseUntil}::timestamptz),
      paused_until = case when ${restsTooLong} then null else paused_until end,
      due_at = least(due_at, coalesce(least(lease_until, ${latest.leaseUntil}::timestamptz),
        case when ${restsTooLong} then ${now}::timestamptz end))
    where partner_id = ${partnerId} and subscription_id = ${subscriptionId}`)
}
