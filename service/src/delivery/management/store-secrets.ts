/** SQL of signing secrets. A rotation holds the lock on the subscription's row. */
import { dueWork, ofPartners, sql, type Tx } from '../../postgres/index.ts'
import type { SubscriptionKey } from './store-subscriptions.ts'

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

/** The secrets that sign at `now`, newest of each subscription first. */
export function liveSecrets(
  tx: Tx,
  keys: readonly SubscriptionKey[],
  now: Date,
): Promise<readonly (SecretRow & { readonly expiresAt: Date | null })[]> {
  return tx.rows(sql`/* delivery.liveSecrets */
    select partner_id, subscription_id, id, secret_sealed, expires_at from delivery.secrets
    where ${ofPartners(keys.map((key) => key.partnerId))}
      and subscription_id = any(${keys.map((key) => key.subscriptionId)}::uuid[])
      and (expires_at is null or expires_at > ${now})
    order by subscription_id, expires_at desc nulls first, id desc`)
}

/** Sets the expiry of all secrets to `until`. An earlier expiry stays. */
export async function endSecrets(tx: Tx, { partnerId, subscriptionId }: SubscriptionKey, until: Date): Promise<void> {
  await tx.run(sql`/* delivery.endSecrets */
    update delivery.secrets set expires_at = least(expires_at, ${until}::timestamptz)
    where partner_id = ${partnerId} and subscription_id = ${subscriptionId}`)
}

export async function deleteSecrets(tx: Tx, { partnerId, subscriptionId }: SubscriptionKey): Promise<void> {
  await tx.run(sql`/* delivery.deleteSecrets */
    delete from delivery.secrets where partner_id = ${partnerId} and subscription_id = ${subscriptionId}`)
}

/** Due-work scan: expired secrets. */
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
