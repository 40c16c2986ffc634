/**
 * What signs the deliveries of a subscription: one key, and for a while after a rotation those before it. Sealed under
 * the subscription, so that a secret copied to another row does not open.
 */
import {
  readSigningKey,
  type SigningKey,
  signingKeyText,
  verifyingKeyText,
  webhooks as wire,
} from '@partner-payments/wire'
import { newId, randomBytes, type Sealer } from '../../kernel/index.ts'
import type { Database, Tx } from '../../postgres/index.ts'
import * as store from './store-secrets.ts'
import type { SubscriptionKey } from './store-subscriptions.ts'

/** The newest key first, and when the first of them ends. */
export type Signing = { readonly keys: readonly SigningKey[]; readonly until: Date | null }

export type Signature = (typeof wire.signatures)[number]

/** Of HMAC as of Ed25519: Standard DeliveryEngine asks for 24 to 64 of the one, RFC 8032 for 32 of the other. */
const keyBytes = 32
/** Opened keys that a process remembers: twenty subscriptions of five hundred partners. */
const openKeysMax = 10_000
const sweepRowsMax = 1000

const sealContext = ({ partnerId, subscriptionId }: SubscriptionKey) => [
  'delivery.subscriptions',
  'secret_sealed',
  partnerId,
  subscriptionId,
]

/** What the partner is shown of a new key: the secret itself, or the public half of it. */
export function shownOf(key: SigningKey): { readonly secret?: string; readonly publicKey?: string } {
  const text = verifyingKeyText(key)
  return key.kind === 'v1' ? { secret: text } : { publicKey: text }
}

export function createSecrets({ sealer }: { readonly sealer: Sealer }) {
  /** By the id of the row, whose secret never changes. That it still signs is asked of the database, each time. */
  const opened = new Map<string, SigningKey>()
  const open = (row: store.SecretRow): SigningKey => {
    const known = opened.get(row.id)
    if (known !== undefined) return known
    const key = readSigningKey(sealer.open(row.secretSealed, sealContext(row)))
    const oldest = opened.size >= openKeysMax ? opened.keys().next().value : undefined
    if (oldest !== undefined) opened.delete(oldest)
    opened.set(row.id, key)
    return key
  }

  /** A new key, stored; it signs from the commit on. */
  const add = async (tx: Tx, subscription: SubscriptionKey, kind: Signature, now: Date): Promise<SigningKey> => {
    const key: SigningKey = { kind, key: randomBytes(keyBytes) }
    const secretSealed = sealer.seal(signingKeyText(key), sealContext(subscription))
    await store.insertSecret(tx, { ...subscription, id: newId(), signature: kind, secretSealed, createdAt: now })
    return key
  }

  /** What signs for each of the subscriptions at `now`, by their ids. */
  const signingKeys = async (
    tx: Tx,
    subscriptions: readonly SubscriptionKey[],
    now: Date,
  ): Promise<ReadonlyMap<string, Signing>> => {
    if (subscriptions.length === 0) return new Map()
    const rows = Map.groupBy(await store.liveSecrets(tx, subscriptions, now), (row) => row.subscriptionId)
    return new Map([...rows].map(([id, of]) => [id, { keys: of.map(open), until: of.at(-1)?.expiresAt ?? null }]))
  }

  return {
    add,
    signingKeys,

    /**
     * A new key; those before it sign until `endsAt` at most. The caller holds the subscription's row. Undefined where
     * more would sign than may, which an `endsAt` of now never comes to.
     */
    rotate: async (
      tx: Tx,
      subscription: SubscriptionKey,
      { kind, endsAt, now }: { readonly kind: Signature; readonly endsAt: Date; readonly now: Date },
    ): Promise<SigningKey | undefined> => {
      await store.endSecrets(tx, subscription, endsAt)
      const alive = await store.liveSecrets(tx, [subscription], now)
      return alive.length < wire.activeSecretsMax ? add(tx, subscription, kind, now) : undefined
    },

    /** What verifies the newest key of each, where that may be shown: the public keys of `v1a`. */
    publicKeys: async (
      tx: Tx,
      subscriptions: readonly SubscriptionKey[],
      now: Date,
    ): Promise<ReadonlyMap<string, string>> => {
      const signing = [...(await signingKeys(tx, subscriptions, now))]
      return new Map(
        signing.flatMap(
          ([
            id,
            {
              keys: [newest],
            },
          ]) => (newest?.kind === 'v1a' ? [[id, verifyingKeyText(newest)] as const] : []),
        ),
      )
    },

    drop: store.deleteSecrets,

    /** Housekeeping: forgets what signs no more. Answers how many. */
    sweep: async (db: Database, now: Date): Promise<number> => {
      const rows = await store.expiredSecrets(db, now, sweepRowsMax)
      let did = 0
      for (const [partnerId, of] of Map.groupBy(rows, (row) => row.partnerId))
        did += await store.deleteExpired(
          db,
          partnerId,
          of.map((row) => row.id),
          now,
        )
      return did
    },
  }
}

export type Secrets = ReturnType<typeof createSecrets>
