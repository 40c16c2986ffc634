/**
 * Ends a payment by the word of the bank that people have in writing: the bank's file with the status never comes. A later booking that says
 * otherwise opens a case, as it does after a status of the bank.
 */
import { Refusal } from '../../kernel/api/index.ts'
import type { Clock } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import type { InstructionKey } from '../../rails/index.ts'
import { applyWord } from './statuses.ts'
import { filesByIds } from './store-instructions.ts'
import { paymentById } from './store-recalls.ts'
import { lockSent } from './store-incoming.ts'

/** `paid`: the bank has executed it. `not-paid`: it has not, and will not. */
export const paymentEnds = ['paid', 'not-paid'] as const
export type PaymentEnd = (typeof paymentEnds)[number]

type Deps = { readonly clock: Clock; readonly operatorId: string }

/** The id is that of the instruction. Refuses: not_found, validation_failed (it has an end, or is not at the bank). */
export const createEndPayment =
  ({ clock, operatorId }: Deps) =>
  async (tx: Tx, { partnerId, id, end }: InstructionKey & { readonly end: PaymentEnd }): Promise<void> => {
    const payment = await paymentById(tx, { partnerId, id })
    if (payment === undefined) throw new Refusal('not_found', 'No file-based bank has this payment.')
    const [sent] = await lockSent(tx, payment.connector, [{ partnerId, id }])
    if (sent === undefined) throw new Refusal('not_found', 'No file-based bank has this payment.')
    const { status, fileId } = sent
    if (status !== 'Filed' && status !== 'Accepted')
      throw new Refusal(
        'validation_failed',
        `The payment is ${status}. Only a payment that waits at the bank can be ended by hand.`,
      )
    const file = fileId === null ? undefined : (await filesByIds(tx, [fileId])).get(fileId)
    if (file?.state !== 'Delivered')
      throw new Refusal('validation_failed', 'The file of the payment is not at the bank yet.')
    await applyWord(
      tx,
      { clock, operatorId, rules: { id: payment.connector } },
      sent,
      end === 'paid' ? 'settled' : 'rejected',
    )
  }
