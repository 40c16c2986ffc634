/** Reads the signing keys of subscriptions, and keeps opened keys in memory. */
import { readSigningKey, type SigningKey, verifyingKeyText } from '@partner-payments/wire'
import type { Sealer } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import * as store from './store-subscriptions.ts'
import type { SubscriptionKey } from './store-subscriptions.ts'

/** The keys that sign, newest first, and when the first of them expires. */
export type Signing = { readonly keys: readonly SigningKey[]; readonly until: Date | null }

/**
 * Public keys by subscription. A key that cannot be decrypted is `unreadable` and does not fail the others; the
 * worker that reads it to sign logs the error.
 */
export type PublicKeys = {
  readonly found: ReadonlyMap<string, string>
  readonly unreadable: ReadonlySet<string>
}

/** Twenty subscriptions of five hundred partners. */
const openKeysMax = 10_000

/**
 * Seals a secret for its subscription, so that a copy in another row does not open. The names are those of an earlier table,
 * whose secrets must open.
 */
export const sealContext = ({ partnerId, subscriptionId }: SubscriptionKey) => [
  'webhooks.subscriptions',
  'secret_sealed',
  partnerId,
  subscriptionId,
]

/** Opened keys by the id of their row, whose secret never changes. When full, the oldest entry is dropped. */
function createKeyCache(sealer: Sealer) {
  const opened = new Map<string, SigningKey>()
  return (row: store.SecretRow): SigningKey => {
    const known = opened.get(row.id)
    if (known !== undefined) return known
    const key = readSigningKey(sealer.open(row.secretSealed, sealContext(row)))
    const oldest = opened.size >= openKeysMax ? opened.keys().next().value : undefined
    if (oldest !== undefined) opened.delete(oldest)
    opened.set(row.id, key)
    return key
  }
}

export function createSigningKeys(sealer: Sealer) {
  const open = createKeyCache(sealer)

  /** The keys that sign at `now`, by subscription id. The database is asked each time; only opened keys are cached. */
  const signingKeys = async (
    tx: Tx,
    subscriptions: readonly SubscriptionKey[],
    now: Date,
  ): Promise<ReadonlyMap<string, Signing>> => {
    if (subscriptions.length === 0) return new Map()
    const bySubscription = Map.groupBy(await store.liveSecrets(tx, subscriptions, now), (row) => row.subscriptionId)
    return new Map(
      [...bySubscription].map(([id, rows]) => [id, { keys: rows.map(open), until: rows.at(-1)?.expiresAt ?? null }]),
    )
  }

  /** The public key of the newest key of each subscription, if that key is `v1a`. */
  const publicKeys = async (tx: Tx, subscriptions: readonly SubscriptionKey[], now: Date): Promise<PublicKeys> => {
    const found = new Map<string, string>()
    const unreadable = new Set<string>()
    if (subscriptions.length === 0) return { found, unreadable }
    const bySubscription = Map.groupBy(await store.liveSecrets(tx, subscriptions, now), (row) => row.subscriptionId)
    for (const [id, [newest]] of bySubscription) {
      try {
        const key = newest && open(newest)
        if (key?.kind === 'v1a') found.set(id, verifyingKeyText(key))
      } catch {
        unreadable.add(id)
      }
    }
    return { found, unreadable }
  }

  return { signingKeys, publicKeys }
}
