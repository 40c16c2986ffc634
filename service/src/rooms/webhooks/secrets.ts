/** What signs the deliveries of a subscription, sealed under it, so that a secret copied to another row does not open. */
import { readSigningKey, type SigningKey, signingKeyText } from '@partner-payments/wire'
import { newId, randomBytes, type Sealer } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import type { SubscriptionKey } from './store.ts'
import * as store from './store-secrets.ts'

const keyBytes = 32
const openKeysMax = 10_000

const sealContext = ({ partnerId, subscriptionId }: SubscriptionKey) => [
  'webhooks.subscriptions',
  'secret_sealed',
  partnerId,
  subscriptionId,
]

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

  return {
    /** A new key, stored; it signs from the commit on. */
    add: async (tx: Tx, subscription: SubscriptionKey, now: Date): Promise<string> => {
      const secret = signingKeyText({ kind: 'v1', key: randomBytes(keyBytes) })
      const secretSealed = sealer.seal(secret, sealContext(subscription))
      await store.insertSecret(tx, { ...subscription, id: newId(), secretSealed, createdAt: now })
      return secret
    },

    /** The keys that sign for each of the subscriptions at `now`, by their ids, the newest first. */
    signingKeys: async (
      tx: Tx,
      subscriptions: readonly SubscriptionKey[],
      now: Date,
    ): Promise<ReadonlyMap<string, readonly SigningKey[]>> => {
      if (subscriptions.length === 0) return new Map()
      const rows = Map.groupBy(await store.liveSecrets(tx, subscriptions, now), (row) => row.subscriptionId)
      return new Map([...rows].map(([subscriptionId, of]) => [subscriptionId, of.map(open)]))
    },
  }
}

export type Secrets = ReturnType<typeof createSecrets>
