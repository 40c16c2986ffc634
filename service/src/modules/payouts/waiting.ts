/** Cancels the payouts of an account that the operator has blocked. */
import { nilId } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import type { Progress } from './progress.ts'
import { type WaitingOf, waitingPayouts } from './store-waiting.ts'

export type { WaitingOf }

const payoutsPerStep = 128

export const createCancelWaiting =
  (db: Tx, cancelPending: Progress['cancelPending']) =>
  async (partnerId: string, of: WaitingOf): Promise<number> => {
    let cancelled = 0
    let afterId = nilId
    for (;;) {
      const ids = await waitingPayouts(db, partnerId, of, afterId, payoutsPerStep)
      const done = await Promise.all(ids.map((id) => cancelPending(partnerId, id, 'operator')))
      cancelled += done.filter(Boolean).length
      const last = ids.at(-1)
      if (last === undefined) return cancelled
      afterId = last
    }
  }
