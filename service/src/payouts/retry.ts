/** The next attempt of a payout at once, by a person of the operator. */
import type { Clock } from '../kernel/index.ts'
import { notFound, Refusal } from '../kernel/api/index.ts'
import type { Tx } from '../postgres/index.ts'
import { makeDue, stateOf } from './store.ts'

/**
 * Makes the next attempt due now. The worker asks the bank before it sends anything, so that a retry is never a second payment. Refuses:
 * not_found, validation_failed (no attempt follows in its status, or one is running).
 */
export type Retry = (tx: Tx, partnerId: string, id: string) => Promise<void>

export const createRetry =
  ({ clock }: { readonly clock: Clock }): Retry =>
  async (tx, partnerId, id) => {
    const now = clock.now()
    if ((await makeDue(tx, partnerId, id, now)) === 1) return
    const state = await stateOf(tx, partnerId, id)
    if (state === undefined) throw notFound('payout')
    const { status, leaseId, dueAt } = state
    if (status !== 'Pending' && status !== 'Processing')
      throw new Refusal('validation_failed', `The payout is ${status}: no attempt follows.`)
    if (leaseId !== null && dueAt !== null && dueAt > now)
      throw new Refusal('validation_failed', `An attempt is running until ${dueAt.toISOString()}: wait for its end.`)
  }
