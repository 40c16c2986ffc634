/** Stops the refunds of a payment that its bank takes back, so that the money does not leave twice. */
import type { Cases } from '../cases/index.ts'
import type { PaymentRefunds } from '../deposits/index.ts'
import type { PayoutLife, Payouts } from '../payouts/index.ts'
import * as store from './store.ts'

type Deps = {
  readonly cases: Pick<Cases, 'openAbout'>
  readonly payouts: Pick<Payouts, 'byIds'>
  readonly payoutLife: Pick<PayoutLife, 'stopRefunds'>
}

const undone: ReadonlySet<string> = new Set(['Cancelled', 'Failed', 'Returned'])

export const createPaymentRefunds = ({ cases, payouts, payoutLife }: Deps): PaymentRefunds => ({
  stop: async (tx, { partnerId, id: depositId, partId }) => {
    const ids = await store.refundsOfDeposit(tx, partnerId, depositId, partId)
    if (ids.length === 0) return []
    const made = (await payouts.byIds(tx, partnerId, ids)).filter(({ status }) => !undone.has(status))
    // The money of a listed party stays reserved until two persons close its case, which has the id of the payout.
    const frozen = new Set((await cases.openAbout(tx, partnerId, ids)).map(({ id }) => id))
    const waiting = made
      .filter(({ id, status }) => (status === 'Pending' || status === 'PendingApproval') && !frozen.has(id))
      .map(({ id }) => id)
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
