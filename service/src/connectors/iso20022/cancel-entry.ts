/**
 * Cancels an entry that counts and that the bank does not have: its statement omits it, or a correction does. Two persons decide it by the
 * bank's word. Settlement then takes the money of a credit back as for a reversal of the bank, and returns the money of a payment.
 */
import { Refusal } from '../../api/index.ts'
import { amountText, type Clock, type Currency, newId } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import { type Report, writeReports } from './reports.ts'
import { absolute } from './scores.ts'
import { type Absentee, insertCancellation, lockAbsent } from './store-announced.ts'
import { returnInstruction } from './store-books.ts'

const matchedBy = JSON.stringify({ rule: 'two persons', agreed: ['decision'] })

export type CancelledEntry = { readonly entryId: string; readonly amount: string; readonly currency: Currency }

/** `id`: of the entry, which is the subject of its case. Refuses: validation_failed. */
export const createCancelEntry =
  ({ clock, operatorId }: { readonly clock: Clock; readonly operatorId: string }) =>
  async (tx: Tx, id: string): Promise<CancelledEntry> => {
    const entry = await lockAbsent(tx, operatorId, id)
    if (entry === undefined)
      throw new Refusal(
        'validation_failed',
        'Only a credit, or the debit of one payment, that is in the ledger, on no statement and not taken back can be cancelled.',
      )
    const now = clock.now()
    const report = reportOf(entry, { id, operatorId })
    const { partnerId, subjectId, kind } = report
    const isPayment = kind === 'payout.returned'
    const subject = { partnerId, id: subjectId }
    if (isPayment) await returnInstruction(tx, subject, now)
    const cancellation = { id: report.entryId, entryId: id, subject, matchedBy, now } as const
    insertCancellation(tx, operatorId, { ...cancellation, kind: isPayment ? 'return' : 'reversal' })
    writeReports(tx, entry.connector, [report], now)
    return { entryId: id, amount: amountText(entry.amount, entry.currency), currency: entry.currency }
  }

function reportOf(
  { amount, currency, bookedOn, subjectId, subjectPartnerId }: Absentee,
  { id, operatorId }: { readonly id: string; readonly operatorId: string },
): Report & { readonly entryId: string } {
  const reportId = newId()
  const entryId = newId()
  const money = { currency, amount: absolute(amount) }
  if (subjectId === null || subjectPartnerId === null) {
    const details = `The bank does not have the credit of ${bookedOn}: its statement omits it.`
    return {
      partnerId: operatorId,
      id: reportId,
      subjectId: id,
      entryId,
      kind: 'credit.reversed',
      facts: { money, details },
    }
  }
  const details = `The bank did not pay on ${bookedOn}: its statement omits the payment.`
  const facts = { errorKey: 'BankRejection', details, reasonCode: null, money } as const
  return { partnerId: subjectPartnerId, id: reportId, subjectId, entryId, kind: 'payout.returned', facts }
}
