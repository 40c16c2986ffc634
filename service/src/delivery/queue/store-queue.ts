/**
 * SQL of the queue: what is made, read and settled there, for many endpoint queues and many partners at once. A row is looked up by
 * its whole key, from a list of keys; statements are planned anew, since the queue is empty at one time and endless at
 * another.
 */
import { noSql, ofOnePartner, unprepared, type Sql, sql, type Tx } from '../../postgres/index.ts'
import type { AttemptResult } from './schedule.ts'
import type { SubscriptionKey } from '../management/store-subscriptions.ts'

export type OwedRow = {
  readonly subscriptionId: string
  readonly eventId: string
  readonly sequence: bigint
  readonly wireEventId: string
  readonly type: string
  readonly reference: string
  /** Null: not attempted yet. */
  readonly dueAt: Date | null
  readonly attemptCount: number
  readonly failures: number
}

export type QueueInsert = SubscriptionKey & { readonly ordered: boolean; readonly rows: readonly OwedRow[] }

const column = <T, K extends keyof T>(rows: readonly T[], name: K): readonly T[K][] => rows.map((row) => row[name])

/** New rows: of each subscription those that it is owed. */
export function insertQueue(tx: Tx, owed: readonly QueueInsert[], now: Date): void {
  const rows = owed.flatMap((of) => of.rows)
  const partnerIds = owed.flatMap((of) => of.rows.map(() => of.partnerId))
  const ordered = owed.flatMap((of) => of.rows.map(() => of.ordered))
  tx.later(sql`
    insert into delivery.queue (partner_id, subscription_id, event_id, sequence, wire_event_id, type, reference, status,
      due_at, attempt_count, failures, held_at, created_at, ordered)
    select p, s, e, n, i, t, r, 'Pending', null, 0, 0, null, ${now}::timestamptz, o from unnest(${partnerIds}::uuid[],
      ${column(rows, 'subscriptionId')}::uuid[], ${column(rows, 'eventId')}::uuid[],
      ${column(rows, 'sequence')}::bigint[], ${column(rows, 'wireEventId')}::uuid[], ${column(rows, 'type')}::text[],
      ${column(rows, 'reference')}::text[], ${ordered}::boolean[]) as w (p, s, e, n, i, t, r, o)`)
}

export type FeedInsert = { readonly partnerId: string; readonly sequence: bigint; readonly eventId: string }

export function insertFeed(tx: Tx, rows: readonly FeedInsert[]): void {
  tx.later(sql`
    insert into delivery.feed (partner_id, sequence, event_id)
    select * from unnest(${column(rows, 'partnerId')}::uuid[], ${column(rows, 'sequence')}::bigint[],
      ${column(rows, 'eventId')}::uuid[]) as w`)
}

/** Which rows of a endpoint queue are asked for: those behind `after`, in strict order of references or not. */
export type Wanted = SubscriptionKey & { readonly after: bigint; readonly ordered: boolean }

const owedColumns = sql`subscription_id, event_id, sequence, wire_event_id, type, reference, due_at, attempt_count, failures`

/**
 * Whether an earlier one of its reference is still there, pending or held; all rows of the endpoint queue are marked as ordered, and
 * so in the index by reference. A subquery with a limit, which PostgreSQL
 * probes row by row: as `not exists` it became an anti join over the whole queue, and a claim from 200,000 rows did not
 * end within 15 s. In an order that only the index by reference has.
 */
const standsBehind = () => sql`(select true from delivery.queue e
  where e.partner_id = w.p and e.subscription_id = w.s and e.reference = q.reference and e.sequence < q.sequence
    and e.ordered
  order by e.sequence limit 1)`

const wantedList = (wanted: readonly Wanted[]): Sql => sql`
  unnest(${column(wanted, 'partnerId')}::uuid[], ${column(wanted, 'subscriptionId')}::uuid[],
    ${column(wanted, 'after')}::bigint[], ${column(wanted, 'ordered')}::boolean[]) as w (p, s, a, o)`

/** New rows of each endpoint queue by their number, up to `rowsMax`; `blocked`: an earlier one of the reference is there. */
export function freshRows(
  tx: Tx,
  wanted: readonly Wanted[],
  rowsMax: number,
): Promise<readonly (OwedRow & { readonly blocked: boolean })[]> {
  const blocked = wanted.some(({ ordered }) => ordered) ? sql`w.o and ${standsBehind()} is not null` : sql`false`
  return tx.rows(
    unprepared(sql`
      select f.* from ${wantedList(wanted)}
      cross join lateral (
        select ${owedColumns}, ${blocked} as blocked from delivery.queue q
        where partner_id = w.p and subscription_id = w.s and status = 'Pending' and due_at is null and sequence > w.a
          and ${ofOnePartner(column(wanted, 'partnerId'), sql`partner_id`)}
        order by sequence limit ${rowsMax}) as f`),
  )
}

/** Rows of each endpoint queue that are due again, now or later, by time, up to `rowsMax`; none that an earlier one stands before. */
export function dueRows(tx: Tx, wanted: readonly Wanted[], rowsMax: number): Promise<readonly OwedRow[]> {
  const free = wanted.some(({ ordered }) => ordered) ? sql`and (not w.o or ${standsBehind()} is null)` : noSql
  return tx.rows(
    unprepared(sql`
      select f.* from ${wantedList(wanted)}
      cross join lateral (
        select ${owedColumns} from delivery.queue q
        where partner_id = w.p and subscription_id = w.s and status = 'Pending' and due_at is not null
          and ${ofOnePartner(column(wanted, 'partnerId'), sql`partner_id`)} ${free}
        order by due_at, sequence limit ${rowsMax}) as f`),
  )
}

/** The first of each reference that is still there, where it is pending. Of endpoint queues whose rows are marked as ordered. */
export async function firstsOf(
  tx: Tx,
  wanted: readonly (SubscriptionKey & { readonly reference: string })[],
): Promise<readonly OwedRow[]> {
  const rows = await tx.rows<OwedRow & { readonly status: string }>(
    unprepared(sql`
      select f.* from unnest(${column(wanted, 'partnerId')}::uuid[], ${column(wanted, 'subscriptionId')}::uuid[],
        ${column(wanted, 'reference')}::text[]) as w (p, s, r)
      cross join lateral (
        select ${owedColumns}, status from delivery.queue
        where partner_id = w.p and subscription_id = w.s and reference = w.r and ordered
          and ${ofOnePartner(column(wanted, 'partnerId'), sql`partner_id`)}
        order by sequence limit 1) as f`),
  )
  return rows.filter(({ status }) => status === 'Pending')
}

/** Marks what a endpoint queue is owed, `rowsMax` rows behind `after`, as ordered. Answers the last one; undefined: there is no more. */
export async function markOrdered(
  tx: Tx,
  { partnerId, subscriptionId }: SubscriptionKey,
  after: string,
  rowsMax: number,
): Promise<string | undefined> {
  const row = await tx.row<{ last: string | null; count: bigint }>(
    unprepared(sql`
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

/** An attempt that was made: whose, and the count of attempts that it began with, which is the fence. */
export type Attempted = SubscriptionKey & {
  readonly eventId: string
  readonly attemptCount: number
  readonly result: AttemptResult
}

/** Who settles. */
export type Holder = { readonly workerId: string; readonly sharded: boolean }

/**
 * Leads to each row by its key. The queue is mostly analysed while it is empty: PostgreSQL then takes it for one row, and
 * joins the list to all rows of all endpoint queues, by a hash, by merging or by comparing each with each. A comparison of whole
 * keys leaves it one way, the primary key, once for each of the list, as long as no other index begins with the partner,
 * nothing else of the row is compared with a constant and no table is read as a whole (`byIndex`). A shard is found by such a constant only; there the list of
 * events keeps the reading to the index.
 */
const byKey = (sharded: boolean, rows: readonly Attempted[]): Sql =>
  sharded
    ? sql`${ofOnePartner(column(rows, 'partnerId'), sql`q.partner_id`)} and q.partner_id = w.p
        and q.subscription_id = w.s and q.event_id = w.e and q.event_id = any(${column(rows, 'eventId')}::uuid[])`
    : sql`(q.partner_id, q.subscription_id, q.event_id) >= (w.p, w.s, w.e)
        and (q.partner_id, q.subscription_id, q.event_id) <= (w.p, w.s, w.e)`

/** The row as it was when the attempt began, on a endpoint queue that the worker still holds. */
const stillOurs = ({ workerId, sharded }: Holder, rows: readonly Attempted[]): Sql => sql`
  ${byKey(sharded, rows)} and q.attempt_count = w.c and exists (select 1 from delivery.endpoint_queues l
    where l.partner_id = w.p and l.subscription_id = w.s and l.lease_id = ${workerId})`

const attemptedColumns = (rows: readonly Attempted[]): Sql => sql`${column(rows, 'partnerId')}::uuid[],
  ${column(rows, 'subscriptionId')}::uuid[], ${column(rows, 'eventId')}::uuid[], ${column(rows, 'attemptCount')}::integer[]`

/** When it began, how long it took, what was answered, and from where. */
const resultColumns = (rows: readonly Attempted[]): Sql => {
  const results = column(rows, 'result')
  return sql`${column(results, 'startedAt')}::timestamptz[], ${column(results, 'durationMs')}::integer[],
    ${results.map((result) => result.status ?? null)}::integer[],
    ${results.map((result) => result.responseBody ?? null)}::text[],
    ${results.map((result) => result.address ?? null)}::text[]`
}

/** Moves rows to what was delivered, with the attempt that did it. Answers those that it moved: the others are stale. */
export async function settleDelivered<T extends Attempted>(
  tx: Tx,
  holder: Holder,
  rows: readonly T[],
  now: Date,
): Promise<readonly T[]> {
  // Stale ones are rare: nothing is told of the others one by one.
  const told = await tx.row<{ moved: readonly number[] | null }>(
    unprepared(sql`
      with gone as (
        delete from delivery.queue q
        using unnest(${attemptedColumns(rows)}, ${resultColumns(rows)})
          with ordinality as w (p, s, e, c, began, took, code, body, peer, nth)
        where ${stillOurs(holder, rows)} returning q.*, began, took, code, body, peer, nth),
      kept as (
        insert into delivery.deliveries (partner_id, subscription_id, event_id, sequence, wire_event_id, type, reference,
          attempt_count, created_at, delivered_at, started_at, duration_ms, status, response_body, address)
        select partner_id, subscription_id, event_id, sequence, wire_event_id, type, reference, attempt_count + 1,
          created_at, ${now}::timestamptz, began, took, code, body, peer from gone)
      select case when count(*) < ${rows.length}::integer then coalesce(array_agg(nth::integer), '{}') end as moved
      from gone`),
  )
  const moved = told?.moved ?? undefined
  return moved === undefined ? rows : moved.flatMap((nth) => rows[nth - 1] ?? [])
}

type Key = { readonly subscriptionId: string; readonly eventId: string }
const keyText = ({ subscriptionId, eventId }: Key) => `${subscriptionId} ${eventId}`

export type FailedAttempt = Attempted & {
  readonly status: 'Pending' | 'Held'
  readonly failures: number
  readonly dueAt: Date | null
}

/** Due again, or held. Answers those that it changed: the others are stale. */
export async function settleFailed<T extends FailedAttempt>(
  tx: Tx,
  holder: Holder,
  rows: readonly T[],
  now: Date,
): Promise<readonly T[]> {
  const settled = await tx.rows<Key>(
    unprepared(sql`
      update delivery.queue q set attempt_count = q.attempt_count + 1, failures = w.f, status = w.t, due_at = w.d,
        held_at = case when w.t = 'Held' then ${now}::timestamptz end
      from unnest(${attemptedColumns(rows)}, ${column(rows, 'failures')}::integer[], ${column(rows, 'status')}::text[],
        ${column(rows, 'dueAt')}::timestamptz[]) as w (p, s, e, c, f, t, d)
      where ${stillOurs(holder, rows)} returning q.subscription_id, q.event_id`),
  )
  const keys = new Set(settled.map(keyText))
  return rows.filter((row) => keys.has(keyText(row)))
}

/** Of those that did not deliver. */
export function insertAttempts(tx: Tx, rows: readonly Attempted[]): void {
  tx.later(sql`
    insert into delivery.attempts (partner_id, subscription_id, event_id, attempt, started_at, duration_ms, status,
      response_body, address, error)
    select * from unnest(${column(rows, 'partnerId')}::uuid[], ${column(rows, 'subscriptionId')}::uuid[],
      ${column(rows, 'eventId')}::uuid[], ${rows.map((row) => row.attemptCount + 1)}::integer[], ${resultColumns(rows)},
      ${rows.map(({ result }) => result.error ?? null)}::text[]) as w`)
}
