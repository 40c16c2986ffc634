/** The signing secrets of subscriptions: one newest secret and, after a rotation, the previous ones until they expire. */
import {
  parseSigningKey,
  type SigningKey,
  signingKeyText,
  verifyingKeyText,
  webhooks as wire,
} from '@partner-payments/wire'
import { newId, randomBytes, type Sealer } from '../../kernel/index.ts'
import type { Database, SealedColumn, Tx } from '../../postgres/index.ts'
import * as store from './store-subscriptions.ts'

type SignatureKind = (typeof wire.signatures)[number]
type Rotation = { readonly kind: SignatureKind; readonly endsAt: Date; readonly now: Date }

/** Standard Webhooks requires 24 to 64 bytes for HMAC, and RFC 8032 requires 32 bytes for Ed25519. */
const keyBytes = 32
const sweepRowsMax = 1000

/** Returns what the partner sees of a new key: the secret, or the public key. */
export function newKeyFields(key: SigningKey): { readonly secret?: string; readonly publicKey?: string } {
  const text = verifyingKeyText(key)
  return key.kind === 'v1' ? { secret: text } : { publicKey: text }
}

export function createSecrets({ sealer }: { readonly sealer: Sealer }) {
  /** Stores a new key, which signs from the commit on. */
  const add = async (
    tx: Tx,
    subscription: store.SubscriptionKey,
    kind: SignatureKind,
    now: Date,
  ): Promise<SigningKey> => {
    const key: SigningKey = { kind, key: randomBytes(keyBytes) }
    const secretSealed = sealer.seal(signingKeyText(key), sealContext(subscription))
    await store.insertSecret(tx, { ...subscription, id: newId(), signature: kind, secretSealed, createdAt: now })
    return key
  }

  return {
    ...createSigningKeys(sealer),
    add,

    /**
     * Adds a key. The previous keys sign until `endsAt` at most. The caller holds the lock on the subscription's row.
     * Returns undefined if too many keys would sign, which is impossible if `endsAt` is now.
     */
    rotate: async (
      tx: Tx,
      subscription: store.SubscriptionKey,
      rotation: Rotation,
    ): Promise<SigningKey | undefined> => {
      const { kind, endsAt, now } = rotation
      await store.setSecretExpiry(tx, subscription, endsAt)
      const live = await store.activeSecrets(tx, [subscription], now)
      return live.length < wire.activeSecretsMax ? add(tx, subscription, kind, now) : undefined
    },

    drop: store.deleteSecrets,

    /** Housekeeping: deletes expired secrets. Returns how many. */
    sweep: async (db: Database, now: Date): Promise<number> => {
      const expired = await store.expiredSecrets(db, now, sweepRowsMax)
      let deleted = 0
      for (const [partnerId, rows] of Map.groupBy(expired, (row) => row.partnerId)) {
        const ids = rows.map((row) => row.id)
        deleted += await store.deleteExpired(db, partnerId, ids, now)
      }
      return deleted
    },
  }
}

export type Secrets = ReturnType<typeof createSecrets>

// Reads the signing keys of subscriptions, and keeps opened keys in memory.

/** The keys that sign, newest first, and when the first of them expires. */
type Signing = { readonly keys: readonly SigningKey[]; readonly until: Date | null }

/**
 * Public keys by subscription. A key that cannot be decrypted is `unreadable` and does not fail the others; the
 * worker that reads it to sign logs the error.
 */
type PublicKeys = {
  readonly found: ReadonlyMap<string, string>
  readonly unreadable: ReadonlySet<string>
}

/** Twenty subscriptions of five hundred partners. */
const openKeysMax = 10_000

/**
 * Binds a sealed secret to its subscription, so that a copy in another row cannot be opened. The names are those of an earlier table, so
 * that its secrets can be opened.
 */
const sealContext = ({ partnerId, subscriptionId }: store.SubscriptionKey) => [
  'webhooks.subscriptions',
  'secret_sealed',
  partnerId,
  subscriptionId,
]

/** Caches opened keys by the id of their row, whose secret never changes. When full, drops the oldest entry. */
function createKeyCache(sealer: Sealer) {
  const opened = new Map<string, SigningKey>()
  return (row: store.SecretRow): SigningKey => {
    const known = opened.get(row.id)
    if (known !== undefined) return known
    const key = parseSigningKey(sealer.open(row.secretSealed, sealContext(row)))
    const oldest = opened.size >= openKeysMax ? opened.keys().next().value : undefined
    if (oldest !== undefined) opened.delete(oldest)
    opened.set(row.id, key)
    return key
  }
}

function createSigningKeys(sealer: Sealer) {
  const open = createKeyCache(sealer)

  /** Reads the keys that sign at `now`, by subscription id. Queries the database each time; caches only opened keys. */
  const signingKeys = async (
    tx: Tx,
    subscriptions: readonly store.SubscriptionKey[],
    now: Date,
  ): Promise<ReadonlyMap<string, Signing>> => {
    if (subscriptions.length === 0) return new Map()
    const bySubscription = Map.groupBy(await store.activeSecrets(tx, subscriptions, now), (row) => row.subscriptionId)
    return new Map(
      [...bySubscription].map(([id, rows]) => [id, { keys: rows.map(open), until: rows.at(-1)?.expiresAt ?? null }]),
    )
  }

  /** Reads the newest public key of each subscription whose newest key is `v1a`. */
  const publicKeys = async (
    tx: Tx,
    subscriptions: readonly store.SubscriptionKey[],
    now: Date,
  ): Promise<PublicKeys> => {
    const found = new Map<string, string>()
    const unreadable = new Set<string>()
    if (subscriptions.length === 0) return { found, unreadable }
    const bySubscription = Map.groupBy(await store.activeSecrets(tx, subscriptions, now), (row) => row.subscriptionId)
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

export const sealedWebhookSecrets: SealedColumn = {
  table: 'delivery.secrets',
  column: 'secret_sealed',
  key: { subscription_id: 'uuid', id: 'uuid' },
  contextOf: (partnerId, cell) => sealContext({ partnerId, subscriptionId: cell('subscription_id') }),
}
