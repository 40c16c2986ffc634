/** Loads subscriptions, and adds what the partner sees beside the stored columns. */
import { notFound } from '../../api/index.ts'
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

export function createSubscriptionView(clock: Clock, secrets: Secrets): SubscriptionView {
  const many: SubscriptionView['many'] = async (tx, partnerId, rows) => {
    const keys = rows.filter((row) => row.signature === 'v1a').map((row) => ({ partnerId, subscriptionId: row.id }))
    const publicKeys = await secrets.publicKeys(tx, keys, clock.now())
    return rows.map((row) => {
      const publicKey = publicKeys.get(row.id)
      const subscription = { ...row, warnings: warningsFor(row.events) }
      return publicKey === undefined ? subscription : { ...subscription, publicKey }
    })
  }
  return {
    many,
    one: async (tx, partnerId, row) => (await many(tx, partnerId, [row]))[0] as Subscription,
  }
}
