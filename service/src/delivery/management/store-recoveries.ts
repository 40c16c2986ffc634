/** SQL of recoveries and of the feed. A recovery step locks the partner's row, so that steps of a partner run one at a time. */
import type { webhooks } from '@partner-payments/wire'
import { dueWork, noSql, type Sql, sql, type Tx } from '../../postgres/index.ts'
import type { SubscriptionKey } from './store-subscriptions.ts'

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

/** Newest first, up to `rowsMax`, starting after `afterId`. */
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

/** Due-work scan: running recoveries, oldest first. */
/** When the oldest recovery in progress was created. */
export const recoveriesDue = (after: Date): Sql =>
  dueWork(
    'reads since when the oldest recovery runs',
    (whose) => sql`/* delivery.recoveriesDue */
      select created_at as due_at from delivery.recoveries where status = 'Running' and created_at > ${after} and ${whose()}
      order by created_at limit 1`,
  )

export function runningRecoveries(
  tx: Tx,
  rowsMax: number,
): Promise<readonly (SubscriptionKey & { readonly id: string })[]> {
  return tx.rows(
    dueWork(
      'finds recoveries in progress, without a lock',
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

/** Oldest first, starting after `afterSequence`. */
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

/** Newest first, starting before `beforeSequence`. */
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

/** The first sequence of an event with this id or a later one. Skips the weeks before the id. */
export async function firstInFeed(tx: Tx, partnerId: string, eventId: string): Promise<bigint | undefined> {
  const row = await tx.row<{ sequence: bigint }>(sql`/* delivery.firstInFeed */
    select sequence from delivery.feed
    where partner_id = ${partnerId} and event_id >= ${eventId} order by sequence limit 1`)
  return row?.sequence
}

/** The oldest sequence in the feed. Undefined if the feed is empty. */
export async function oldestInFeed(tx: Tx, partnerId: string): Promise<bigint | undefined> {
  const row = await tx.row<{ sequence: bigint }>(sql`/* delivery.oldestInFeed */
    select sequence from delivery.feed where partner_id = ${partnerId} order by sequence limit 1`)
  return row?.sequence
}

/** The last sequence assigned, even if its event is deleted. */
export async function lastSequence(tx: Tx, partnerId: string): Promise<bigint> {
  const row = await tx.row<{ lastSequence: bigint }>(sql`/* delivery.lastSequence */
    select last_sequence from delivery.partners where partner_id = ${partnerId}`)
  return row?.lastSequence ?? 0n
}

export async function deliveredOf(
  tx: Tx,
  { partnerId, subscriptionId }: SubscriptionKey,
  eventIds: readonly string[],
): Promise<readonly string[]> {
  const rows = await tx.rows<{ eventId: string }>(sql`/* delivery.deliveredOf */
    select event_id from delivery.deliveries
    where partner_id = ${partnerId} and subscription_id = ${subscriptionId} and event_id = any(${eventIds}::uuid[])`)
  return rows.map((row) => row.eventId)
}
