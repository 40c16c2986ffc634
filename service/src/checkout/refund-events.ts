/** The event of a refund, when it is created and when it has ended. */
import type { EventData } from '@partner-payments/wire'
import type { EventOutbox } from '../events/index.ts'
import { writeAmount } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import type { EndedRefunds, PayoutRow } from '../payouts/index.ts'
import * as store from './store.ts'

type Data = Omit<EventData<'checkout.refund.updated'>, 'eventType' | 'timestamp'>
export type Refund = { readonly row: store.RefundRow; readonly payout: PayoutRow }

const dataOf = ({ row: { id, sessionId }, payout }: Refund): Data => ({
  amount: writeAmount(payout.amount, payout.currency),
  currency: payout.currency,
  customFields: null,
  idempotencyKey: payout.idempotencyKey,
  reference: payout.reference,
  websiteReference: null,
  refundId: id,
  sessionId,
  status: payout.status,
})

export function appendRefunds(eventOutbox: EventOutbox, tx: Tx, refunds: readonly Refund[], now: Date): void {
  eventOutbox.appendMany(
    tx,
    refunds.map((refund) => ({
      partnerId: refund.row.partnerId,
      type: 'checkout.refund.updated' as const,
      occurredAt: now,
      data: dataOf(refund),
    })),
  )
}

/** The part of checkout in the end of a payout: its event, in the transaction that moves the payout. */
export const createEndedRefunds = ({ eventOutbox }: { readonly eventOutbox: EventOutbox }): EndedRefunds => ({
  appendEnded: async (tx, ended, now) => {
    for (const [partnerId, payouts] of Map.groupBy(ended, (payout) => payout.partnerId)) {
      const rows = await store.refundsByIds(
        tx,
        partnerId,
        payouts.map(({ id }) => id),
      )
      const byId = new Map(rows.map((row) => [row.id, row]))
      const refunds = payouts.flatMap((payout): readonly Refund[] => {
        const row = byId.get(payout.id)
        return row === undefined ? [] : [{ row, payout }]
      })
      appendRefunds(eventOutbox, tx, refunds, now)
    }
  },
})
