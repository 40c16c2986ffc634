/**
 * Cancels the payouts of a blocked account that are not begun. The block writes a row of what is left; the operator's command works on it
 * at once, and a worker ends what a command has left. The account stays blocked until the row is gone, so that each payout which
 * is found was accepted before the block (docs/decisions/0056-states-of-accounts.md).
 */
import { after, type Clock, type Log, secondMs } from '../kernel/index.ts'
import type { Database, Tx } from '../postgres/index.ts'
import * as store from './store.ts'

/** A balance, or the account of a customer. */
type CancelledOf = store.BlockedAccount

export type Cancellations = {
  /** Works on one page of one account that is due. Returns how many accounts it has worked on: 0 or 1. */
  readonly step: () => Promise<number>
  /** Cancels what a block has left; waits for a worker that has it. Returns how many payouts this call has cancelled. */
  readonly finish: (partnerId: string, of: CancelledOf) => Promise<number>
  /** The time of the oldest block that has payouts to cancel; null: none has. */
  readonly oldestBlock: () => Promise<Date | null>
}

type CancellationsDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  /** The ids of payouts of an account that are not begun, oldest first. */
  readonly waitingPayouts: (tx: Tx, partnerId: string, of: CancelledOf, rowsMax: number) => Promise<readonly string[]>
  /** False: a worker has begun it, or it has ended. */
  readonly cancelPayout: (partnerId: string, payoutId: string) => Promise<boolean>
}

const payoutsPerPage = 128
/** Longer than a page takes. The command that blocks has the first lease, so that it counts what it cancels. */
export const cancellationLeaseMs = 10 * secondMs

/** `failed`: errors of payouts that are tried again after the lease. */
type Page = { readonly cancelled: number; readonly failed: readonly unknown[] }

export function createCancellations(deps: CancellationsDeps): Cancellations {
  const { db, clock, log } = deps
  const work = createWork(deps)
  return {
    step: async () => {
      const now = clock.now()
      const due = await store.partnerWithCancellation(db, now)
      if (due === undefined) return 0
      const { partnerId } = due
      const page = await work(partnerId, (tx) => store.lockDueCancellation(tx, partnerId, now))
      if (page === undefined) return 0
      for (const err of page.failed) log.error({ err, partnerId }, 'payout of a blocked account not cancelled')
      if (page.cancelled > 0)
        log.info({ partnerId, payouts: page.cancelled }, 'worker cancelled payouts of a blocked account')
      return 1
    },
    finish: async (partnerId, of) => {
      let cancelled = 0
      for (;;) {
        const page = await work(partnerId, (tx) => store.lockCancellation(tx, partnerId, of))
        if (page === undefined) return cancelled
        cancelled += page.cancelled
        if (page.failed.length > 0) throw page.failed[0]
      }
    },
    oldestBlock: () => store.oldestCancellation(db),
  }
}

function createWork({ db, clock, waitingPayouts, cancelPayout }: CancellationsDeps) {
  /** The lock of the row keeps the account blocked while the page is read. */
  const readPage = (partnerId: string, lock: (tx: Tx) => Promise<store.Cancellation | undefined>) =>
    db.transaction(async (tx) => {
      const row = await lock(tx)
      if (row === undefined) return undefined
      const ids = await waitingPayouts(tx, partnerId, row, payoutsPerPage)
      if (ids.length === 0) await store.deleteCancellation(tx, partnerId, row.id)
      else await store.leaseCancellation(tx, partnerId, row.id, after(clock.now(), cancellationLeaseMs))
      return { row, ids }
    })
  return async (
    partnerId: string,
    lock: (tx: Tx) => Promise<store.Cancellation | undefined>,
  ): Promise<Page | undefined> => {
    const page = await readPage(partnerId, lock)
    if (page === undefined) return undefined
    const { row, ids } = page
    const results = await Promise.allSettled(ids.map((id) => cancelPayout(partnerId, id)))
    const failed = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []))
    if (ids.length > 0 && failed.length === 0) await store.leaseCancellation(db, partnerId, row.id, clock.now())
    return { cancelled: results.filter((result) => result.status === 'fulfilled' && result.value).length, failed }
  }
}
