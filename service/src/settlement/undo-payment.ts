/** Undoes the match of a payment with a debit of a bank by files that was for something else. */
import { Refusal } from '../api/index.ts'
import { type Cases, operatorPartnerId } from '../cases/index.ts'
import { amountText, type Currency, newId } from '../kernel/index.ts'
import type { Ledger } from '../ledger/index.ts'
import { instructionIdOf, lockPayouts, type PayoutLife, type PayoutRow } from '../modules/payouts/index.ts'
import type { Tx } from '../postgres/index.ts'
import type { BankBooks, BankEntry } from '../rails/index.ts'

export type UndonePayment = { readonly caseId: string; readonly amount: string; readonly currency: Currency }

/**
 * Returns the money of the payment to its balance, as the bank has not paid it, and puts the debit into suspense with a case `unknown_debit`:
 * two persons find what it paid. Refuses: not_found, validation_failed (the payment is not `Completed`, or no debit of its own has paid it).
 */
export type UndoPayment = (
  tx: Tx,
  payment: { readonly partnerId: string; readonly payoutId: string },
) => Promise<UndonePayment>

type Deps = {
  readonly payoutLife: Pick<PayoutLife, 'matched'>
  readonly books: BankBooks
  readonly cases: Pick<Cases, 'record'>
  readonly ledger: Pick<Ledger, 'settleMany'>
}

const refuse = (detail: string) => new Refusal('validation_failed', detail)

export const createUndoPayment =
  ({ payoutLife, books, cases, ledger }: Deps): UndoPayment =>
  async (tx, { partnerId, payoutId }) => {
    const [payout] = await lockPayouts(tx, [{ partnerId, id: payoutId }])
    if (payout === undefined) throw new Refusal('not_found', 'The partner has no such payout.')
    const entry = await debitOf(tx, books, payout)
    const { amount, currency, connector } = payout
    const notificationId = `undo ${newId()}`
    const details = 'The debit of the bank was for something else: the bank has not paid this payment.'
    const applied = await payoutLife.matched(tx, {
      partnerId,
      payoutId,
      report: { connector, notificationId, money: { currency, amount } },
      returned: { errorKey: 'BankRejection', details },
    })
    if (applied !== true) throw refuse('The balance of the payment takes no money: it is closed.')
    await books.unmatch(tx, entry.id, { partnerId, id: instructionIdOf(payout) })
    const caseId = newId()
    const of = { id: caseId, partnerId: operatorPartnerId, kind: 'unknown_debit', connector, notificationId } as const
    const money = { currency, amount }
    const report = {
      kind: 'debit.booked',
      account: entry.account,
      money,
      details: `It was matched with ${payout.reference}.`,
    }
    const suspended = await cases.record(tx, [
      { ...of, subject: entry.id, report, booked: { currency, amount: -amount } },
    ])
    await ledger.settleMany(tx, [], suspended)
    return { caseId, amount: amountText(amount, currency), currency }
  }

async function debitOf(tx: Tx, books: BankBooks, payout: PayoutRow): Promise<BankEntry> {
  const { status, amount } = payout
  if (status !== 'Completed') throw refuse(`The payout is ${status}: only one that a bank has paid was matched.`)
  const id = instructionIdOf(payout)
  const [instruction] = await books.instructions(tx, [id])
  const entry =
    instruction === undefined || instruction.entryId === null ? undefined : await books.entryOf(tx, instruction.entryId)
  if (entry?.subjectId !== id || entry.amount !== -amount)
    throw refuse('No debit of this amount, for this payment alone, is in the files of a bank.')
  return entry
}
