/**
 * Drops data after the retention period of 30 days: events, the feed, deliveries and attempts by whole weeks, and held
 * deliveries by row. A week stays as long as any record needs it. `owed` stays the sum of the rows.
 */
import { after, type Clock, firstIdOf, type Log } from '../kernel/index.ts'
import type { EventOutbox } from '../events/index.ts'
import {
  acrossPartners,
  columnValues,
  type Database,
  deleteDefault,
  dropWeek,
  dueWork,
  ensureWeeks,
  sql,
  type Tx,
  unprepared,
  type WeekPartition,
  listWeeks,
} from '../postgres/index.ts'
import type { DeliveryLimits } from './limits.ts'
import { subtractOwed } from './queue/store-endpoint-queues.ts'
import type { SubscriptionKey } from './management/store-subscriptions.ts'

/** Together with the weeks that a migration creates, these last for two months even if retention does not run. */
const weeksAhead = 8
const rowsPerStepMax = 1000

/** Attempts are dropped before the deliveries to which they belong, and both before the events. */
const weeklyTables = ['delivery.attempts', 'delivery.deliveries', 'delivery.feed', 'events.events'] as const

type Deps = {
  readonly db: Database
  readonly clock: Clock
  readonly eventOutbox: EventOutbox
  readonly limits: Pick<DeliveryLimits, 'retentionMs'>
}

const ofEachPartner = <T extends { readonly partnerId: string }>(rows: readonly T[]): readonly (readonly T[])[] => [
  ...Map.groupBy(rows, (row) => row.partnerId).values(),
]

const earlier = (a: string, b: string | undefined): string => (b !== undefined && b < a ? b : a)

export function createRetention({ db, clock, eventOutbox, limits }: Deps) {
  const dropHeld = async (before: Date): Promise<number> => {
    const expired = [...(await expiredHeld(db, before, rowsPerStepMax))]
    for (const key of await disabledBefore(db, before)) {
      if (expired.length >= 2 * rowsPerStepMax) break
      expired.push(...(await expiredOf(db, key, before, rowsPerStepMax)))
    }
    let dropped = 0
    for (const rows of ofEachPartner(expired)) dropped += await db.transaction((tx) => dropExpired(tx, rows, before))
    return dropped
  }

  /** Finds the event id before which no row is needed. */
  const horizon = async (tx: Tx, before: Date): Promise<string> => {
    const since = await earliestRecovery(tx)
    const needed = [await oldestOwed(tx), await eventOutbox.oldestPending(tx), since && firstIdOf(since)]
    return needed.reduce(earlier, firstIdOf(before))
  }

  const dropOne = async (table: string, week: WeekPartition, before: Date): Promise<boolean> => {
    // Counts before it takes the lock, which blocks all writers. Rows of an unneeded week do not change.
    const delivered = table === 'delivery.deliveries' ? await deliveredBetween(db, week.from, week.to) : []
    return dropWeek(db, table, week, async (tx) => {
      if (week.to > (await horizon(tx, before))) return false
      for (const counts of tx.sharded ? ofEachPartner(delivered) : [delivered]) await subtractOwed(tx, counts)
      return true
    })
  }

  /** Deletes rows from the default partition, which catches rows of weeks that do not exist and should be empty. */
  const dropFromDefault = async (table: string, end: string): Promise<number> => {
    if (table !== 'delivery.deliveries') {
      const column = table === 'events.events' ? 'id' : 'event_id'
      return deleteDefault(db, { table, column, before: end, rowsMax: rowsPerStepMax })
    }
    let dropped = 0
    for (const rows of ofEachPartner(await oldInDefault(db, end, rowsPerStepMax)))
      dropped += await db.transaction((tx) => dropDelivered(tx, rows))
    return dropped
  }

  return {
    /** Runs one step. Returns the number of rows and weeks dropped. Rows that are locked now are left for the next step. */
    retain: async (log: Log): Promise<number> => {
      const now = clock.now()
      const before = after(now, -limits.retentionMs)
      let dropped = await dropHeld(before)
      for (const table of weeklyTables) await ensureWeeks(db, table, now, weeksAhead)
      const end = await horizon(db, before)
      for (const table of weeklyTables) {
        for (const week of await listWeeks(db, table)) {
          if (week.to > end || !(await dropOne(table, week, before))) break
          log.info({ week: week.name }, 'dropped a week of webhook data')
          dropped += 1
        }
        dropped += await dropFromDefault(table, end)
      }
      return dropped
    },
  }
}

// SQL of retention. Statements that change several endpoint queues lock them in the order of the subscription ids, before
// their rows.

type ExpiredDelivery = SubscriptionKey & { readonly eventId: string }

/** Due-work scan: deliveries held since before `before`. */
function expiredHeld(tx: Tx, before: Date, rowsMax: number): Promise<readonly ExpiredDelivery[]> {
  return tx.rows<ExpiredDelivery>(
    dueWork('finds deliveries that were held too long, without a lock', (whose) =>
      unprepared(sql`/* delivery.expiredHeld */
        select partner_id, subscription_id, event_id from delivery.queue
        where status = 'Held' and held_at < ${before} and ${whose()} order by held_at limit ${rowsMax}`),
    ),
  )
}

/** Due-work scan: subscriptions that were disabled before `before`. Their old pending deliveries count as held. */
function disabledBefore(tx: Tx, before: Date): Promise<readonly SubscriptionKey[]> {
  return tx.rows<SubscriptionKey>(
    dueWork(
      'finds subscriptions that were disabled too long, without a lock',
      (whose) => sql`/* delivery.disabledBefore */
      select partner_id, id as subscription_id from delivery.subscriptions
      where disabled_at < ${before} and deleted_at is null and ${whose()}`,
    ),
  )
}

function expiredOf(
  tx: Tx,
  { partnerId, subscriptionId }: SubscriptionKey,
  before: Date,
  rowsMax: number,
): Promise<readonly ExpiredDelivery[]> {
  return tx.rows<ExpiredDelivery>(
    unprepared(sql`/* delivery.expiredOf */
      select partner_id, subscription_id, event_id from delivery.queue
      where partner_id = ${partnerId} and subscription_id = ${subscriptionId} and status = 'Pending'
        and created_at < ${before}
      order by event_id limit ${rowsMax}`),
  )
}

const sumCounts = (rows: readonly { readonly count: bigint }[]): number =>
  rows.reduce((sum, row) => sum + Number(row.count), 0)

/** Deletes the rows of one partner that are still expired, and subtracts them from `owed`. Returns their number. */
async function dropExpired(tx: Tx, rows: readonly ExpiredDelivery[], before: Date): Promise<number> {
  const column = columnValues(rows)
  const [partnerId = ''] = column('partnerId')
  const subscriptionIds = [...new Set(column('subscriptionId'))]
  await tx.run(sql`/* delivery.dropExpired */
    select 1 from delivery.endpoint_queues where partner_id = ${partnerId} and subscription_id = any(${subscriptionIds}::uuid[])
    order by subscription_id for update`)
  const dropped = await tx.rows<{ subscriptionId: string; count: bigint }>(
    unprepared(sql`/* delivery.dropExpired */
      with dropped as (
        delete from delivery.queue
        using unnest(${column('subscriptionId')}::uuid[], ${column('eventId')}::uuid[]) as input (subscription_id, event_id)
        where queue.partner_id = ${partnerId} and queue.subscription_id = input.subscription_id
          and queue.event_id = input.event_id
          and (queue.held_at < ${before} or exists (select 1 from delivery.subscriptions
            where subscriptions.partner_id = ${partnerId} and subscriptions.id = input.subscription_id
              and subscriptions.disabled_at < ${before}))
        returning queue.subscription_id)
      select subscription_id, count(*) as count from dropped group by subscription_id`),
  )
  const counts = dropped.map((row) => ({ partnerId, ...row }))
  await subtractOwed(tx, counts)
  return sumCounts(dropped)
}

type DroppedCount = SubscriptionKey & { readonly count: bigint }

/** Counts the deliveries of events between two ids, that is of one week, by subscription of all partners. */
function deliveredBetween(tx: Tx, from: string, to: string): Promise<readonly DroppedCount[]> {
  return tx.rows<DroppedCount>(
    unprepared(
      acrossPartners(
        'counts the deliveries of a week that is dropped as a whole',
        sql`/* delivery.deliveredBetween */
      select partner_id, subscription_id, count(*) as count from delivery.deliveries
      where event_id >= ${from} and event_id < ${to} group by partner_id, subscription_id`,
      ),
    ),
  )
}

/** Finds deliveries in the default partition whose events are before an id. */
function oldInDefault(tx: Tx, before: string, rowsMax: number): Promise<readonly ExpiredDelivery[]> {
  return tx.rows<ExpiredDelivery>(
    acrossPartners(
      'finds old deliveries in the default partition, without a lock',
      sql`/* delivery.oldInDefault */
      select partner_id, subscription_id, event_id from delivery.deliveries_default
      where event_id < ${before} limit ${rowsMax}`,
    ),
  )
}

/** Deletes deliveries of one partner, and subtracts them from `owed`. Returns their number. */
async function dropDelivered(tx: Tx, rows: readonly ExpiredDelivery[]): Promise<number> {
  const column = columnValues(rows)
  const [partnerId = ''] = column('partnerId')
  const dropped = await tx.rows<SubscriptionKey>(
    unprepared(sql`/* delivery.dropDelivered */
      delete from delivery.deliveries using unnest(${column('subscriptionId')}::uuid[], ${column('eventId')}::uuid[])
        as input (subscription_id, event_id)
      where deliveries.partner_id = ${partnerId} and deliveries.subscription_id = input.subscription_id
        and deliveries.event_id = input.event_id
      returning deliveries.partner_id, deliveries.subscription_id`),
  )
  const bySubscription = Map.groupBy(dropped, ({ subscriptionId }) => subscriptionId)
  const counts = [...bySubscription].map(([subscriptionId, own]) => ({
    partnerId,
    subscriptionId,
    count: BigInt(own.length),
  }))
  await subtractOwed(tx, counts)
  return dropped.length
}

/** Finds the oldest event in the queue. Probes the index once per endpoint queue, at any length of the queue. */
async function oldestOwed(tx: Tx): Promise<string | undefined> {
  const partners = await tx.rows<{ readonly partnerId: string }>(
    acrossPartners(
      'lists the partners whose oldest pending delivery keeps a partition',
      sql`/* delivery.oldestOwed */ select distinct partner_id from delivery.endpoint_queues`,
    ),
  )
  const oldest = await Promise.all(partners.map(({ partnerId }) => oldestOwedOf(tx, partnerId)))
  return oldest.filter((eventId) => eventId !== undefined).toSorted()[0]
}

async function oldestOwedOf(tx: Tx, partnerId: string): Promise<string | undefined> {
  const row = await tx.row<{ readonly eventId: string }>(sql`/* delivery.oldestOwedOf */
    select oldest.event_id from delivery.endpoint_queues cross join lateral (
      select event_id from delivery.queue
      where partner_id = ${partnerId} and subscription_id = endpoint_queues.subscription_id
      order by event_id limit 1) as oldest
    where endpoint_queues.partner_id = ${partnerId} order by oldest.event_id limit 1`)
  return row?.eventId
}

/** Due-work scan: the earliest time from which a running recovery needs events. */
async function earliestRecovery(tx: Tx): Promise<Date | undefined> {
  const row = await tx.row<{ since: Date }>(
    acrossPartners(
      'finds the time from which recoveries in progress need partitions',
      sql`/* delivery.earliestRecovery */
    select since from delivery.recoveries where status = 'Running' order by since limit 1`,
    ),
  )
  return row?.since
}
