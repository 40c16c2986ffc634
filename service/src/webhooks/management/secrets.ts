/** The signing secrets of subscriptions: one newest secret and, after a rotation, the previous ones until they expire. */
import { type SigningKey, signingKeyText, verifyingKeyText, webhooks as wire } from '@partner-payments/wire'
import { newId, randomBytes, type Sealer } from '../../kernel/index.ts'
import type { Database, Tx } from '../../postgres/index.ts'
import { createSigningKeys, sealContext } from './signing-keys.ts'
import * as store from './store-subscriptions.ts'
import type { SubscriptionKey } from './store-subscriptions.ts'

export type Signature = (typeof wire.signatures)[number]
type Rotation = { readonly kind: Signature; readonly endsAt: Date; readonly now: Date }

/** Standard Webhooks asks for 24 to 64 bytes for HMAC, RFC 8032 for 32 bytes for Ed25519. */
const keyBytes = 32
const sweepRowsMax = 1000

/** The field that the partner sees of a new key: the secret itself, or the public key. */
export function shownOf(key: SigningKey): { readonly secret?: string; readonly publicKey?: string } {
  const text = verifyingKeyText(key)
  return key.kind === 'v1' ? { secret: text } : { publicKey: text }
}

export function createSecrets({ sealer }: { readonly sealer: Sealer }) {
  /** Stores a new key, which signs from the commit on. */
  const add = async (tx: Tx, subscription: SubscriptionKey, kind: Signature, now: Date): Promise<SigningKey> => {
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
    rotate: async (tx: Tx, subscription: SubscriptionKey, rotation: Rotation): Promise<SigningKey | undefined> => {
      const { kind, endsAt, now } = rotation
      await store.endSecrets(tx, subscription, endsAt)
      const live = await store.liveSecrets(tx, [subscription], now)
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
