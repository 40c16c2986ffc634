/** SQL of what partners read about deliveries: queued and delivered rows as one list, attempts, and counts. */
import { dueWork, noSql, type Sql, sql, type Tx, unprepared } from '../../postgres/index.ts'
import type { DeliveryStatus } from './rules.ts'
import type { SubscriptionKey } from './store-subscriptions.ts'
import type { webhooks } from '@partner-payments/wire'

export type DeliveryRow = {
  readonly eventId: string
  readonly wireEventId: string
  readonly type: string
  readonly reference: string
  readonly status: DeliveryStatus
  readonly dueAt: Date | null
  readonly attemptCount: number
  readonly createdAt: Date
  readonly deliveredAt: Date | null
}

export type ListedDelivery = DeliveryRow & {
  readonly matches: boolean
  /** The last row that the statement examined in its source. */
  readonly last: boolean
}

export type HistoryFilter = {
  readonly statuses: readonly DeliveryStatus[]
  readonly type: string | null
  readonly reference: string | null
  /** A range of event ids: `from` is included, `before` is not. */
  readonly from: string | null
  readonly before: string | null
}

const queuedColumns = sql`event_id, wire_event_id, type, reference, status, due_at, attempt_count, created_at,
  null::timestamptz as delivered_at`
const deliveredColumns = sql`event_id, wire_event_id, type, reference, 'Delivered' as status, null::timestamptz as due_at,
  attempt_count, created_at, delivered_at`

/**
 * Lists deliveries, newest first. Examines up to `examinedMax` queued and as many delivered rows. Returns up to `rowsMax` matches, and
 * the last examined row of each source even if it does not match. A single statement, so that a row that moves between the sources is
 * returned once.
 */
export function listHistory(
  tx: Tx,
  { partnerId, subscriptionId }: SubscriptionKey,
  { statuses, type, reference, from, before }: HistoryFilter,
  examinedMax: number,
  rowsMax: number,
): Promise<readonly ListedDelivery[]> {
  const range = sql`${from === null ? noSql : sql`and event_id >= ${from}::uuid`}
    ${before === null ? noSql : sql`and event_id < ${before}::uuid`}`
  const onlyHeld = !statuses.includes('Pending')
  const sources: Sql[] = []
  if (statuses.some((status) => status !== 'Delivered'))
    sources.push(sql`/* delivery.listHistory */ (select 'queue' as source, ${queuedColumns} from delivery.queue
      where partner_id = ${partnerId} and subscription_id = ${subscriptionId}
        ${onlyHeld ? sql`and status = 'Held'` : noSql} ${range}
      order by event_id desc limit ${examinedMax})`)
  if (statuses.includes('Delivered'))
    sources.push(sql`/* delivery.listHistory */ (select 'delivered' as source, ${deliveredColumns} from delivery.deliveries
      where partner_id = ${partnerId} and subscription_id = ${subscriptionId} ${range}
      order by event_id desc limit ${examinedMax})`)
  const [first, second] = sources
  if (first === undefined) return Promise.resolve([])
  return tx.rows<ListedDelivery>(
    unprepared(sql`/* delivery.listHistory */
    with examined as (${first} ${second === undefined ? noSql : sql`union all ${second}`}),
    compared as (
      select *, row_number() over (partition by source order by event_id desc) = ${examinedMax} as last,
        status = any(${statuses}::text[]) and (${type}::text is null or type = ${type})
          and (${reference}::text is null or reference = ${reference}) as matches
      from examined)
    select event_id, wire_event_id, type, reference, status, due_at, attempt_count, created_at, delivered_at, matches,
      last
    from compared where matches or last order by event_id desc limit ${rowsMax}`),
  )
}

/** Finds a delivery by its event id. The event is in `range`, which contains the ids of one millisecond. */
export function deliveryByWireId(
  tx: Tx,
  { partnerId, subscriptionId }: SubscriptionKey,
  wireEventId: string,
  range: { readonly from: string; readonly before: string },
): Promise<DeliveryRow | undefined> {
  const where = sql`subscription_id = ${subscriptionId} and event_id >= ${range.from} and event_id < ${range.before}
    and wire_event_id = ${wireEventId}`
  return tx.row<DeliveryRow>(
    unprepared(sql`/* delivery.deliveryByWireId */
      select ${queuedColumns} from delivery.queue where partner_id = ${partnerId} and ${where}
      union all
      select ${deliveredColumns} from delivery.deliveries where partner_id = ${partnerId} and ${where}`),
  )
}

export type AttemptRow = {
  readonly eventId: string
  readonly attempt: number
  readonly startedAt: Date
  readonly durationMs: number
  readonly status: number | null
  readonly error: string | null
  readonly responseBody: string | null
}

/**
 * Condition: the row contains its successful attempt. Early versions stored that attempt in `delivery.attempts` only.
 */
const hasAttempt = sql`started_at is not null`

/** Reads the newest attempts of each delivery, oldest first. The range of ids limits the statement to the weeks of the events. */
export async function listDeliveryAttempts(
  tx: Tx,
  { partnerId, subscriptionId }: SubscriptionKey,
  eventIds: readonly string[],
  eachMax: number,
): Promise<readonly AttemptRow[]> {
  const sorted = eventIds.toSorted()
  const [first, last] = [sorted[0], sorted.at(-1)]
  if (first === undefined || last === undefined) return []
  const rows = await tx.rows<AttemptRow>(sql`/* delivery.listDeliveryAttempts */
    select newest.* from unnest(${eventIds}::uuid[]) as input (event_id)
    cross join lateral (
      (select event_id, attempt, started_at, duration_ms, status, error, response_body from delivery.attempts
      where partner_id = ${partnerId} and subscription_id = ${subscriptionId} and event_id = input.event_id
        and event_id between ${first} and ${last}
      order by attempt desc limit ${eachMax})
      union all
      select event_id, attempt_count, started_at, duration_ms, status, null, response_body from delivery.deliveries
      where partner_id = ${partnerId} and subscription_id = ${subscriptionId} and event_id = input.event_id
        and event_id between ${first} and ${last} and ${hasAttempt}
      order by attempt desc limit ${eachMax}) as newest`)
  return rows.toSorted((a, b) => a.attempt - b.attempt)
}

/** Reads the stored event ids of existing deliveries, by event. */
export function publicEventIds(
  tx: Tx,
  { partnerId, subscriptionId }: SubscriptionKey,
  eventIds: readonly string[],
): Promise<readonly { readonly eventId: string; readonly wireEventId: string }[]> {
  const where = sql`subscription_id = ${subscriptionId} and event_id = any(${eventIds}::uuid[])`
  return tx.rows(
    unprepared(sql`/* delivery.publicEventIds */
      select event_id, wire_event_id from delivery.queue where partner_id = ${partnerId} and ${where}
      union all
      select event_id, wire_event_id from delivery.deliveries where partner_id = ${partnerId} and ${where}`),
  )
}

/** Lists the existing deliveries of an event, by subscription. */
export function deliveriesOfEvent(
  tx: Tx,
  partnerId: string,
  eventId: string,
): Promise<readonly { readonly subscriptionId: string; readonly wireEventId: string }[]> {
  return tx.rows(
    unprepared(sql`/* delivery.deliveriesOfEvent */
      select found.subscription_id, found.wire_event_id from delivery.subscriptions subscription
      cross join lateral (
        select subscription_id, wire_event_id from delivery.queue
        where partner_id = ${partnerId} and subscription_id = subscription.id and event_id = ${eventId}
        union
        select subscription_id, wire_event_id from delivery.deliveries
        where partner_id = ${partnerId} and subscription_id = subscription.id and event_id = ${eventId}) as found
      where subscription.partner_id = ${partnerId} and subscription.deleted_at is null order by subscription.id`),
  )
}

type EndpointQueueState = {
  readonly owed: bigint
  readonly failingSince: Date | null
  readonly probeMs: number | null
}

export function endpointQueueState(
  tx: Tx,
  partnerId: string,
  subscriptionId: string,
): Promise<EndpointQueueState | undefined> {
  return tx.row<EndpointQueueState>(sql`/* delivery.endpointQueueState */
    select owed, failing_since, probe_ms from delivery.endpoint_queues
    where partner_id = ${partnerId} and subscription_id = ${subscriptionId}`)
}

export type DeliveryCounts = {
  readonly delivered: bigint
  readonly pending: bigint
  readonly held: bigint
  readonly oldestPendingId: string | null
}

/** Counts deliveries by status. Examines at most `countMax` rows for each of the four results. */
export function countDeliveries(
  tx: Tx,
  { partnerId, subscriptionId }: SubscriptionKey,
  countMax: number,
): Promise<DeliveryCounts | undefined> {
  const ofSubscription = sql`subscription_id = ${subscriptionId}`
  return tx.row<DeliveryCounts>(
    unprepared(sql`/* delivery.countDeliveries */
      select
        (select count(*) from (select from delivery.deliveries
          where partner_id = ${partnerId} and ${ofSubscription} limit ${countMax}) as counted) as delivered,
        (select count(*) from (select from delivery.queue
          where partner_id = ${partnerId} and ${ofSubscription} and status = 'Pending' limit ${countMax}) as counted) as pending,
        (select count(*) from (select from delivery.queue
          where partner_id = ${partnerId} and ${ofSubscription} and status = 'Held' limit ${countMax}) as counted) as held,
        (select event_id from (select event_id, status from delivery.queue
          where partner_id = ${partnerId} and ${ofSubscription} order by event_id limit ${countMax}) as oldest
          where status = 'Pending' order by event_id limit 1) as oldest_pending_id`),
  )
}

export type AttemptOutcome = {
  readonly startedAt: Date
  readonly durationMs: number
  readonly status: number | null
  readonly error: string | null
}

/** Reads the outcomes of the newest `rowsMax` attempts, in the order of their events. */
export function newestAttemptOutcomes(
  tx: Tx,
  { partnerId, subscriptionId }: SubscriptionKey,
  rowsMax: number,
): Promise<readonly AttemptOutcome[]> {
  return tx.rows<AttemptOutcome>(sql`/* delivery.newestAttemptOutcomes */
    (select event_id, attempt, started_at, duration_ms, status, error from delivery.attempts
    where partner_id = ${partnerId} and subscription_id = ${subscriptionId}
    order by event_id desc, attempt desc limit ${rowsMax})
    union all
    (select event_id, attempt_count, started_at, duration_ms, status, null from delivery.deliveries
    where partner_id = ${partnerId} and subscription_id = ${subscriptionId} and ${hasAttempt}
    order by event_id desc limit ${rowsMax})
    order by event_id desc, attempt desc limit ${rowsMax}`)
}

// SQL of recoveries and of the feed. A recovery step locks the partner's row, so that steps of a partner run one at a time.

export type RecoveryRow = {
  readonly id: string
  readonly subscriptionId: string
  readonly since: Date
  readonly until: Date
  readonly status: (typeof webhooks.recoveryStatuses)[number]
  /** The last sequence of the feed that the recovery has examined. */
  readonly afterSequence: bigint
  readonly examined: bigint
  readonly recovered: bigint
  readonly createdAt: Date
  readonly updatedAt: Date
}

const columns = sql`id, subscription_id, since, until, status, after_sequence, examined, recovered, created_at,
  updated_at`

export async function insertRecovery(tx: Tx, partnerId: string, row: RecoveryRow): Promise<void> {
  await tx.run(sql`/* delivery.insertRecovery */
    insert into delivery.recoveries (partner_id, ${columns})
    values (${partnerId}, ${row.id}, ${row.subscriptionId}, ${row.since}, ${row.until}, ${row.status},
      ${row.afterSequence}, ${row.examined}, ${row.recovered}, ${row.createdAt}, ${row.updatedAt})`)
}

export function recoveryById(
  tx: Tx,
  { partnerId, subscriptionId }: SubscriptionKey,
  id: string,
): Promise<RecoveryRow | undefined> {
  return tx.row<RecoveryRow>(sql`/* delivery.recoveryById */
    select ${columns} from delivery.recoveries
    where partner_id = ${partnerId} and subscription_id = ${subscriptionId} and id = ${id}`)
}

/** Lists recoveries older than `afterId`, newest first, up to `rowsMax`. */
export function listRecoveries(
  tx: Tx,
  { partnerId, subscriptionId }: SubscriptionKey,
  afterId: string | null,
  rowsMax: number,
): Promise<readonly RecoveryRow[]> {
  return tx.rows<RecoveryRow>(sql`/* delivery.listRecoveries */
    select ${columns} from delivery.recoveries
    where partner_id = ${partnerId} and subscription_id = ${subscriptionId}
      ${afterId === null ? noSql : sql`and id < ${afterId}`}
    order by id desc limit ${rowsMax}`)
}

export async function runningRecovery(
  tx: Tx,
  { partnerId, subscriptionId }: SubscriptionKey,
): Promise<string | undefined> {
  const row = await tx.row<{ id: string }>(sql`/* delivery.runningRecovery */
    select id from delivery.recoveries
    where partner_id = ${partnerId} and subscription_id = ${subscriptionId} and status = 'Running' limit 1`)
  return row?.id
}

/** Deletes all completed recoveries of a subscription except the newest `keptMax`. */
export async function deleteOldRecoveries(
  tx: Tx,
  { partnerId, subscriptionId }: SubscriptionKey,
  keptMax: number,
): Promise<void> {
  await tx.run(sql`/* delivery.deleteOldRecoveries */
    delete from delivery.recoveries
    where partner_id = ${partnerId} and subscription_id = ${subscriptionId} and status = 'Completed' and id <= (
      select id from delivery.recoveries
      where partner_id = ${partnerId} and subscription_id = ${subscriptionId}
      order by id desc offset ${keptMax} limit 1)`)
}

export async function deleteRecoveries(tx: Tx, { partnerId, subscriptionId }: SubscriptionKey): Promise<void> {
  await tx.run(sql`/* delivery.deleteRecoveries */
    delete from delivery.recoveries where partner_id = ${partnerId} and subscription_id = ${subscriptionId}`)
}

export const recoveriesDue = (after: Date): Sql =>
  dueWork(
    'reads when the oldest running recovery was created',
    (whose) => sql`/* delivery.recoveriesDue */
      select created_at as due_at from delivery.recoveries where status = 'Running' and created_at > ${after} and ${whose()}
      order by created_at limit 1`,
  )

/** Due-work scan: running recoveries, oldest first. */
export function runningRecoveries(
  tx: Tx,
  rowsMax: number,
): Promise<readonly (SubscriptionKey & { readonly id: string })[]> {
  return tx.rows(
    dueWork(
      'finds running recoveries, without a lock',
      (whose) => sql`/* delivery.runningRecoveries */
      select partner_id, subscription_id, id from delivery.recoveries
      where status = 'Running' and ${whose()} order by created_at limit ${rowsMax}`,
    ),
  )
}

/** Returns false if the recovery is no longer at `before`. The transaction must then roll back. */
export async function advanceRecovery(
  tx: Tx,
  partnerId: string,
  before: RecoveryRow,
  next: Pick<RecoveryRow, 'afterSequence' | 'examined' | 'recovered' | 'status' | 'updatedAt'>,
): Promise<boolean> {
  const changed = await tx.run(sql`/* delivery.advanceRecovery */
    update delivery.recoveries set after_sequence = ${next.afterSequence}, examined = ${next.examined},
      recovered = ${next.recovered}, status = ${next.status}, updated_at = ${next.updatedAt}
    where partner_id = ${partnerId} and id = ${before.id} and status = 'Running'
      and after_sequence = ${before.afterSequence}`)
  return changed === 1
}

export type FeedRow = { readonly sequence: bigint; readonly eventId: string }

/** Lists the feed after `afterSequence`, oldest first. */
export function feedAfter(
  tx: Tx,
  partnerId: string,
  afterSequence: bigint,
  rowsMax: number,
): Promise<readonly FeedRow[]> {
  return tx.rows<FeedRow>(sql`/* delivery.feedAfter */
    select sequence, event_id from delivery.feed
    where partner_id = ${partnerId} and sequence > ${afterSequence} order by sequence limit ${rowsMax}`)
}

/** Lists the feed before `beforeSequence`, newest first. */
export function feedBefore(
  tx: Tx,
  partnerId: string,
  beforeSequence: bigint,
  rowsMax: number,
): Promise<readonly FeedRow[]> {
  return tx.rows<FeedRow>(sql`/* delivery.feedBefore */
    select sequence, event_id from delivery.feed
    where partner_id = ${partnerId} and sequence < ${beforeSequence} order by sequence desc limit ${rowsMax}`)
}

/** Reads the first sequence of an event with this id or a later id. Skips the weeks before the id. */
export async function firstSequenceSince(tx: Tx, partnerId: string, eventId: string): Promise<bigint | undefined> {
  const row = await tx.row<{ sequence: bigint }>(sql`/* delivery.firstSequenceSince */
    select sequence from delivery.feed
    where partner_id = ${partnerId} and event_id >= ${eventId} order by sequence limit 1`)
  return row?.sequence
}

/** Reads the oldest sequence in the feed. Undefined if the feed is empty. */
export async function oldestSequence(tx: Tx, partnerId: string): Promise<bigint | undefined> {
  const row = await tx.row<{ sequence: bigint }>(sql`/* delivery.oldestSequence */
    select sequence from delivery.feed where partner_id = ${partnerId} order by sequence limit 1`)
  return row?.sequence
}

/** Reads the last assigned sequence, even if its event is deleted. */
export async function lastSequence(tx: Tx, partnerId: string): Promise<bigint> {
  const row = await tx.row<{ lastSequence: bigint }>(sql`/* delivery.lastSequence */
    select last_sequence from delivery.partners where partner_id = ${partnerId}`)
  return row?.lastSequence ?? 0n
}

export async function deliveredEventIds(
  tx: Tx,
  { partnerId, subscriptionId }: SubscriptionKey,
  eventIds: readonly string[],
): Promise<readonly string[]> {
  const rows = await tx.rows<{ eventId: string }>(sql`/* delivery.deliveredEventIds */
    select event_id from delivery.deliveries
    where partner_id = ${partnerId} and subscription_id = ${subscriptionId} and event_id = any(${eventIds}::uuid[])`)
  return rows.map((row) => row.eventId)
}
