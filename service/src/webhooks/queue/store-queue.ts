/**
 * SQL of the queue and the feed, for many endpoint queues and partners at once. A row is looked up by its whole key, from
 * a list of keys. Statements that read the queue are unprepared: a plan made for an empty queue would be kept for a long one.
 */
import {
  acrossPartners,
  columnValues,
  insertBy,
  noSql,
  ofOnePartner,
  type RowOf,
  rowsPerInsertMax,
  type Sql,
  sql,
  type Tx,
  unprepared,
} from '../../postgres/index.ts'
import type { AttemptResult } from './schedule.ts'
import type { SubscriptionKey } from '../management/store-subscriptions.ts'

export type QueueRow = {
  readonly subscriptionId: string
  readonly eventId: string
  readonly sequence: bigint
  readonly wireEventId: string
  readonly type: string
  readonly reference: string
  /** Null for a new row: it has not been attempted and is due. */
  readonly dueAt: Date | null
  readonly attemptCount: number
  readonly failures: number
}

type QueueInsert = SubscriptionKey & { readonly ordered: boolean; readonly rows: readonly QueueRow[] }

type NewQueueRow = QueueRow &
  SubscriptionKey & { readonly ordered: boolean; readonly status: 'Pending'; readonly createdAt: Date }

const queueTypes = {
  partnerId: 'uuid',
  subscriptionId: 'uuid',
  eventId: 'uuid',
  sequence: 'bigint',
  wireEventId: 'uuid',
  type: 'text',
  reference: 'text',
  ordered: 'boolean',
  status: 'text',
  dueAt: 'timestamptz',
  attemptCount: 'integer',
  failures: 'integer',
  createdAt: 'timestamptz',
} as const
const newQueueRows = insertBy<NewQueueRow>(queueTypes, [
  ['partnerId'],
  ['status', 'dueAt', 'attemptCount', 'failures', 'createdAt'],
  ['ordered'],
])

export function insertQueue(tx: Tx, inserts: readonly QueueInsert[], now: Date): void {
  const rows = inserts.flatMap(({ partnerId, ordered, rows: own }) =>
    own.map((row) => ({ ...row, partnerId, ordered, status: 'Pending' as const, createdAt: now })),
  )
  for (let at = 0; at < rows.length; at += rowsPerInsertMax(queueTypes))
    tx.later(sql`/* delivery.insertQueue */
      insert into delivery.queue (partner_id, subscription_id, event_id, sequence, wire_event_id, type, reference, ordered,
        status, due_at, attempt_count, failures, created_at)
      ${newQueueRows(tx, rows.slice(at, at + rowsPerInsertMax(queueTypes)))}`)
}

type FeedInsert = { readonly partnerId: string; readonly sequence: bigint; readonly eventId: string }

const newFeedRows = insertBy<FeedInsert>({ partnerId: 'uuid', sequence: 'bigint', eventId: 'uuid' }, [['partnerId']])

export function insertFeed(tx: Tx, rows: readonly FeedInsert[]): void {
  tx.later(
    sql`/* delivery.insertFeed */ insert into delivery.feed (partner_id, sequence, event_id) ${newFeedRows(tx, rows)}`,
  )
}

/**
 * A request for the rows of an endpoint queue with a higher number than `after`. `ordered`: without rows that wait for an earlier
 * row of their reference.
 */
type RowsRequest = SubscriptionKey & { readonly after: bigint; readonly ordered: boolean }

const queueColumns = sql`subscription_id, event_id, sequence, wire_event_id, type, reference, due_at, attempt_count, failures`

/**
 * Reports whether an earlier row of the same reference is in the queue, pending or held. A subquery with a limit, because as
 * `not exists` it became an anti join over the whole queue: a claim from 200,000 rows took more than 15 s. The order
 * uses columns of the index by reference only, which holds all rows of an ordered endpoint queue.
 */
const earlierOfReference = (requests: readonly RowsRequest[]) => sql`(select true from delivery.queue as earlier
  where earlier.partner_id = input.partner_id and earlier.subscription_id = input.subscription_id
    and ${ofOnePartner(columnValues(requests)('partnerId'), sql`earlier.partner_id`)}
    and earlier.reference = candidate.reference and earlier.sequence < candidate.sequence and earlier.ordered
  order by earlier.sequence limit 1)`

const requestList = (requests: readonly RowsRequest[]): Sql => {
  const column = columnValues(requests)
  return sql`
    unnest(${column('partnerId')}::uuid[], ${column('subscriptionId')}::uuid[], ${column('after')}::bigint[],
      ${column('ordered')}::boolean[]) as input (partner_id, subscription_id, after, ordered)`
}

/**
 * Reads up to `rowsMax` new rows of each endpoint queue, by number. `blocked`: the row waits for an earlier row of its reference.
 */
export function newRows(
  tx: Tx,
  requests: readonly RowsRequest[],
  rowsMax: number,
): Promise<readonly (QueueRow & { readonly blocked: boolean })[]> {
  const blocked = requests.some(({ ordered }) => ordered)
    ? sql`input.ordered and ${earlierOfReference(requests)} is not null`
    : sql`false`
  return tx.rows(
    unprepared(sql`/* delivery.newRows */
      select found.* from ${requestList(requests)}
      cross join lateral (
        select ${queueColumns}, ${blocked} as blocked from delivery.queue as candidate
        where partner_id = input.partner_id and subscription_id = input.subscription_id and status = 'Pending'
          and due_at is null and sequence > input.after
          and ${ofOnePartner(columnValues(requests)('partnerId'), sql`partner_id`)}
        order by sequence limit ${rowsMax}) as found`),
  )
}

/**
 * Reads up to `rowsMax` rows of each endpoint queue that have a due time, past or future, by that time. Omits rows of an ordered
 * endpoint queue that wait for an earlier row of their reference.
 */
export function scheduledRows(tx: Tx, requests: readonly RowsRequest[], rowsMax: number): Promise<readonly QueueRow[]> {
  const notBlocked = requests.some(({ ordered }) => ordered)
    ? sql`and (not input.ordered or ${earlierOfReference(requests)} is null)`
    : noSql
  return tx.rows(
    unprepared(sql`/* delivery.scheduledRows */
      select found.* from ${requestList(requests)}
      cross join lateral (
        select ${queueColumns} from delivery.queue as candidate
        where partner_id = input.partner_id and subscription_id = input.subscription_id and status = 'Pending'
          and due_at is not null
          and ${ofOnePartner(columnValues(requests)('partnerId'), sql`partner_id`)} ${notBlocked}
        order by due_at, sequence limit ${rowsMax}) as found`),
  )
}

type ReferenceKey = SubscriptionKey & { readonly reference: string }

/** Reads the first row of each reference if it is pending. All rows of the endpoint queues must be marked as ordered. */
export async function firstRowsOfReferences(tx: Tx, references: readonly ReferenceKey[]): Promise<readonly QueueRow[]> {
  const column = columnValues(references)
  const rows = await tx.rows<QueueRow & { readonly status: string }>(
    unprepared(sql`/* delivery.firstRowsOfReferences */
      select found.* from unnest(${column('partnerId')}::uuid[], ${column('subscriptionId')}::uuid[],
        ${column('reference')}::text[]) as input (partner_id, subscription_id, reference)
      cross join lateral (
        select ${queueColumns}, status from delivery.queue as candidate
        where partner_id = input.partner_id and subscription_id = input.subscription_id
          and candidate.reference = input.reference and ordered
          and ${ofOnePartner(column('partnerId'), sql`partner_id`)}
        order by sequence limit 1) as found`),
  )
  return rows.filter(({ status }) => status === 'Pending')
}

/**
 * Marks `rowsMax` rows after `after` as ordered. Returns the event of the last one, or undefined if there are no more.
 */
export async function markOrdered(
  tx: Tx,
  { partnerId, subscriptionId }: SubscriptionKey,
  after: string,
  rowsMax: number,
): Promise<string | undefined> {
  const row = await tx.row<{ last: string | null; count: bigint }>(
    unprepared(sql`/* delivery.markOrdered */
      with next as (
        select event_id from delivery.queue
        where partner_id = ${partnerId} and subscription_id = ${subscriptionId} and event_id > ${after}
        order by event_id limit ${rowsMax}),
      marked as (
        update delivery.queue set ordered = true
        where partner_id = ${partnerId} and subscription_id = ${subscriptionId} and not ordered
          and event_id = any(array(select event_id from next)))
      select count(*) as count, (select event_id from next order by event_id desc limit 1) as last from next`),
  )
  return row === undefined || Number(row.count) < rowsMax ? undefined : (row.last ?? undefined)
}

/** A completed attempt. `attemptCount` counts the attempts before it and is part of the fence. */
export type AttemptRecord = SubscriptionKey & {
  readonly eventId: string
  readonly attemptCount: number
  readonly result: AttemptResult
}

/**
 * Finds each row by the primary key. The queue is mostly analysed while it is empty. PostgreSQL then expects one row, and
 * joins the list with all rows of all endpoint queues. A comparison of whole keys leaves it only the primary key, under
 * the conditions that README.md lists ("How a result finds its row"). A shard is found by a constant only; there the list
 * of events keeps the read on the index.
 */
const byWholeKey = ({ sharded }: Tx, rows: readonly AttemptRecord[]): Sql =>
  sharded
    ? sql`${ofOnePartner(columnValues(rows)('partnerId'), sql`queued.partner_id`)} and queued.partner_id = input.partner_id
        and queued.subscription_id = input.subscription_id and queued.event_id = input.event_id
        and queued.event_id = any(${columnValues(rows)('eventId')}::uuid[])`
    : sql`(queued.partner_id, queued.subscription_id, queued.event_id)
          >= (input.partner_id, input.subscription_id, input.event_id)
        and (queued.partner_id, queued.subscription_id, queued.event_id)
          <= (input.partner_id, input.subscription_id, input.event_id)`

/** The fence: the row is as it was when the attempt began, and the worker still holds the endpoint queue. */
const fence = (tx: Tx, workerId: string, rows: readonly AttemptRecord[]): Sql => sql`
  ${byWholeKey(tx, rows)} and queued.attempt_count = input.attempt_count
  and exists (select 1 from delivery.endpoint_queues as held where held.partner_id = input.partner_id
    and ${tx.sharded ? ofOnePartner(columnValues(rows)('partnerId'), sql`held.partner_id`) : sql`true`}
    and held.subscription_id = input.subscription_id and held.lease_id = ${workerId})`

const fenceColumns = (rows: readonly AttemptRecord[]): Sql => {
  const column = columnValues(rows)
  return sql`${column('partnerId')}::uuid[], ${column('subscriptionId')}::uuid[], ${column('eventId')}::uuid[],
    ${column('attemptCount')}::integer[]`
}

const resultColumns = (rows: readonly AttemptRecord[]): Sql => {
  const results = columnValues(rows)('result')
  const column = columnValues(results)
  return sql`${column('startedAt')}::timestamptz[], ${column('durationMs')}::integer[],
    ${results.map((result) => result.status ?? null)}::integer[],
    ${results.map((result) => result.responseBody ?? null)}::text[],
    ${results.map((result) => result.address ?? null)}::text[]`
}

/** Moves delivered rows to `deliveries`, with their last attempt. Returns the moved records; the others are stale. */
export async function recordDelivered<T extends AttemptRecord>(
  tx: Tx,
  workerId: string,
  rows: readonly T[],
  now: Date,
): Promise<readonly T[]> {
  // Stale rows are rare. Without one PostgreSQL returns null, not the position of each row.
  const answer = await tx.row<{ moved: readonly number[] | null }>(
    unprepared(sql`/* delivery.recordDelivered */
      with gone as (
        delete from delivery.queue as queued
        using unnest(${fenceColumns(rows)}, ${resultColumns(rows)})
          with ordinality as input (partner_id, subscription_id, event_id, attempt_count, started_at, duration_ms,
            response_status, response_body, address, position)
        where ${fence(tx, workerId, rows)}
        returning queued.*, input.started_at, input.duration_ms, input.response_status, input.response_body,
          input.address, input.position),
      kept as (
        insert into delivery.deliveries (partner_id, subscription_id, event_id, sequence, wire_event_id, type, reference,
          attempt_count, created_at, delivered_at, started_at, duration_ms, status, response_body, address)
        select partner_id, subscription_id, event_id, sequence, wire_event_id, type, reference, attempt_count + 1,
          created_at, ${now}::timestamptz, started_at, duration_ms, response_status, response_body, address from gone)
      select case when count(*) < ${rows.length}::integer
        then coalesce(array_agg(position::integer), '{}') end as moved
      from gone`),
  )
  const moved = answer?.moved ?? undefined
  return moved === undefined ? rows : moved.flatMap((position) => rows[position - 1] ?? [])
}

type EventKey = { readonly subscriptionId: string; readonly eventId: string }
const eventKey = ({ subscriptionId, eventId }: EventKey) => `${subscriptionId} ${eventId}`

type FailedAttempt = AttemptRecord & {
  readonly status: 'Pending' | 'Held'
  readonly failures: number
  readonly dueAt: Date | null
}

/** Reschedules or holds failed rows. Returns the changed records; the others are stale. */
export async function recordFailed<T extends FailedAttempt>(
  tx: Tx,
  workerId: string,
  rows: readonly T[],
  now: Date,
): Promise<readonly T[]> {
  const column = columnValues(rows)
  const changed = await tx.rows<EventKey>(
    unprepared(sql`/* delivery.recordFailed */
      update delivery.queue as queued set attempt_count = queued.attempt_count + 1, failures = input.failures,
        status = input.status, due_at = input.due_at,
        held_at = case when input.status = 'Held' then ${now}::timestamptz end
      from unnest(${fenceColumns(rows)}, ${column('failures')}::integer[], ${column('status')}::text[],
        ${column('dueAt')}::timestamptz[])
        as input (partner_id, subscription_id, event_id, attempt_count, failures, status, due_at)
      where ${fence(tx, workerId, rows)} returning queued.subscription_id, queued.event_id`),
  )
  const keys = new Set(changed.map(eventKey))
  return rows.filter((row) => keys.has(eventKey(row)))
}

const attemptTypes = {
  partnerId: 'uuid',
  subscriptionId: 'uuid',
  eventId: 'uuid',
  attempt: 'integer',
  startedAt: 'timestamptz',
  durationMs: 'integer',
  status: 'integer?',
  responseBody: 'text?',
  address: 'text?',
  error: 'text?',
} as const
type NewAttempt = RowOf<typeof attemptTypes>

const newAttempts = insertBy<NewAttempt>(attemptTypes, [['partnerId'], ['status', 'responseBody', 'address', 'error']])

/** Stores failed attempts. */
export function insertAttempts(tx: Tx, records: readonly AttemptRecord[]): void {
  const rows = records.map(({ partnerId, subscriptionId, eventId, attemptCount, result }) => ({
    partnerId,
    subscriptionId,
    eventId,
    attempt: attemptCount + 1,
    startedAt: result.startedAt,
    durationMs: result.durationMs,
    status: result.status ?? null,
    responseBody: result.responseBody ?? null,
    address: result.address ?? null,
    error: result.error ?? null,
  }))
  tx.later(sql`/* delivery.insertAttempts */
    insert into delivery.attempts (partner_id, subscription_id, event_id, attempt, started_at, duration_ms, status,
      response_body, address, error) ${newAttempts(tx, rows)}`)
}

// SQL of leftovers: queue rows of deliveries that are recorded as delivered.

export type QueueKey = SubscriptionKey & { readonly eventId: string }

/** Selects the next `rowsMax` rows of the queue after a key. */
export const listQueueAfter = (
  tx: Tx,
  { partnerId, subscriptionId, eventId }: QueueKey,
  rowsMax: number,
): Promise<readonly QueueKey[]> =>
  tx.rows<QueueKey>(
    unprepared(
      acrossPartners(
        'reads through the queue to find rows whose delivery is recorded, without a lock',
        sql`/* delivery.listQueueAfter */
      select partner_id, subscription_id, event_id from delivery.queue
      where (partner_id, subscription_id, event_id) > (${partnerId}::uuid, ${subscriptionId}::uuid, ${eventId}::uuid)
      order by partner_id, subscription_id, event_id limit ${rowsMax}`,
      ),
    ),
  )

/**
 * Finds the leftovers among these rows; if sharded, rows of one partner. Uses a subquery with a limit, because PostgreSQL would turn
 * `exists` into a join with all deliveries.
 */
export function findLeftovers(tx: Tx, rows: readonly QueueKey[]): Promise<readonly QueueKey[]> {
  const column = columnValues(rows)
  return tx.rows<QueueKey>(
    unprepared(sql`/* delivery.findLeftovers */
      select examined.partner_id, examined.subscription_id, examined.event_id
      from unnest(${column('partnerId')}::uuid[], ${column('subscriptionId')}::uuid[], ${column('eventId')}::uuid[])
        as examined (partner_id, subscription_id, event_id)
      where (select true from delivery.deliveries as delivered
        where delivered.partner_id = examined.partner_id and ${ofOnePartner(column('partnerId'), sql`delivered.partner_id`)}
          and delivered.subscription_id = examined.subscription_id and delivered.event_id = examined.event_id
        limit 1) is not null`),
  )
}

/** Deletes the leftovers among these queue rows. The caller has locked the endpoint queue. Returns their number. */
export function deleteLeftovers(
  tx: Tx,
  { partnerId, subscriptionId }: SubscriptionKey,
  eventIds: readonly string[],
): Promise<number> {
  return tx.run(
    unprepared(sql`/* delivery.deleteLeftovers */
      delete from delivery.queue
      where partner_id = ${partnerId} and subscription_id = ${subscriptionId} and event_id = any(array(
        select event_id from delivery.deliveries
        where partner_id = ${partnerId} and subscription_id = ${subscriptionId}
          and event_id = any(${eventIds}::uuid[])))`),
  )
}

// SQL that makes deliveries due again, for enabling, redelivery and recovery. The caller has locked the endpoint queue. So
// an attempt in flight can move its delivery from the queue to the deliveries, but nothing moves it back meanwhile.

/**
 * Makes up to `rowsMax` deliveries due that are held or wait for a retry, in their order. Restarts the schedule of each. Returns their
 * number.
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

/** Makes the held deliveries of these events due. Returns their number. */
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

/** Makes one delivery due. Returns false if it is not in the queue. */
export async function expedite(
  tx: Tx,
  { partnerId, subscriptionId }: SubscriptionKey,
  eventId: string,
  now: Date,
): Promise<boolean> {
  const changed = await tx.run(sql`/* delivery.expedite */
    update delivery.queue set status = 'Pending', held_at = null, failures = 0, due_at = ${now}
    where partner_id = ${partnerId} and subscription_id = ${subscriptionId} and event_id = ${eventId}`)
  return changed === 1
}

type RemovedDelivery = {
  readonly sequence: bigint
  readonly wireEventId: string
  readonly type: string
  readonly reference: string
  readonly attemptCount: number
  readonly createdAt: Date
}

/** Removes a row from the deliveries and moves its attempt to the attempts. */
export function removeDelivered(
  tx: Tx,
  { partnerId, subscriptionId }: SubscriptionKey,
  eventId: string,
): Promise<RemovedDelivery | undefined> {
  return tx.row<RemovedDelivery>(sql`/* delivery.removeDelivered */
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

export type RequeuedDelivery = RemovedDelivery & { readonly eventId: string }

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

const requeueNewRows = insertBy<QueuedRow>(types, [
  ['partnerId', 'subscriptionId', 'status', 'dueAt', 'failures', 'ordered'],
])

/** Inserts rows that are due at `now`. Rows already in the queue do not change. Returns the number inserted. */
export async function insertDue(
  tx: Tx,
  { partnerId, subscriptionId }: SubscriptionKey,
  inserts: readonly RequeuedDelivery[],
  now: Date,
): Promise<number> {
  if (inserts.length === 0) return 0
  const subscription = await tx.row<{ readonly ordered: boolean }>(sql`/* delivery.insertDue */
    select ordered from delivery.subscriptions where partner_id = ${partnerId} and id = ${subscriptionId}`)
  const fixed = { partnerId, subscriptionId, status: 'Pending', dueAt: now, failures: 0 } as const
  const rows = inserts.map((row) => ({ ...row, ...fixed, ordered: subscription?.ordered ?? false }))
  return tx.run(sql`/* delivery.insertDue */
    insert into delivery.queue (partner_id, subscription_id, event_id, sequence, wire_event_id, type, reference,
      attempt_count, created_at, status, due_at, failures, ordered) ${requeueNewRows(tx, rows)}
    on conflict (partner_id, subscription_id, event_id) do nothing`)
}
