/**
 * Corrects debits of a file-based bank, as two persons decided: one that was for another payment than it was matched with, and one that the
 * bank does not have. A debit is the payments that it paid and the cases of what it paid besides: every correction moves both, so that the
 * bank and the ledger agree at each step.
 */
import { Refusal } from '../../kernel/api/index.ts'
import { type CaseRow, type Cases, type NewCase, operatorPartnerId } from '../../cases/index.ts'
import { amountText, type Currency, type Minor, newId } from '../../kernel/index.ts'
import type { Ledger } from '../../ledger/index.ts'
import {
  instructionIdOf,
  lockPayouts,
  payoutById,
  type PayoutLife,
  payoutOfInstruction,
  type PayoutRow,
} from '../../payouts/index.ts'
import type { Tx } from '../../postgres/index.ts'
import type { BankBooks, BankEntry } from '../../rails/index.ts'

export type UndonePayment = { readonly caseId: string; readonly amount: string; readonly currency: Currency }

/**
 * Returns the money of the payment to its balance, as the bank has not paid it, and puts its debit, or its part of the debit of a batch, into
 * suspense with a case `unknown_debit`: two persons find what it paid. Refuses: not_found, validation_failed (the payment is not `Completed`,
 * or no debit in the files of a bank has paid it).
 */
export type UndoPayment = (
  tx: Tx,
  payment: { readonly partnerId: string; readonly payoutId: string },
) => Promise<UndonePayment>

export type CancelledEntry = {
  readonly entryId: string
  readonly amount: string
  readonly currency: Currency
  /** The case of money that had left suspense by a decision: people decide who gets it back. */
  readonly openedCaseId?: string
}

/**
 * Cancels an entry that counts and that its statement omits: its payments come back, and the money of its open cases leaves suspense.
 * Refuses: validation_failed.
 */
export type CancelEntry = (tx: Tx, entryId: string) => Promise<CancelledEntry>

type Deps = {
  readonly payoutLife: Pick<PayoutLife, 'matched'>
  readonly books: BankBooks
  readonly cases: Pick<Cases, 'hold' | 'openAbout' | 'record' | 'withdraw'>
  readonly ledger: Pick<Ledger, 'settleMany'>
}

const refuse = (detail: string) => new Refusal('validation_failed', detail)

export const createUndoPayment =
  (deps: Deps): UndoPayment =>
  async (tx, payment) => {
    const { payoutLife, books, cases, ledger } = deps
    const before = await debitOf(tx, books, payment)
    // In the order of a decision about a case, which locks the case first. The payments of a batch have their amounts.
    const open = before.isBatch ? [] : await openCasesOf(deps, tx, before.entry, payment)
    await lockPayouts(tx, [{ partnerId: payment.partnerId, id: payment.payoutId }])
    const { entry, instructionId, payout } = await debitOf(tx, books, payment)
    const { partnerId, amount, currency, connector, reference } = payout
    const notificationId = `undo ${newId()}`
    const details = 'The debit of the bank was for something else: the bank has not paid this payment.'
    const applied = await payoutLife.matched(tx, {
      ...payment,
      report: { connector, notificationId, money: { currency, amount } },
      returned: { errorKey: 'BankRejection', details },
    })
    if (applied !== true) throw refuse('The balance of the payment takes no money: it is closed.')
    await books.unmatch(tx, entry.id, { partnerId, id: instructionId })
    const left = amount - sumOf(open)
    const note = `The debit was taken from ${reference}, and another case has its money.`
    const named = { connector, notificationId, subject: entry.id }
    const opened: Opened = {
      ...{ partnerId: operatorPartnerId, id: newId(), kind: 'unknown_debit', ...named },
      report: {
        kind: 'debit.booked',
        account: entry.account,
        money: { currency, amount: left },
        details: `It was matched with ${reference}.`,
      },
      booked: { currency, amount: -left },
    }
    const withdrawn = await cases.withdraw(tx, open, note)
    await ledger.settleMany(tx, [], [...withdrawn, ...(await cases.record(tx, [opened]))])
    return { caseId: opened.id, amount: amountText(left, currency), currency }
  }

export const createCancelEntry =
  (deps: Deps): CancelEntry =>
  async (tx, entryId) => {
    const { books, cases, ledger } = deps
    const entry = await books.entryOf(tx, entryId)
    const isDebit = entry !== undefined && entry.amount < 0n
    const open = isDebit ? await openCasesOf(deps, tx, entry, await paidBy(tx, books, entry)) : []
    const cancelled = await books.cancel(tx, entryId)
    if (entry === undefined || cancelled === undefined)
      throw refuse(
        'Only a credit or a debit that is in the ledger, on no statement and not taken back can be cancelled.',
      )
    const { account, amount, currency } = entry
    const told = { entryId, amount: amountText(amount, currency), currency }
    // Settlement takes a credit back as it takes a reversal of the bank.
    if (!isDebit) return told
    const details = `The bank does not have the debit of ${entry.bookedOn}: its statement omits it.`
    const left = -amount - cancelled.cameBack + sumOf(open)
    // A subject of its own: a decision about it matches no entry.
    const named = { connector: cancelled.connector, notificationId: `cancel ${entryId}`, subject: newId() }
    const kind = left > 0n ? 'unknown_payment' : 'unknown_debit'
    const opened: Opened = {
      ...{ partnerId: operatorPartnerId, id: newId(), kind, ...named },
      report: { kind: 'entry.cancelled', account, entryId, money: { currency, amount: left }, details },
      booked: { currency, amount: left },
    }
    const withdrawn = await cases.withdraw(tx, open, details)
    const recorded = left === 0n ? [] : await cases.record(tx, [opened])
    await ledger.settleMany(tx, [], [...withdrawn, ...recorded])
    return left === 0n ? told : { ...told, openedCaseId: opened.id }
  }

type Opened = NewCase & { readonly id: string }

type Payment = { readonly partnerId: string; readonly payoutId: string }

/** Locks the open cases of the money that a debit moved beside its payment. */
async function openCasesOf(
  { cases }: Deps,
  tx: Tx,
  { id, subjectPartnerId }: BankEntry,
  payment: Payment | undefined,
): Promise<readonly CaseRow[]> {
  const partnerIds = new Set([operatorPartnerId, ...[subjectPartnerId ?? [], payment?.partnerId ?? []].flat()])
  const locked: CaseRow[] = []
  for (const partnerId of [...partnerIds].toSorted())
    for (const found of await cases.openAbout(tx, partnerId, [id, ...(payment ? [payment.payoutId] : [])])) {
      const isOfEntry = found.subject === id || found.kind === 'amount_differs'
      const row = isOfEntry && found.booked !== null ? await cases.hold(tx, partnerId, found.id) : undefined
      if (row?.resolution === null) locked.push(row)
    }
  return locked
}

const sumOf = (open: readonly CaseRow[]): Minor => open.reduce((sum, { booked }) => sum + (booked ?? 0n), 0n)

/** The one payment of a debit, which may have been booked with another amount. */
async function paidBy(tx: Tx, books: BankBooks, { subjectId, kind }: BankEntry): Promise<Payment | undefined> {
  if (kind !== 'payout' || subjectId === null) return undefined
  const [instruction] = await books.instructions(tx, [subjectId])
  if (instruction === undefined) return undefined
  const { partnerId, id: instructionId } = instruction
  const payoutId = await payoutOfInstruction(tx, { partnerId, instructionId })
  return payoutId === undefined ? undefined : { partnerId, payoutId }
}

type Debited = {
  readonly payout: PayoutRow
  readonly instructionId: string
  readonly entry: BankEntry
  /** The entry has debited other payments too. */
  readonly isBatch: boolean
}

async function debitOf(tx: Tx, books: BankBooks, { partnerId, payoutId }: Payment): Promise<Debited> {
  const payout = await payoutById(tx, partnerId, payoutId)
  if (payout === undefined) throw new Refusal('not_found', 'The partner has no such payout.')
  if (payout.status !== 'Completed')
    throw refuse(`The payout is ${payout.status}: only a payout that a bank has paid has a match.`)
  const instructionId = instructionIdOf(payout)
  const [instruction] = await books.instructions(tx, [instructionId])
  const entryId = instruction?.entryId ?? null
  const entry = entryId === null ? undefined : await books.entryOf(tx, entryId)
  const isBatch = entry?.kind === 'payout' && entry.subjectId === null
  if (entry === undefined || (entry.subjectId !== instructionId && !isBatch))
    throw refuse('No debit for this payment is in the files of a bank.')
  return { payout, instructionId, entry, isBatch }
}
