/** The recalls by which the money of payouts comes back, in the transaction that books the money. */
import { partnerKey } from '../../kernel/index.ts'
import type { ReturnedByRecall } from '../index.ts'
import { type AdvanceDeps, createAdvanceRecalls } from './advance.ts'
import * as store from './store.ts'

export function createReturnedByRecall(deps: AdvanceDeps): ReturnedByRecall {
  const advance = createAdvanceRecalls(deps)
  return {
    /**
     * Locks the recall that was agreed to, otherwise the newest. Without one, the bank returned the money on its own.
     */
    lock: async (tx, payouts) => {
      if (payouts.length === 0) return new Map()
      const found = new Map<string, store.RecallRow>()
      for (const row of await store.lockRecallsOf(tx, payouts)) {
        const key = partnerKey(row.partnerId, row.payoutId)
        if (found.get(key)?.status !== 'Accepted') found.set(key, row)
      }
      return found
    },
    settle: async (tx, returns) =>
      void (await advance(
        tx,
        returns.map(({ partnerId, recallId: id, amount, reference }) => ({
          key: { partnerId, id },
          trigger: { kind: 'returned', amount, reference },
        })),
      )),
  }
}
