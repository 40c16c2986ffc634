/** Stops the refunds of a payment that its bank takes back, so that the money does not leave twice. */
import type { Cases } from '../../cases/index.ts'
import type { PaymentRefunds } from '../deposits/index.ts'
import type { PayoutLife, Payouts } from '../payouts/index.ts'
import * as store from './store-refunds.ts'

type Deps = {
  readonly cases: Pick<Cases, 'byId'>
  readonly payouts: Pick<Payouts, 'byIds'>
  readonly payoutLife: Pick<PayoutLife, 'stopRefunds'>
}

const undone: ReadonlySet<string> = new Set(['Cancelled', 'Failed', 'Returned'])

export const createPaymentRefunds = ({ cases, payouts, payoutLife }: Deps): PaymentRefunds => ({
  stop: async (tx, { partnerId, id: depositId, partId }) => {
    const ids = await store.refundsOfDeposit(tx, partnerId, depositId, partId)
    if (ids.length === 0) return []
    const made = (await payouts.byIds(tx, partnerId, ids)).filter(({ status }) => !undone.has(status))
    const waiting: string[] = []
    for (const { id, status } of made) {
      if (status !== 'Pending' && status !== 'PendingApproval') continue
      // The money of a listed party stays reserved until two persons close its case.
      const frozen = await cases.byId(tx, partnerId, id)
      if (frozen?.resolution !== null) waiting.push(id)
    }
    if (waiting.length > 0) await payoutLife.stopRefunds(tx, partnerId, waiting)
    const now = await payouts.byIds(
      tx,
      partnerId,
      made.map(({ id }) => id),
    )
    return now
      .toSorted((one, other) => (one.id < other.id ? 1 : -1))
      .map(({ id: payoutId, reference, status, currency, amount }) => ({
        payoutId,
        reference,
        status,
        currency,
        amount,
      }))
  },
})
