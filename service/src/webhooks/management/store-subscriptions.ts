/** SQL of subscriptions, and of the partner's row, which counts them and serialises the fan-out. */
import type { webhooks } from '@partner-payments/wire'
import { dueWork, insertBy, noSql, ofOnePartner, ofPartners, sql, type Tx, unprepared } from '../../postgres/index.ts'
import type { SubscriptionStatus } from './rules.ts'

export type SubscriptionRow = {
  readonly id: string
  readonly url: string
  readonly events: readonly string[]
  readonly extensionEvents: readonly string[]
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

const columns = sql`id, url, events, extension_events, description, api_version, ordered, signature, status, disabled_reason, disabled_at,
  created_at, updated_at`

export async function ensurePartner(tx: Tx, partnerId: string): Promise<void> {
  await tx.run(sql`/* delivery.ensurePartner */
    insert into delivery.partners (partner_id, subscriptions, last_sequence) values (${partnerId}, 0, 0)
    on conflict (partner_id) do nothing`)
}

/** Returns false if the partner has reached the limit. The row stays locked, so that concurrent creations count correctly. */
export async function incrementSubscriptionCount(
  tx: Tx,
  partnerId: string,
  subscriptionsMax: number,
): Promise<boolean> {
  const changed = await tx.run(sql`/* delivery.incrementSubscriptionCount */
    update delivery.partners set subscriptions = subscriptions + 1
    where partner_id = ${partnerId} and subscriptions < ${subscriptionsMax}`)
  return changed === 1
}

/** Returns false if the partner has no subscription. The row stays locked, so that no fan-out runs concurrently. */
export async function decrementSubscriptionCount(tx: Tx, partnerId: string): Promise<boolean> {
  const changed = await tx.run(sql`/* delivery.decrementSubscriptionCount */
    update delivery.partners set subscriptions = subscriptions - 1
    where partner_id = ${partnerId} and subscriptions > 0`)
  return changed === 1
}

const newPartners = insertBy<{
  readonly partnerId: string
  readonly subscriptions: number
  readonly lastSequence: bigint
}>(
  { partnerId: 'uuid', subscriptions: 'integer', lastSequence: 'bigint' },
  [['subscriptions', 'lastSequence']],
  ['partnerId'],
)

/** Locks the partners' rows, skipping locked ones, so that one fan-out at a time assigns sequences. Returns the locked partners. */
export async function lockPartners(tx: Tx, partnerIds: readonly string[]): Promise<readonly string[]> {
  const unlocked = await tx.rows<{ partnerId: string }>(sql`/* delivery.lockPartners */
    select partner_id from delivery.partners where ${ofPartners(partnerIds)} order by partner_id for update skip locked`)
  const locked = new Set(unlocked.map((row) => row.partnerId))
  const others = partnerIds.filter((id) => !locked.has(id))
  if (others.length === 0) return partnerIds
  // A partner has no row yet, or another transaction locks it. This transaction locks the rows that it inserts.
  const rows = others.map((partnerId) => ({ partnerId, subscriptions: 0, lastSequence: 0n }))
  const inserted = await tx.rows<{ partnerId: string }>(sql`/* delivery.lockPartners */
    insert into delivery.partners (partner_id, subscriptions, last_sequence) ${newPartners(tx, rows)}
    on conflict (partner_id) do nothing returning partner_id`)
  return [...locked, ...inserted.map((row) => row.partnerId)]
}

/** Waits for the fan-out, recovery step or deletion that holds the lock. */
export async function lockPartnerRow(tx: Tx, partnerId: string): Promise<void> {
  await tx.row(
    sql`/* delivery.lockPartnerRow */ select partner_id from delivery.partners where partner_id = ${partnerId} for update`,
  )
}

/** Reserves `counts` sequences in the feed of each partner. Returns the last one of each. The caller holds the row locks. */
export async function reserveSequences(
  tx: Tx,
  counts: ReadonlyMap<string, number>,
): Promise<ReadonlyMap<string, bigint>> {
  const partnerIds = [...counts.keys()]
  const rows = await tx.rows<{ partnerId: string; last: bigint }>(sql`/* delivery.reserveSequences */
    update delivery.partners set last_sequence = partners.last_sequence + input.count
    from unnest(${partnerIds}::uuid[], ${[...counts.values()]}::bigint[]) as input (partner_id, count)
    where partners.partner_id = input.partner_id and ${ofOnePartner(partnerIds, sql`partners.partner_id`)}
    returning partners.partner_id, partners.last_sequence as last`)
  return new Map(rows.map((row) => [row.partnerId, row.last]))
}

export async function insertSubscription(tx: Tx, partnerId: string, row: SubscriptionRow): Promise<void> {
  await tx.run(sql`/* delivery.insertSubscription */
    insert into delivery.subscriptions (partner_id, ${columns})
    values (${partnerId}, ${row.id}, ${row.url}, ${row.events}::text[], ${row.extensionEvents}::text[], ${row.description}, ${row.apiVersion},
      ${row.ordered}, ${row.signature}, ${row.status}, ${row.disabledReason}, ${row.disabledAt}, ${row.createdAt},
      ${row.updatedAt})`)
}

export function subscriptionById(tx: Tx, partnerId: string, id: string): Promise<SubscriptionRow | undefined> {
  return tx.row<SubscriptionRow>(sql`/* delivery.subscriptionById */
    select ${columns} from delivery.subscriptions
    where partner_id = ${partnerId} and id = ${id} and deleted_at is null`)
}

export function lockSubscription(tx: Tx, partnerId: string, id: string): Promise<SubscriptionRow | undefined> {
  return tx.row<SubscriptionRow>(sql`/* delivery.lockSubscription */
    select ${columns} from delivery.subscriptions
    where partner_id = ${partnerId} and id = ${id} and deleted_at is null for no key update`)
}

/** Lists subscriptions older than `afterId`, newest first, up to `rowsMax`. */
export function listSubscriptions(
  tx: Tx,
  partnerId: string,
  afterId: string | null,
  rowsMax: number,
): Promise<readonly SubscriptionRow[]> {
  return tx.rows<SubscriptionRow>(sql`/* delivery.listSubscriptions */
    select ${columns} from delivery.subscriptions
    where partner_id = ${partnerId} and deleted_at is null ${afterId === null ? noSql : sql`and id < ${afterId}`}
    order by id desc limit ${rowsMax}`)
}

export type FanOutSubscription = Pick<
  SubscriptionRow,
  'id' | 'events' | 'extensionEvents' | 'ordered' | 'createdAt' | 'updatedAt' | 'status'
> & {
  readonly partnerId: string
}

/** Lists the partners' subscriptions. Includes disabled ones, whose deliveries are held. */
export function subscriptionsOf(tx: Tx, partnerIds: readonly string[]): Promise<readonly FanOutSubscription[]> {
  return tx.rows<FanOutSubscription>(sql`/* delivery.subscriptionsOf */
    select partner_id, id, events, extension_events, ordered, created_at, updated_at, status from delivery.subscriptions
    where ${ofPartners(partnerIds)} and deleted_at is null order by id`)
}

/**
 * Sets `order_pending` when a subscription becomes ordered, until its queued rows are marked as ordered. The caller holds
 * the lock on the partner's row if `ordered` may change.
 */
export async function updateSubscription(
  tx: Tx,
  partnerId: string,
  row: SubscriptionRow,
  changeId: string,
): Promise<void> {
  await tx.run(sql`/* delivery.updateSubscription */
    update delivery.subscriptions set url = ${row.url}, events = ${row.events}::text[], extension_events = ${row.extensionEvents}::text[],
      description = ${row.description}, ordered = ${row.ordered}, signature = ${row.signature},
      order_pending = case when not ${row.ordered} then null when ordered then order_pending else ${changeId}::uuid end,
      status = ${row.status}, disabled_reason = ${row.disabledReason}, disabled_at = ${row.disabledAt},
      updated_at = ${row.updatedAt}
    where partner_id = ${partnerId} and id = ${row.id}`)
}

/**
 * Disables a subscription if it is enabled and still has this URL, because its partner may have changed it meanwhile.
 * Returns whether it was disabled.
 */
export async function disable(
  tx: Tx,
  { partnerId, subscriptionId }: SubscriptionKey,
  url: string,
  reason: 'Gone' | 'Failing',
  now: Date,
): Promise<boolean> {
  const changed = await tx.run(sql`/* delivery.disable */
    update delivery.subscriptions set status = 'Disabled', disabled_reason = ${reason}, disabled_at = ${now},
      updated_at = ${now}
    where partner_id = ${partnerId} and id = ${subscriptionId} and url = ${url} and status = 'Enabled'
      and deleted_at is null`)
  return changed === 1
}

/** Returns false if there is no such subscription. */
export async function markDeleted(tx: Tx, partnerId: string, id: string, now: Date): Promise<boolean> {
  const changed = await tx.run(sql`/* delivery.markDeleted */
    update delivery.subscriptions set deleted_at = ${now}
    where partner_id = ${partnerId} and id = ${id} and deleted_at is null`)
  return changed === 1
}

export type SubscriptionKey = { readonly partnerId: string; readonly subscriptionId: string }

type TargetRow = SubscriptionKey &
  Pick<SubscriptionRow, 'url' | 'ordered' | 'updatedAt'> & {
    /** The id of the change to strict order whose queued rows are not all marked yet. */
    readonly orderPending: string | null
  }

/** Reads the targets of enabled subscriptions. Omits disabled and deleted subscriptions. */
export function listTargets(tx: Tx, keys: readonly SubscriptionKey[]): Promise<readonly TargetRow[]> {
  return tx.rows<TargetRow>(sql`/* delivery.listTargets */
    select partner_id, id as subscription_id, url, ordered, order_pending, updated_at from delivery.subscriptions
    where ${ofPartners(keys.map((key) => key.partnerId))} and id = any(${keys.map((key) => key.subscriptionId)}::uuid[])
      and status = 'Enabled' and deleted_at is null`)
}

/** Ends the change to strict order, unless a later change has replaced it. */
export async function completeOrder(
  tx: Tx,
  { partnerId, subscriptionId }: SubscriptionKey,
  orderPending: string,
): Promise<void> {
  await tx.run(sql`/* delivery.completeOrder */
    update delivery.subscriptions set order_pending = null
    where partner_id = ${partnerId} and id = ${subscriptionId} and order_pending = ${orderPending}`)
}

/** Due-work scan: deleted subscriptions that still have rows. */
export function deletedSubscriptions(tx: Tx, rowsMax: number): Promise<readonly SubscriptionKey[]> {
  return tx.rows<SubscriptionKey>(
    dueWork(
      'finds deleted subscriptions whose rows can be dropped, without a lock',
      (whose) => sql`/* delivery.deletedSubscriptions */
      select partner_id, id as subscription_id from delivery.subscriptions
      where deleted_at is not null and ${whose()} order by deleted_at limit ${rowsMax}`,
    ),
  )
}

/**
 * Deletes up to `rowsMax` queued rows of a deleted subscription, and the subscription when none is left. Its delivered rows
 * and attempts are dropped with their week, because no request can read them.
 */
export async function purgeSubscription(
  tx: Tx,
  { partnerId, subscriptionId }: SubscriptionKey,
  rowsMax: number,
): Promise<number> {
  const dropped = await tx.run(
    unprepared(sql`/* delivery.purgeSubscription */
      delete from delivery.queue where partner_id = ${partnerId} and subscription_id = ${subscriptionId}
        and event_id = any(array(select event_id from delivery.queue
          where partner_id = ${partnerId} and subscription_id = ${subscriptionId} order by event_id limit ${rowsMax}))`),
  )
  if (dropped > 0) return dropped
  await tx.run(sql`/* delivery.purgeSubscription */
    delete from delivery.secrets where partner_id = ${partnerId} and subscription_id = ${subscriptionId}`)
  await tx.run(sql`/* delivery.purgeSubscription */
    delete from delivery.recoveries where partner_id = ${partnerId} and subscription_id = ${subscriptionId}`)
  return tx.run(sql`/* delivery.purgeSubscription */
    delete from delivery.subscriptions
    where partner_id = ${partnerId} and id = ${subscriptionId} and deleted_at is not null`)
}

// SQL of signing secrets. A rotation holds the lock on the subscription's row.

export type SecretRow = {
  readonly partnerId: string
  readonly subscriptionId: string
  readonly id: string
  readonly secretSealed: Uint8Array
}

export async function insertSecret(
  tx: Tx,
  row: SecretRow & { readonly signature: 'v1' | 'v1a'; readonly createdAt: Date },
): Promise<void> {
  await tx.run(sql`/* delivery.insertSecret */
    insert into delivery.secrets (partner_id, subscription_id, id, signature, secret_sealed, created_at)
    values (${row.partnerId}, ${row.subscriptionId}, ${row.id}, ${row.signature}, ${row.secretSealed},
      ${row.createdAt})`)
}

/** Reads the secrets that sign at `now`, newest of each subscription first. */
export function activeSecrets(
  tx: Tx,
  keys: readonly SubscriptionKey[],
  now: Date,
): Promise<readonly (SecretRow & { readonly expiresAt: Date | null })[]> {
  return tx.rows(sql`/* delivery.activeSecrets */
    select partner_id, subscription_id, id, secret_sealed, expires_at from delivery.secrets
    where ${ofPartners(keys.map((key) => key.partnerId))}
      and subscription_id = any(${keys.map((key) => key.subscriptionId)}::uuid[])
      and (expires_at is null or expires_at > ${now})
    order by subscription_id, expires_at desc nulls first, id desc`)
}

/** Sets the expiry of all secrets to `until`. An earlier expiry stays. */
export async function setSecretExpiry(
  tx: Tx,
  { partnerId, subscriptionId }: SubscriptionKey,
  until: Date,
): Promise<void> {
  await tx.run(sql`/* delivery.setSecretExpiry */
    update delivery.secrets set expires_at = least(expires_at, ${until}::timestamptz)
    where partner_id = ${partnerId} and subscription_id = ${subscriptionId}`)
}

export async function deleteSecrets(tx: Tx, { partnerId, subscriptionId }: SubscriptionKey): Promise<void> {
  await tx.run(sql`/* delivery.deleteSecrets */
    delete from delivery.secrets where partner_id = ${partnerId} and subscription_id = ${subscriptionId}`)
}

export function expiredSecrets(tx: Tx, now: Date, rowsMax: number): Promise<readonly SecretRow[]> {
  return tx.rows<SecretRow>(
    dueWork(
      'finds secrets that no longer sign, without a lock',
      (whose) => sql`/* delivery.expiredSecrets */
      select partner_id, subscription_id, id from delivery.secrets
      where expires_at <= ${now} and ${whose()} order by expires_at limit ${rowsMax}`,
    ),
  )
}

export function deleteExpired(tx: Tx, partnerId: string, ids: readonly string[], now: Date): Promise<number> {
  return tx.run(sql`/* delivery.deleteExpired */
    delete from delivery.secrets
    where partner_id = ${partnerId} and id = any(${ids}::uuid[]) and expires_at <= ${now}`)
}

// SQL of the statistics for operators. Counts the rows themselves, outside of the path of deliveries.

export type EndpointCounts = {
  readonly subscriptionId: string
  readonly enabled: boolean
  readonly owed: bigint
  readonly delivered: bigint
  readonly pending: bigint
  readonly held: bigint
  readonly oldestPendingAt: Date | null
  readonly failingSince: Date | null
  readonly breakerOpen: boolean
}

export async function partnersAfter(tx: Tx, afterId: string, partnersMax: number): Promise<readonly string[]> {
  const rows = await tx.rows<{ partnerId: string }>(
    dueWork(
      'lists all partners to count their endpoints for operators',
      (whose) => sql`/* delivery.partnersAfter */
      select partner_id from delivery.partners where partner_id > ${afterId} and ${whose()}
      order by partner_id limit ${partnersMax}`,
    ),
  )
  return rows.map((row) => row.partnerId)
}

/** Counts in one statement, so that all counts are of the same moment. Reads every queued and delivered row of the partner. */
export function countEndpoints(tx: Tx, partnerId: string): Promise<readonly EndpointCounts[]> {
  return tx.rows<EndpointCounts>(sql`/* delivery.countEndpoints */
    select endpoint_queues.subscription_id, subscriptions.status = 'Enabled' as enabled, endpoint_queues.owed,
      endpoint_queues.failing_since, endpoint_queues.probe_ms is not null as breaker_open,
      coalesce(delivered.count, 0) as delivered, coalesce(queued.pending, 0) as pending,
      coalesce(queued.held, 0) as held, queued.oldest_pending_at
    from delivery.endpoint_queues
    join delivery.subscriptions on subscriptions.partner_id = ${partnerId}
      and subscriptions.id = endpoint_queues.subscription_id and subscriptions.deleted_at is null
    left join (
      select subscription_id, count(*) filter (where status = 'Pending') as pending,
        count(*) filter (where status = 'Held') as held,
        min(created_at) filter (where status = 'Pending') as oldest_pending_at
      from delivery.queue where partner_id = ${partnerId} group by subscription_id) as queued
      on queued.subscription_id = endpoint_queues.subscription_id
    left join (
      select subscription_id, count(*) as count
      from delivery.deliveries where partner_id = ${partnerId} group by subscription_id) as delivered
      on delivered.subscription_id = endpoint_queues.subscription_id
    where endpoint_queues.partner_id = ${partnerId} order by endpoint_queues.subscription_id`)
}
