/**
 * Cancels a credit that counts and that the bank does not have: its statement omits it, or a correction does. Two persons decide it by the
 * bank's word. Settlement then takes the money back as for a reversal of the bank.
 */
import { Refusal } from '../../api/index.ts'
import { amountText, type Clock, type Currency, newId } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import { type Report, writeReports } from './reports.ts'
import { insertCancellation, lockAbsentCredit } from './store-announced.ts'

const matchedBy = JSON.stringify({ rule: 'two persons', agreed: ['decision'] })

export type CancelledEntry = { readonly entryId: string; readonly amount: string; readonly currency: string }

/** `id`: of the entry, which is the subject of its case. Refuses: validation_failed. */
export const createCancelEntry =
  ({ clock, operatorId }: { readonly clock: Clock; readonly operatorId: string }) =>
  async (tx: Tx, id: string): Promise<CancelledEntry> => {
    const credit = await lockAbsentCredit(tx, operatorId, id)
    if (credit === undefined)
      throw new Refusal(
        'validation_failed',
        'Only a credit that is in the ledger, on no statement and not reversed can be cancelled.',
      )
    const now = clock.now()
    const entryId = newId()
    const currency = credit.currency as Currency
    const details = `The bank does not have the credit of ${credit.bookedOn}: its statement omits it.`
    const facts = { money: { currency, amount: credit.amount }, details }
    const report: Report = {
      partnerId: operatorId,
      id: newId(),
      subjectId: id,
      entryId,
      kind: 'credit.reversed',
      facts,
    }
    insertCancellation(tx, operatorId, { id: entryId, creditId: id, matchedBy, now })
    writeReports(tx, credit.connector, [report], now)
    return { entryId: id, amount: amountText(credit.amount, currency), currency }
  }
