/**
 * Corrects debits of a file-based bank, as two people have decided: a debit matched with the wrong payment, or one that
 * the bank does not have. The money of a debit is in payments and in cases; a correction moves both, so that ledger and
 * bank agree at each step.
 */
import { Refusal } from '../../kernel/api/index.ts'
import { type CaseRow, type Cases, type NewCase, operatorPartnerId } from '../../cases/index.ts'
import { amountText, type Currency, type Minor, newId } from '../../kernel/index.ts'
import type { Entry, Ledger } from '../../ledger/index.ts'
import {
  instructionIdOf,
  lockPayouts,
  payoutById,
  type PayoutLife,
  payoutOfInstruction,
  type PayoutRow,
} from '../../payouts/index.ts'
import { groupByShard, type Tx } from '../../postgres/index.ts'
import type { BankBooks, BankEntry } from '../../rails/index.ts'

export type UndonePayment = { readonly caseId: string; readonly amount: string; readonly currency: Currency }

/**
 * Undoes a payment that the bank did not make: credits its balance, and moves the debit, or its part of the debit of a
 * batch, into suspense with a case `unknown_debit`. Refuses: not_found, validation_failed (the payment is not `Completed`,
 * or no debit in a bank's files is matched with it).
 */
export type UndoPayment = (
  tx: Tx,
  payment: { readonly partnerId: string; readonly payoutId: string },
) => Promise<UndonePayment>

export type CancelledEntry = {
  readonly entryId: string
  readonly amount: string
  readonly currency: Currency
  /** The case of money that an earlier decision took out of suspense: people decide who gets it back. */
  readonly openedCaseId?: string
}

/**
 * Cancels an applied entry that its statement omits: returns its payments and takes the money of its open cases out of
 * suspense. Refuses: validation_failed.
 */
export type CancelEntry = (tx: Tx, entryId: string) => Promise<CancelledEntry>

type WrongDebitDeps = {
  readonly payoutLife: Pick<PayoutLife, 'matched'>
  readonly books: BankBooks
  readonly cases: Pick<Cases, 'hold' | 'openAbout' | 'record' | 'withdraw'>
  readonly ledger: Pick<Ledger, 'settleMany'>
}

const refuse = (detail: string) => new Refusal('validation_failed', detail)

export const createUndoPayment =
  (deps: WrongDebitDeps): UndoPayment =>
  async (tx, payment) => {
    const { payoutLife, books, cases, ledger } = deps
    const before = await readDebit(tx, books, payment)
    // Lock order: cases, then payouts, as in a decision about a case. The payments of a batch do not have such cases.
    const open = before.isBatch ? [] : await lockOpenCases(deps, tx, before.entry, payment)
    await lockPayouts(tx, [{ partnerId: payment.partnerId, id: payment.payoutId }])
    const { entry, instructionId, payout } = await readDebit(tx, books, payment)
    const { partnerId, amount, currency, connector, reference } = payout
    const notificationId = `undo ${newId()}`
    const details = 'The bank has not paid this payment: its debit was for something else.'
    const applied = await payoutLife.matched(tx, {
      ...payment,
      report: { connector, notificationId, money: { currency, amount } },
      returned: { errorKey: 'BankRejection', details },
    })
    if (applied !== true) throw refuse('The balance of the payment is closed and cannot be credited.')
    await books.unmatch(tx, entry.id, { partnerId, id: instructionId })
    const left = amount - sumCases(open)
    const note = `The debit was separated from ${reference}, and its money is in another case.`
    const named = { connector, notificationId, subject: entry.id }
    const opened: CaseToOpen = {
      ...named,
      partnerId: operatorPartnerId,
      id: newId(),
      kind: 'unknown_debit',
      report: {
        kind: 'debit.booked',
        account: entry.account,
        money: { currency, amount: left },
        details: `It was matched with ${reference}.`,
      },
      booked: { currency, amount: -left },
    }
    const withdrawn = await cases.withdraw(tx, open, note)
    await writeEntries(ledger, tx, [...withdrawn, ...(await cases.record(tx, [opened]))])
    return { caseId: opened.id, amount: amountText(left, currency), currency }
  }

export const createCancelEntry =
  (deps: WrongDebitDeps): CancelEntry =>
  async (tx, entryId) => {
    const { books, cases, ledger } = deps
    const entry = await books.entryOf(tx, entryId)
    const isDebit = entry !== undefined && entry.amount < 0n
    const open = isDebit ? await lockOpenCases(deps, tx, entry, await findPaidPayout(tx, books, entry)) : []
    const cancelled = await books.cancel(tx, entryId)
    if (entry === undefined || cancelled === undefined)
      throw refuse('Only an entry that is in the ledger, not on a statement and not yet cancelled can be cancelled.')
    const { account, amount, currency } = entry
    const told = { entryId, amount: amountText(amount, currency), currency }
    // Settlement takes back a credit as after a reversal of the bank.
    if (!isDebit) return told
    const details = `The bank does not have the debit of ${entry.bookedOn}: its statement omits it.`
    const left = -amount - cancelled.cameBack + sumCases(open)
    // A new subject, so that a decision about the case does not match an entry.
    const named = { connector: cancelled.connector, notificationId: `cancel ${entryId}`, subject: newId() }
    const kind = left > 0n ? 'unknown_payment' : 'unknown_debit'
    const opened: CaseToOpen = {
      ...named,
      partnerId: operatorPartnerId,
      id: newId(),
      kind,
      report: { kind: 'entry.cancelled', account, entryId, money: { currency, amount: left }, details },
      booked: { currency, amount: left },
    }
    const withdrawn = await cases.withdraw(tx, open, details)
    const recorded = left === 0n ? [] : await cases.record(tx, [opened])
    await writeEntries(ledger, tx, [...withdrawn, ...recorded])
    return left === 0n ? told : { ...told, openedCaseId: opened.id }
  }

/** Writes entries of a partner and of the operator. On a sharded database each of them has its own statements. */
async function writeEntries(ledger: Pick<Ledger, 'settleMany'>, tx: Tx, entries: readonly Entry[]): Promise<void> {
  const owned = entries.flatMap((entry) => entry.transfers.slice(0, 1).map(({ partnerId }) => ({ partnerId, entry })))
  const inOrder = owned.toSorted((one, other) => one.partnerId.localeCompare(other.partnerId))
  for (const group of groupByShard(tx, inOrder))
    await ledger.settleMany(
      tx,
      [],
      group.map(({ entry }) => entry),
    )
}

type CaseToOpen = NewCase & { readonly id: string }

type PayoutKey = { readonly partnerId: string; readonly payoutId: string }

/** Locks the open cases about the money of a debit that is not part of its payment. */
async function lockOpenCases(
  { cases }: WrongDebitDeps,
  tx: Tx,
  { id, subjectPartnerId }: BankEntry,
  payment: PayoutKey | undefined,
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

const sumCases = (open: readonly CaseRow[]): Minor => open.reduce((sum, { booked }) => sum + (booked ?? 0n), 0n)

/** Finds the only payment of a debit; its amount may differ. */
async function findPaidPayout(
  tx: Tx,
  books: BankBooks,
  { subjectId, kind }: BankEntry,
): Promise<PayoutKey | undefined> {
  if (kind !== 'payout' || subjectId === null) return undefined
  const [instruction] = await books.instructions(tx, [subjectId])
  if (instruction === undefined) return undefined
  const { partnerId, id: instructionId } = instruction
  const payoutId = await payoutOfInstruction(tx, { partnerId, instructionId })
  return payoutId === undefined ? undefined : { partnerId, payoutId }
}

type PayoutDebit = {
  readonly payout: PayoutRow
  readonly instructionId: string
  readonly entry: BankEntry
  /** True if the entry also debited other payments. */
  readonly isBatch: boolean
}

async function readDebit(tx: Tx, books: BankBooks, { partnerId, payoutId }: PayoutKey): Promise<PayoutDebit> {
  const payout = await payoutById(tx, partnerId, payoutId)
  if (payout === undefined) throw new Refusal('not_found', 'The partner has no such payout.')
  if (payout.status !== 'Completed')
    throw refuse(`The payout is ${payout.status}. Only a payout that a bank has paid can be separated from its debit.`)
  const instructionId = instructionIdOf(payout)
  const [instruction] = await books.instructions(tx, [instructionId])
  const entryId = instruction?.entryId ?? null
  const entry = entryId === null ? undefined : await books.entryOf(tx, entryId)
  const isBatch = entry?.kind === 'payout' && entry.subjectId === null
  if (entry === undefined || (entry.subjectId !== instructionId && !isBatch))
    throw refuse('No debit in the files of a bank has paid this payment.')
  return { payout, instructionId, entry, isBatch }
}
