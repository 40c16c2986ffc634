/** Loads subscriptions, and adds what the partner sees beside the stored columns. */
import { notFound } from '../../kernel/api/index.ts'
import type { Clock } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import { warningsFor } from './rules.ts'
import type { Secrets } from './secrets.ts'
import * as store from './store-subscriptions.ts'

export type Subscription = store.SubscriptionRow & {
  /** Present if the signature is `v1a`. */
  readonly publicKey?: string
  readonly warnings: readonly string[]
}

/** Refuses: not_found. */
export async function loadSubscription(tx: Tx, partnerId: string, id: string): Promise<store.SubscriptionRow> {
  const row = await store.subscriptionById(tx, partnerId, id)
  if (row === undefined) throw notFound('webhook subscription')
  return row
}

export type SubscriptionView = {
  readonly one: (tx: Tx, partnerId: string, row: store.SubscriptionRow) => Promise<Subscription>
  readonly many: (tx: Tx, partnerId: string, rows: readonly store.SubscriptionRow[]) => Promise<Subscription[]>
}

/** Only a rotation without overlap ends the unreadable key at once. */
const unreadableKeyWarning =
  'The signing key cannot be read, so that deliveries wait. Rotate the secret with `overlapSeconds` 0.'

export function createSubscriptionView(clock: Clock, secrets: Secrets): SubscriptionView {
  const many: SubscriptionView['many'] = async (tx, partnerId, rows) => {
    const keys = rows.filter((row) => row.signature === 'v1a').map((row) => ({ partnerId, subscriptionId: row.id }))
    const { found, unreadable } = await secrets.publicKeys(tx, keys, clock.now())
    return rows.map((row) => {
      const publicKey = found.get(row.id)
      const warnings = [...warningsFor(row), ...(unreadable.has(row.id) ? [unreadableKeyWarning] : [])]
      const subscription = { ...row, warnings }
      return publicKey === undefined ? subscription : { ...subscription, publicKey }
    })
  }
  return {
    many,
    one: async (tx, partnerId, row) => (await many(tx, partnerId, [row]))[0] as Subscription,
  }
}
