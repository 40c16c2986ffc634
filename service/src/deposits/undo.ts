/**
 * Takes a credit away from the deposit that it was matched with by mistake: from the balance, or from the parts of a session that waits for the rest.
 * The money goes to suspense with a case, in which two persons find its owner.
 */
import { ownJson } from '@partner-payments/wire'
import { notFound, Refusal } from '../kernel/api/index.ts'
import { amountText, newId, present } from '../kernel/index.ts'
import type { Entry } from '../ledger/index.ts'
import type { Tx } from '../postgres/index.ts'
import type { IncomingDebtor } from '../rails/index.ts'
import { take } from './debits.ts'
import type { DepositsDeps } from './deps.ts'
import { type InParts, reportOfPart, withParts } from './parts.ts'
import { reversePart } from './reversals.ts'
import * as store from './store.ts'
import type { Part, PartStatus } from './store-parts.ts'

export type UndoCredit = (
  tx: Tx,
  undone: { readonly partnerId: string; readonly reference: string; readonly partId?: string | undefined },
) => Promise<{
  readonly caseId: string
  /** The transaction that took the money from the balance. Null: it had not reached the balance. */
  readonly reference: string | null
}>

const refuse = (detail: string) => new Refusal('validation_failed', detail)

/**
 * The deposit stays as it ended, and the session of a part that is not complete waits for its money again. Refunds that no worker has begun are
 * cancelled. Refuses: not_found, validation_failed (it was not credited, is reversed already or has been refunded, the balance does not cover it, or it
 * has parts and none is named).
 */
export const createUndoCredit =
  (deps: DepositsDeps): UndoCredit =>
  async (tx, { partnerId, reference, partId }) => {
    const { cases, ledger, transactions } = deps
    const { row } = await transactions.get(partnerId, reference)
    const [found] = await store.depositsByReferences(tx, partnerId, [reference])
    if (found === undefined) throw notFound('deposit with this reference')
    const [locked] = await withParts(tx, await store.lockDeposits(tx, [found]))
    const deposit = present(locked, 'a deposit is not deleted')
    const part = partToUndo(deposit, partId)
    await stopRefunds(deps, tx, { partnerId, id: deposit.id, partId: part?.id })
    const taken = part ? await takePart(deps, tx, deposit, part) : await takeWhole(deps, tx, deposit)
    const creditor = ownJson<{ readonly iban?: string; readonly walletAddress?: string }>(row.creditor ?? '{}')
    const { connector, money, notificationId } = taken
    const report = {
      ...{ kind: 'credit.booked', undone: reference, account: creditor.iban ?? creditor.walletAddress ?? '' },
      ...{ remittance: row.description, ...taken.report, money },
    }
    // A subject of its own: the credit of the bank has its deposit, and the decision makes another one.
    const named = { connector, notificationId, subject: newId() }
    const opened = { id: newId(), partnerId, kind: 'unknown_payment', ...named } as const
    const suspended = await cases.record(tx, [{ ...opened, report, booked: money }])
    await ledger.settleMany(tx, [], [...taken.entries, ...suspended])
    return { caseId: opened.id, reference: taken.reference }
  }

/** The money of a refund that goes on leaves by it, and would leave again by the decision of the case. */
async function stopRefunds(
  { refunds }: DepositsDeps,
  tx: Tx,
  credited: Parameters<DepositsDeps['refunds']['stop']>[1],
): Promise<void> {
  const going = (await refunds.stop(tx, credited)).filter(({ status }) => status !== 'Cancelled')
  if (going.length > 0)
    throw refuse(`The payment is refunded by ${going.map(({ reference }) => reference).join(', ')}: recall that first.`)
}

async function takeWhole(deps: DepositsDeps, tx: Tx, deposit: store.Deposit) {
  const { status, connector } = deposit
  if (status !== 'Completed' || connector === null)
    throw refuse(`The deposit is ${status}: only a deposit that a bank has credited can be taken back.`)
  if (deposit.reversedAt !== null) throw refuse('The money of the deposit has already been taken back.')
  const notificationId = `undo ${deposit.id}`
  await store.markReversed(tx, deposit, notificationId, deps.clock.now())
  const report = {
    debtor: deposit.debtor === null ? null : ownJson<IncomingDebtor>(deposit.debtor),
    endToEndId: deposit.endToEndId === '' ? null : deposit.endToEndId,
    ...(deposit.transactionHash === null ? {} : { transactionHash: deposit.transactionHash }),
  }
  return { ...(await takeFromBalance(deps, tx, { ...deposit, connector })), connector, notificationId, report }
}

const statesOfNoUse: Readonly<Partial<Record<PartStatus, string>>> = {
  Reversed: 'has already been taken back',
  Screening: 'waits for the decision of a hit: decide the hit',
  Suspended: 'is in suspense: decide its case',
}

/** Undefined: the deposit takes one payment. */
function partToUndo({ inParts, parts, currency }: InParts, partId: string | undefined): Part | undefined {
  if (!inParts && partId !== undefined)
    throw refuse('The deposit takes one payment, and has no parts: leave --part out.')
  if (!inParts) return undefined
  const list = parts
    .map(({ id, amount, status }) => `${id} (${amountText(amount, currency)} ${currency}, ${status})`)
    .join(', ')
  const part = partId === undefined && parts.length === 1 ? parts[0] : parts.find(({ id }) => id === partId)
  if (part === undefined)
    throw refuse(
      parts.length === 0 ? 'No part has arrived.' : `Name the part that was for something else: --part ${list}.`,
    )
  const why = part.reversedAt === null ? statesOfNoUse[part.status] : statesOfNoUse.Reversed
  if (why !== undefined) throw refuse(`The money of the part ${why}.`)
  return part
}

async function takePart(deps: DepositsDeps, tx: Tx, deposit: InParts, part: Part) {
  const { amount, connector } = part
  const notificationId = `undo ${part.id}`
  const isCredited = part.status === 'Credited'
  const back = { ...deposit, amount, connector }
  const taken = isCredited ? await takeFromBalance(deps, tx, back) : moneyOf(back)
  const left = await reversePart(deps, tx, deposit, part, { notificationId, isWithdrawn: !isCredited, isCredited })
  const report = reportOfPart(part) ?? { debtor: null }
  return { ...taken, entries: [...taken.entries, ...left], connector, notificationId, report }
}

type Back = store.Deposit & { readonly connector: string }
type TakenMoney = {
  readonly reference: string | null
  readonly entries: readonly Entry[]
  readonly money: Pick<store.Deposit, 'currency' | 'amount'>
}

const moneyOf = ({ currency, amount }: Back): TakenMoney => ({
  ...{ reference: null, entries: [] },
  money: { currency, amount },
})

async function takeFromBalance(deps: DepositsDeps, tx: Tx, back: Back): Promise<TakenMoney> {
  const { partnerId, customerId, connector, currency, amount, reference: originatingReference } = back
  const about = {
    originatingReference,
    description: `Correction of ${originatingReference}: the credit was for another account.`,
  }
  const taken = { partnerId, customerId, connector, currency, amount }
  const { reference, entry } = await take(deps, tx, taken, about, ['Settled', 'Returned'])
  return { ...moneyOf(back), reference, entries: [entry] }
}
