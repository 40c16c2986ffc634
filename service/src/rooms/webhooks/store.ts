/** SQL of subscriptions, and of the partner's row that counts them and orders the fan-out. */
import type { webhooks } from '@partner-payments/wire'
import { noSql, sql, type Tx } from '../../postgres/index.ts'
import type { SubscriptionStatus } from './rules.ts'

export type SubscriptionRow = {
  readonly id: string
  readonly url: string
  readonly events: readonly string[]
  readonly description: string | null
  readonly apiVersion: number
  readonly ordered: boolean
  readonly signature: (typeof webhooks.signatures)[number]
  readonly status: SubscriptionStatus
  readonly disabledReason: (typeof webhooks.disabledReasons)[number] | null
  readonly disabledAt: Date | null
  readonly createdAt: Date
  readonly updatedAt: Date
}

const columns = sql`id, url, events, description, api_version, ordered, signature, status, disabled_reason, disabled_at,
  created_at, updated_at`

export async function ensurePartner(tx: Tx, partnerId: string): Promise<void> {
  await tx.run(sql`
    insert into webhooks.partners (partner_id, subscriptions, last_sequence) values (${partnerId}, 0, 0)
    on conflict (partner_id) do nothing`)
}

/** False where the partner has as many as it may; the row stays locked, so that the next one counts right. */
export async function countSubscription(tx: Tx, partnerId: string, subscriptionsMax: number): Promise<boolean> {
  const changed = await tx.run(sql`
    update webhooks.partners set subscriptions = subscriptions + 1
    where partner_id = ${partnerId} and subscriptions < ${subscriptionsMax}`)
  return changed === 1
}

/** False where the partner has none. Its row stays locked, so that no fan-out runs beside what follows. */
export async function uncountSubscription(tx: Tx, partnerId: string): Promise<boolean> {
  const changed = await tx.run(sql`
    update webhooks.partners set subscriptions = subscriptions - 1
    where partner_id = ${partnerId} and subscriptions > 0`)
  return changed === 1
}

/** False where another worker is fanning out for the partner. */
export async function lockPartner(tx: Tx, partnerId: string): Promise<boolean> {
  const row = await tx.row(sql`
    select partner_id from webhooks.partners where partner_id = ${partnerId} for update skip locked`)
  return row !== undefined
}

/** The first of `count` sequence numbers; the partner's row is locked, so that they are in the order of the events. */
export async function takeSequence(tx: Tx, partnerId: string, count: number): Promise<bigint> {
  const row = await tx.row<{ last: bigint }>(sql`
    update webhooks.partners set last_sequence = last_sequence + ${count}
    where partner_id = ${partnerId} returning last_sequence as last`)
  return (row?.last ?? 0n) - BigInt(count) + 1n
}

export async function insertSubscription(tx: Tx, partnerId: string, row: SubscriptionRow): Promise<void> {
  await tx.run(sql`
    insert into webhooks.subscriptions (partner_id, ${columns})
    values (${partnerId}, ${row.id}, ${row.url}, ${row.events}::text[], ${row.description}, ${row.apiVersion},
      ${row.ordered}, ${row.signature}, ${row.status}, ${row.disabledReason}, ${row.disabledAt}, ${row.createdAt},
      ${row.updatedAt})`)
}

export function subscriptionById(tx: Tx, partnerId: string, id: string): Promise<SubscriptionRow | undefined> {
  return tx.row<SubscriptionRow>(sql`
    select ${columns} from webhooks.subscriptions
    where partner_id = ${partnerId} and id = ${id} and deleted_at is null`)
}

export function lockSubscription(tx: Tx, partnerId: string, id: string): Promise<SubscriptionRow | undefined> {
  return tx.row<SubscriptionRow>(sql`
    select ${columns} from webhooks.subscriptions
    where partner_id = ${partnerId} and id = ${id} and deleted_at is null for no key update`)
}

/** Newest first, up to `rowsMax`, from behind `afterId`. */
export function listSubscriptions(
  tx: Tx,
  partnerId: string,
  afterId: string | null,
  rowsMax: number,
): Promise<readonly SubscriptionRow[]> {
  return tx.rows<SubscriptionRow>(sql`
    select ${columns} from webhooks.subscriptions
    where partner_id = ${partnerId} and deleted_at is null ${afterId === null ? noSql : sql`and id < ${afterId}`}
    order by id desc limit ${rowsMax}`)
}

export function enabledSubscriptions(
  tx: Tx,
  partnerId: string,
): Promise<readonly Pick<SubscriptionRow, 'id' | 'events' | 'createdAt'>[]> {
  return tx.rows<SubscriptionRow>(sql`
    select id, events, created_at from webhooks.subscriptions
    where partner_id = ${partnerId} and status = 'Enabled' and deleted_at is null order by id`)
}

export async function updateSubscription(tx: Tx, partnerId: string, row: SubscriptionRow): Promise<void> {
  await tx.run(sql`
    update webhooks.subscriptions set url = ${row.url}, events = ${row.events}::text[],
      description = ${row.description}, ordered = ${row.ordered}, signature = ${row.signature},
      status = ${row.status}, disabled_reason = ${row.disabledReason}, disabled_at = ${row.disabledAt},
      updated_at = ${row.updatedAt}
    where partner_id = ${partnerId} and id = ${row.id}`)
}

/** Where the endpoint that said 410 is still the one subscribed: the partner may have moved it meanwhile. */
export async function disableGone(tx: Tx, partnerId: string, id: string, url: string, now: Date): Promise<void> {
  await tx.run(sql`
    update webhooks.subscriptions set status = 'Disabled', updated_at = ${now}
    where partner_id = ${partnerId} and id = ${id} and url = ${url} and deleted_at is null`)
}

/** False where it is not there (any more). */
export async function markDeleted(tx: Tx, partnerId: string, id: string, now: Date): Promise<boolean> {
  const changed = await tx.run(sql`
    update webhooks.subscriptions set deleted_at = ${now}
    where partner_id = ${partnerId} and id = ${id} and deleted_at is null`)
  return changed === 1
}

export type Target = { readonly url: string; readonly secretSealed: Uint8Array }

/** Where deliveries go; undefined where none may go now. */
export function targetOf(tx: Tx, partnerId: string, id: string): Promise<Target | undefined> {
  return tx.row<Target>(sql`
    select url, secret_sealed from webhooks.subscriptions
    where partner_id = ${partnerId} and id = ${id} and status = 'Enabled' and deleted_at is null`)
}

export type SubscriptionKey = { readonly partnerId: string; readonly subscriptionId: string }

/** Due-work scan: subscriptions whose remains are to be dropped. */
export function deletedSubscriptions(tx: Tx, rowsMax: number): Promise<readonly SubscriptionKey[]> {
  return tx.rows<SubscriptionKey>(sql`
    select partner_id, id as subscription_id from webhooks.subscriptions
    where deleted_at is not null order by deleted_at limit ${rowsMax}`)
}

/** Drops up to `rowsMax` deliveries of a deleted subscription, and the subscription once it has none. */
export async function purge(tx: Tx, { partnerId, subscriptionId }: SubscriptionKey, rowsMax: number): Promise<number> {
  const rows = await tx.rows<{ id: string; eventId: string }>(sql`
    select id, event_id from webhooks.deliveries
    where partner_id = ${partnerId} and subscription_id = ${subscriptionId} order by id limit ${rowsMax}`)
  if (rows.length === 0)
    return tx.run(sql`
      delete from webhooks.subscriptions
      where partner_id = ${partnerId} and id = ${subscriptionId} and deleted_at is not null`)
  const ids = rows.map((row) => row.id)
  await tx.run(sql`
    delete from webhooks.attempts where partner_id = ${partnerId} and delivery_id = any(${ids}::uuid[])`)
  await tx.run(sql`delete from webhooks.deliveries where partner_id = ${partnerId} and id = any(${ids}::uuid[])`)
  await tx.run(sql`
    delete from webhooks.messages m
    where m.partner_id = ${partnerId} and m.event_id = any(${rows.map((row) => row.eventId)}::uuid[])
      and not exists (select 1 from webhooks.deliveries d
        where d.partner_id = ${partnerId} and d.event_id = m.event_id)`)
  return rows.length
}
