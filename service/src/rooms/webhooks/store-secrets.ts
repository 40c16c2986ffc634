/** SQL of the secrets that sign. */
import { ofPartners, sql, type Tx } from '../../postgres/index.ts'
import type { SubscriptionKey } from './store.ts'

export type SecretRow = SubscriptionKey & { readonly id: string; readonly secretSealed: Uint8Array }

export async function insertSecret(tx: Tx, row: SecretRow & { readonly createdAt: Date }): Promise<void> {
  await tx.run(sql`
    insert into webhooks.secrets (partner_id, subscription_id, id, signature, secret_sealed, created_at)
    values (${row.partnerId}, ${row.subscriptionId}, ${row.id}, 'v1', ${row.secretSealed}, ${row.createdAt})`)
}

/** Those that sign now, the newest of each subscription first. */
export function liveSecrets(tx: Tx, keys: readonly SubscriptionKey[], now: Date): Promise<readonly SecretRow[]> {
  return tx.rows<SecretRow>(sql`
    select partner_id, subscription_id, id, secret_sealed from webhooks.secrets
    where ${ofPartners(keys.map((key) => key.partnerId))}
      and subscription_id = any(${keys.map((key) => key.subscriptionId)}::uuid[])
      and (expires_at is null or expires_at > ${now})
    order by subscription_id, expires_at desc nulls first, id desc`)
}
