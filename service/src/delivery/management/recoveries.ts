/** The operations of a partner on recoveries. A recovery redelivers every undelivered event in a time range. */
import { type Static, webhooks as wire } from '@partner-payments/wire'
import { type Cursors, notFound, type Page, readTime, Refusal, refuseField } from '../../api/index.ts'
import { after, dayMs, newId } from '../../kernel/index.ts'
import { inTransaction, type Tx } from '../../postgres/index.ts'
import { createRecoverySteps, type RecoveryStepDeps } from './recovery-steps.ts'
import * as store from './store-recoveries.ts'
import { lockSubscription } from './store-subscriptions.ts'
import { loadSubscription } from './subscription-view.ts'

export type Recovery = store.RecoveryRow
export type RecoveriesDeps = RecoveryStepDeps & { readonly cursors: Cursors }

/** Recoveries kept per subscription. */
const recoveriesKeptMax = 100

/** Refuses (400): an empty range, an `until` in the future, and a `since` before the retention period. */
function readRange({ since, until }: Static<typeof wire.RecoveryStart>, now: Date) {
  const range = { since: readTime(since), until: until === undefined ? now : readTime(until) }
  const refuse = (pointer: string, message: string) => refuseField({ pointer, code: 'out_of_range', message })
  if (range.until > now) throw refuse('/until', 'must not be in the future')
  if (range.since < after(now, -wire.eventRetentionDays * dayMs))
    throw refuse('/since', `must be at most ${wire.eventRetentionDays} days ago`)
  if (range.since >= range.until) throw refuse('/since', 'must be before until; the default of until is now')
  return range
}

export function createRecoveries(deps: RecoveriesDeps) {
  const { db, clock, cursors } = deps
  return {
    ...createRecoverySteps(deps),

    /**
     * Starts a recovery, which a worker carries out. Refuses: validation_failed (/since, /until), not_found,
     * recovery_in_progress.
     */
    recover: (
      partnerId: string,
      id: string,
      input: Static<typeof wire.RecoveryStart>,
      outerTx?: Tx,
    ): Promise<Recovery> =>
      inTransaction(db, outerTx, async (tx) => {
        const now = clock.now()
        const key = { partnerId, subscriptionId: id }
        // The lock serialises concurrent starts.
        if ((await lockSubscription(tx, partnerId, id)) === undefined) throw notFound('webhook subscription')
        const range = readRange(input, now)
        const running = await store.runningRecovery(tx, key)
        if (running !== undefined)
          throw new Refusal(
            'recovery_in_progress',
            `The recovery ${running} is still running. Wait until it is completed.`,
          )
        const row: Recovery = {
          id: newId(),
          subscriptionId: id,
          since: range.since,
          until: range.until,
          status: 'Running',
          afterSequence: 0n,
          examined: 0n,
          recovered: 0n,
          createdAt: now,
          updatedAt: now,
        }
        await store.deleteOldRecoveries(tx, key, recoveriesKeptMax - 1)
        await store.insertRecovery(tx, partnerId, row)
        return row
      }),

    /** Refuses: not_found. */
    recovery: async (partnerId: string, id: string, recoveryId: string): Promise<Recovery> => {
      await loadSubscription(db, partnerId, id)
      const row = await store.recoveryById(db, { partnerId, subscriptionId: id }, recoveryId)
      if (row === undefined) throw notFound('recovery')
      return row
    },

    /** Newest first. Refuses: not_found. */
    recoveries: async (
      partnerId: string,
      id: string,
      query: Static<typeof wire.RecoveryQuery>,
    ): Promise<Page<Recovery>> => {
      await loadSubscription(db, partnerId, id)
      const list = `${partnerId} recoveries of ${id}`
      const request = cursors.read(list, query)
      const key = { partnerId, subscriptionId: id }
      const rows = await store.listRecoveries(db, key, request.afterId, request.limit + 1)
      return cursors.page(list, request, rows)
    },
  }
}

export type Recoveries = ReturnType<typeof createRecoveries>
