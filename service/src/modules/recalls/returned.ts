/** The recalls by which the money of payouts comes back, in the transaction that books the money. */
import { type Minor, partnerKey } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import type { PayoutRow } from '../payouts/store.ts'
import type { AdvanceRecalls } from './advance.ts'
import * as store from './store.ts'

type Payout = Pick<PayoutRow, 'partnerId' | 'id'>
/** By `partnerKey(partnerId, payoutId)`. */
export type RecallsOfPayouts = ReadonlyMap<string, store.RecallRow>
export type ReturnOfPayout = { readonly payout: Payout; readonly amount: Minor; readonly reference: string }

/** The one that was agreed to, otherwise the newest. A payout without a recall is absent: its bank sent the money of itself. */
export async function recallsBehind(tx: Tx, payouts: readonly Payout[]): Promise<RecallsOfPayouts> {
  if (payouts.length === 0) return new Map()
  const rows = await store.lockRecallsOf(tx, payouts)
  const found = new Map<string, store.RecallRow>()
  for (const row of rows) {
    const key = partnerKey(row.partnerId, row.payoutId)
    if (found.get(key)?.status !== 'Accepted') found.set(key, row)
  }
  return found
}

/** The caller holds the locks of the recalls. */
export async function settleRecalls(
  tx: Tx,
  advance: AdvanceRecalls,
  recalls: RecallsOfPayouts,
  returns: readonly ReturnOfPayout[],
): Promise<void> {
  const batch = returns.flatMap(({ payout, amount, reference }) => {
    const recall = recalls.get(partnerKey(payout.partnerId, payout.id))
    if (recall === undefined) return []
    const { partnerId, id } = recall
    return [{ key: { partnerId, id }, trigger: { kind: 'returned' as const, amount, reference } }]
  })
  if (batch.length > 0) await advance(tx, batch)
}
