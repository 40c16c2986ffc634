/** Recalls: requests to take payments back. */
import { Refusal } from '../../kernel/api/index.ts'
import { after, type Clock, newId, secondMs } from '../../kernel/index.ts'
import type { Database, Tx } from '../../postgres/index.ts'
import type { InstructionKey, RecallOutcome, RecallRequest as PortRecall } from '../../rails/index.ts'
import type { BankDeps } from './deps.ts'
import { filesByIds } from './store-instructions.ts'
import * as store from './store-recalls.ts'

/**
 * ExternalCancellationReason1Code, as SEPA accepts it from the payer: doubled, technical, fraud, by the customer, wrong
 * account, wrong amount.
 */
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
      if (payment === undefined) throw new Refusal('not_found', 'No file-based bank has this payment.')
      if (!atBank.has(payment.status))
        throw new Refusal(
          'validation_failed',
          `The payment is ${payment.status}: only a payment that is at the bank can be recalled.`,
        )
      const { connector } = payment
      const row = {
        partnerId,
        id: newId(),
        connector,
        instructionId: id,
        reason,
        details: null,
        requestedBy: staff,
        now: clock.now(),
      }
      if ((await store.insertRecall(tx, row)) === 0) throw new Refusal('validation_failed', 'The payment has a recall.')
      const recall = await store.recallOf(tx, { partnerId, id })
      if (recall === undefined) throw new Refusal('not_found', 'No such recall.')
      await also?.(tx)
      return recall
    })

/** How long a file of recalls usually takes to the bank. */
const deliveryMs = 10 * secondMs

/**
 * Stores a partner's request in the table of the operator's, so that a payment has one open request at the bank. A
 * repetition is the same request. If the operator has recalled the payment, that request and its answer count for both.
 */
export const createTakeRecall =
  ({ db, clock, rules }: Pick<BankDeps, 'db' | 'clock' | 'rules'>) =>
  (request: PortRecall): Promise<RecallOutcome> =>
    db.transaction(async (tx) => {
      const { partnerId, instructionId, reason, details, requestedBy } = request
      const payment = await store.paymentById(tx, { partnerId, id: instructionId })
      if (payment?.connector !== rules.id || !atBank.has(payment.status))
        return { taken: false, details: 'The bank does not have the payment.', reasonCode: null }
      const own = await store.recallById(tx, request)
      if (own === undefined) {
        const row = { partnerId, id: request.id, connector: rules.id, instructionId, reason, details, requestedBy }
        await store.insertRecall(tx, { ...row, now: clock.now() })
      }
      const recall = own ?? (await store.recallOf(tx, { partnerId, id: instructionId }))
      if (recall === undefined || (recall.id !== request.id && recall.status === 'Refused'))
        return { taken: false, details: 'The payment has already been recalled.', reasonCode: null }
      const isKept = recall.status === 'Queued' || (recall.status === 'Sent' && !(await isDelivered(tx, recall)))
      return { taken: true, ...(isKept ? { notBefore: after(clock.now(), deliveryMs) } : {}) }
    })

/** A recall without a file went by a letter. */
async function isDelivered(tx: Tx, { fileId }: store.RecallView): Promise<boolean> {
  if (fileId === null) return true
  return (await filesByIds(tx, [fileId])).get(fileId)?.state === 'Delivered'
}
