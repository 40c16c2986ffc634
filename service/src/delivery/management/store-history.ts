/** SQL of what partners read about deliveries: queue and delivered as one list, attempts, counts. */
import { noSql, unprepared, type Sql, sql, type Tx } from '../../postgres/index.ts'
import type { DeliveryStatus } from './rules.ts'
import type { SubscriptionKey } from './store-subscriptions.ts'

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

export type Listed = DeliveryRow & {
  readonly matches: boolean
  /** Nothing below was looked at in its source. */
  readonly last: boolean
}

export type HistoryFilter = {
  readonly statuses: readonly DeliveryStatus[]
  readonly type: string | null
  readonly reference: string | null
  /** Of the events, as ids: from the first (included) to the second (not). */
  readonly from: string | null
  readonly before: string | null
}

const queued = sql`event_id, wire_event_id, type, reference, status, due_at, attempt_count, created_at,
  null::timestamptz as delivered_at`
const delivered = sql`event_id, wire_event_id, type, reference, 'Delivered' as status, null::timestamptz as due_at,
  attempt_count, created_at, delivered_at`

/**
 * Newest first. Of queue and delivered each, `examinedMax` rows are looked at; answers up to `rowsMax` of those that
 * match, with the last one looked at among them whether or not it matches. One statement, so that a row that moves from
 * the one to the other meanwhile is seen once.
 */
export function listHistory(
  tx: Tx,
  { partnerId, subscriptionId }: SubscriptionKey,
  { statuses, type, reference, from, before }: HistoryFilter,
  examinedMax: number,
  rowsMax: number,
): Promise<readonly Listed[]> {
  const range = sql`${from === null ? noSql : sql`and event_id >= ${from}::uuid`}
    ${before === null ? noSql : sql`and event_id < ${before}::uuid`}`
  const onlyHeld = !statuses.includes('Pending')
  const sources: readonly Sql[] = [
    ...(statuses.some((status) => status !== 'Delivered')
      ? [
          sql`(select 'queue' as source, ${queued} from delivery.queue
            where partner_id = ${partnerId} and subscription_id = ${subscriptionId}
              ${onlyHeld ? sql`and status = 'Held'` : noSql} ${range}
            order by event_id desc limit ${examinedMax})`,
        ]
      : []),
    ...(statuses.includes('Delivered')
      ? [
          sql`(select 'delivered' as source, ${delivered} from delivery.deliveries
            where partner_id = ${partnerId} and subscription_id = ${subscriptionId} ${range}
            order by event_id desc limit ${examinedMax})`,
        ]
      : []),
  ]
  const [first, second] = sources
  if (first === undefined) return Promise.resolve([])
  return tx.rows<Listed>(
    unprepared(sql`
    with examined as (${first} ${second === undefined ? noSql : sql`union all ${second}`}),
    judged as (
      select *, row_number() over (partition by source order by event_id desc) = ${examinedMax} as last,
        status = any(${statuses}::text[]) and (${type}::text is null or type = ${type})
          and (${reference}::text is null or reference = ${reference}) as matches
      from examined)
    select event_id, wire_event_id, type, reference, status, due_at, attempt_count, created_at, delivered_at, matches,
      last
    from judged where matches or last order by event_id desc limit ${rowsMax}`),
  )
}

/** The delivery of that `eventId`, whose event lies in a range of ids: those of one millisecond. */
export function deliveryByWireId(
  tx: Tx,
  { partnerId, subscriptionId }: SubscriptionKey,
  wireEventId: string,
  range: { readonly from: string; readonly before: string },
): Promise<DeliveryRow | undefined> {
  const where = sql`subscription_id = ${subscriptionId} and event_id >= ${range.from} and event_id < ${range.before}
    and wire_event_id = ${wireEventId}`
  return tx.row<DeliveryRow>(
    unprepared(sql`
      select ${queued} from delivery.queue where partner_id = ${partnerId} and ${where}
      union all
      select ${delivered} from delivery.deliveries where partner_id = ${partnerId} and ${where}`),
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

/** It carries the attempt that delivered it; one that was delivered before that was so has it in the log. */
const carried = sql`started_at is not null`

/** The newest of each delivery, oldest first. The ids tell their weeks: no other is looked into. */
export async function attemptsOf(
  tx: Tx,
  { partnerId, subscriptionId }: SubscriptionKey,
  eventIds: readonly string[],
  eachMax: number,
): Promise<readonly AttemptRow[]> {
  const sorted = eventIds.toSorted()
  const [first, last] = [sorted[0], sorted.at(-1)]
  if (first === undefined || last === undefined) return []
  const rows = await tx.rows<AttemptRow>(sql`
    select a.* from unnest(${eventIds}::uuid[]) as d (event_id)
    cross join lateral (
      (select event_id, attempt, started_at, duration_ms, status, error, response_body from delivery.attempts
      where partner_id = ${partnerId} and subscription_id = ${subscriptionId} and event_id = d.event_id
        and event_id between ${first} and ${last}
      order by attempt desc limit ${eachMax})
      union all
      select event_id, attempt_count, started_at, duration_ms, status, null, response_body from delivery.deliveries
      where partner_id = ${partnerId} and subscription_id = ${subscriptionId} and event_id = d.event_id
        and event_id between ${first} and ${last} and ${carried}
      order by attempt desc limit ${eachMax}) a`)
  return rows.toSorted((a, b) => a.attempt - b.attempt)
}

/** Stored ids of deliveries, by event: of those that there are. */
export function wireIdsOf(
  tx: Tx,
  { partnerId, subscriptionId }: SubscriptionKey,
  eventIds: readonly string[],
): Promise<readonly { readonly eventId: string; readonly wireEventId: string }[]> {
  const where = sql`subscription_id = ${subscriptionId} and event_id = any(${eventIds}::uuid[])`
  return tx.rows(
    unprepared(sql`
      select event_id, wire_event_id from delivery.queue where partner_id = ${partnerId} and ${where}
      union all
      select event_id, wire_event_id from delivery.deliveries where partner_id = ${partnerId} and ${where}`),
  )
}

export type EndpointQueueState = {
  readonly owed: bigint
  readonly failingSince: Date | null
  readonly probeMs: number | null
}

export function endpointQueueState(
  tx: Tx,
  partnerId: string,
  subscriptionId: string,
): Promise<EndpointQueueState | undefined> {
  return tx.row<EndpointQueueState>(sql`
    select owed, failing_since, probe_ms from delivery.endpoint_queues
    where partner_id = ${partnerId} and subscription_id = ${subscriptionId}`)
}

export type Counts = {
  readonly delivered: bigint
  readonly pending: bigint
  readonly held: bigint
  readonly oldestPendingId: string | null
}

/** No more than `countMax` rows are looked at for any of the four. */
export function countDeliveries(
  tx: Tx,
  { partnerId, subscriptionId }: SubscriptionKey,
  countMax: number,
): Promise<Counts | undefined> {
  const own = sql`subscription_id = ${subscriptionId}`
  return tx.row<Counts>(
    unprepared(sql`
      select
        (select count(*) from (select from delivery.deliveries
          where partner_id = ${partnerId} and ${own} limit ${countMax}) d) as delivered,
        (select count(*) from (select from delivery.queue
          where partner_id = ${partnerId} and ${own} and status = 'Pending' limit ${countMax}) p) as pending,
        (select count(*) from (select from delivery.queue
          where partner_id = ${partnerId} and ${own} and status = 'Held' limit ${countMax}) h) as held,
        (select event_id from (select event_id, status from delivery.queue
          where partner_id = ${partnerId} and ${own} order by event_id limit ${countMax}) o
          where status = 'Pending' order by event_id limit 1) as oldest_pending_id`),
  )
}

export type Outcome = {
  readonly startedAt: Date
  readonly durationMs: number
  readonly status: number | null
  readonly error: string | null
}

/** Of the newest `rowsMax` attempts by event. */
export function newestAttempts(
  tx: Tx,
  { partnerId, subscriptionId }: SubscriptionKey,
  rowsMax: number,
): Promise<readonly Outcome[]> {
  return tx.rows<Outcome>(sql`
    (select event_id, attempt, started_at, duration_ms, status, error from delivery.attempts
    where partner_id = ${partnerId} and subscription_id = ${subscriptionId}
    order by event_id desc, attempt desc limit ${rowsMax})
    union all
    (select event_id, attempt_count, started_at, duration_ms, status, null from delivery.deliveries
    where partner_id = ${partnerId} and subscription_id = ${subscriptionId} and ${carried}
    order by event_id desc limit ${rowsMax})
    order by event_id desc, attempt desc limit ${rowsMax}`)
}
