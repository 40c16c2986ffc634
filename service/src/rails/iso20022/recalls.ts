/** Requests to take payments back. */
import { Refusal } from '../../api/index.ts'
import { type Clock, newId } from '../../kernel/index.ts'
import type { Database, Tx } from '../../postgres/index.ts'
import type { InstructionKey } from '../port.ts'
import * as store from './store-recalls.ts'

/** ExternalCancellationReason1Code, as SEPA takes them from the payer: doubled, technical, fraud, by the customer, wrong account, wrong amount. */
export const recallReasons = ['DUPL', 'TECH', 'FRAD', 'CUST', 'AC03', 'AM09'] as const
export type RecallReason = (typeof recallReasons)[number]

const atBank: ReadonlySet<string> = new Set(['Filed', 'Accepted', 'Settled'])

export type RecallRequest = InstructionKey & { readonly reason: RecallReason; readonly staff: string }

/** Refuses: not_found, validation_failed. `id` of the request is that of the instruction. */
export const createRequestRecall =
  ({ db, clock }: { readonly db: Database; readonly clock: Clock }) =>
  ({ partnerId, id, reason, staff }: RecallRequest, also?: (tx: Tx) => Promise<void>): Promise<store.RecallView> =>
    db.transaction(async (tx) => {
      const payment = await store.paymentById(tx, { partnerId, id })
      if (payment === undefined) throw new Refusal('not_found', 'No bank by files has this payment.')
      if (!atBank.has(payment.status))
        throw new Refusal(
          'validation_failed',
          `The payment is ${payment.status}: only one that is at the bank can be recalled.`,
        )
      const { connector } = payment
      const row = { partnerId, id: newId(), connector, instructionId: id, reason, requestedBy: staff, now: clock.now() }
      if ((await store.insertRecall(tx, row)) === 0) throw new Refusal('validation_failed', 'The payment has a recall.')
      const recall = await store.recallOf(tx, { partnerId, id })
      if (recall === undefined) throw new Refusal('not_found', 'No such recall.')
      await also?.(tx)
      return recall
    })
