/** How long payouts have stood in a status or waited for a person: for metrics and alerts. */
import { after, type Clock, minuteMs } from '../../kernel/index.ts'
import { oldestOf, type OldestUnfinished, type Unfinished } from '../../lifecycle/index.ts'
import type { Database } from '../../postgres/index.ts'
import { payoutAgeLimitsMs, payoutLifecycle } from './lifecycle.ts'
import { oldestIn, oldestInScreening } from './store-reads.ts'

export type PayoutAges = {
  /** The oldest payout in each status that is not final, of the given partners. */
  readonly oldestUnfinished: (partnerIds: readonly string[]) => Promise<readonly OldestUnfinished[]>
  /** The time since which the oldest payout waits for a decision about a name; null: none does. */
  readonly oldestInScreening: () => Promise<Date | null>
}

/** A connector keeps a payout whose due time is later by this much: longer than every delay between attempts. */
const keptMsMin = 10 * minuteMs
/** Partners of one statement, which makes a look-up for each of them and each status. */
const partnersPerLookMax = 1000

export function createPayoutAges({ db, clock }: { readonly db: Database; readonly clock: Clock }): PayoutAges {
  return {
    oldestUnfinished: async (partnerIds) => {
      const statuses = Object.keys(payoutAgeLimitsMs) as (keyof typeof payoutAgeLimitsMs)[]
      const rows: Unfinished[] = []
      const size = db.sharded ? 1 : partnersPerLookMax
      const keptBeyond = after(clock.now(), keptMsMin)
      for (let from = 0; from < partnerIds.length; from += size)
        rows.push(...(await oldestIn(db, partnerIds.slice(from, from + size), statuses, keptBeyond)))
      return oldestOf(payoutLifecycle.subject, payoutAgeLimitsMs, rows, clock.now())
    },
    oldestInScreening: () => oldestInScreening(db),
  }
}
