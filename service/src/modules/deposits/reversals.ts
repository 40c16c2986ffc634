/**
 * Reversals: the money of a credit is gone again, because its bank cancelled the booking or a blockchain dropped the
 * block. The deposit stays as it ended; a new transaction takes the money from the balance, or suspense bears it: the
 * partner owes it, and its balance never falls below zero. Refunds of the same money that have not left are cancelled
 * with it; a person looks at each reversal, and recalls the others.
 */
import { amountText, isFiat, present } from '../../kernel/index.ts'
import type { Entry } from '../../ledger/index.ts'
import type { Tx } from '../../postgres/index.ts'
import type { BankNotification } from '../../rails/index.ts'
import type { NewTransaction } from '../transactions/index.ts'
import { covers, debitEntry } from './debits.ts'
import type { CreditApplied, DepositsDeps } from './deps.ts'
import type { Reversed } from './progress.ts'
import * as store from './store.ts'

export type ReversalNotification = Extract<BankNotification, { readonly kind: 'credit.reversed' }>

type ReverseDeps = DepositsDeps & { readonly withdraw: Withdraw }

/** Takes the money of a deposit that waits for a decision about a name out of suspense. */
export type Withdraw = (tx: Tx, reversed: Reversed) => Promise<unknown>

export const createReverse =
  (deps: ReverseDeps) =>
  async (connector: string, notification: ReversalNotification): Promise<CreditApplied> => {
    const found = await store.depositOfCredit(deps.db, connector, notification.subjectId)
    if (found === undefined) return { applied: 'unknown', partnerId: notification.partnerId }
    const applied = await deps.db.transaction((tx) => reverse(deps, tx, connector, notification, found))
    return { applied, partnerId: found.partnerId }
  }

/**
 * Moves the money that the bank has taken: from the balance as far as the credit brought it there, otherwise from
 * suspense. The money of a credit that did not fit is still there, and the case of the reversal takes it.
 */
async function reverse(
  deps: ReverseDeps,
  tx: Tx,
  connector: string,
  notification: ReversalNotification,
  key: store.DepositKey,
): Promise<Exclude<CreditApplied['applied'], 'unknown'>> {
  const { clock, cases, ledger } = deps
  const { id: notificationId, money, details } = notification
  const [locked] = await store.lockDeposits(tx, [key])
  const deposit = present(locked, 'the deposit of a credit exists')
  const { partnerId, id: subject, status } = deposit
  // The credit is accepted and not settled yet: its second step follows.
  if (status === 'Accepted') return 'early'
  const before = await store.reversedBy(tx, key)
  if (before === null || before === notificationId) return false
  if (before !== undefined || money.amount <= 0n) return 'contradiction'
  await store.markReversed(tx, key, notificationId, clock.now())
  const credited = money.currency === deposit.currency ? deposit.amount : 0n
  const isWithdrawn = status === 'Screening' && money.amount === credited
  if (isWithdrawn)
    await deps.withdraw(tx, { kind: 'reversed', id: notificationId, partnerId, subjectId: subject, connector, details })
  const refunds = await refundsOf(deps, tx, deposit)
  const back = { ...deposit, amount: money.amount < credited ? money.amount : credited }
  const isCovered = status === 'Completed' && back.amount > 0n && (await covers(deps, tx, { ...back, connector }))
  const taken = isCovered ? await takeBack(deps, tx, connector, notification, back) : undefined
  const report = { status, money, details, reversal: taken?.reference ?? null, ...(refunds.length > 0 && { refunds }) }
  const rest = money.amount - (isCovered || isWithdrawn ? back.amount : 0n)
  const booked = rest === 0n ? null : { ...money, amount: -rest }
  const opened = { partnerId, kind: 'credit_reversed', connector, notificationId, subject, report, booked } as const
  const suspended = await cases.record(tx, [opened])
  await ledger.settleMany(tx, [], [...(taken ? [taken.entry] : []), ...suspended])
  return true
}

/** A stopped refund gives its money back before the bank's claim is taken. That of the others went back twice: the desk recalls them. */
async function refundsOf({ refunds }: DepositsDeps, tx: Tx, deposit: store.Deposit) {
  const made = await refunds.stop(tx, deposit)
  return made.map(({ amount, ...refund }) => ({ ...refund, amount: amountText(amount, refund.currency) }))
}

/** `back`: the deposit with the amount taken from it. */
async function takeBack(
  { transactions }: DepositsDeps,
  tx: Tx,
  connector: string,
  { details }: ReversalNotification,
  back: store.Deposit,
): Promise<{ readonly reference: string; readonly entry: Entry }> {
  const { partnerId, customerId, currency, amount } = back
  const { id, reference } = await transactions.open(tx, toReversal(back, details))
  await transactions.conclude(tx, partnerId, id, {
    status: 'Completed',
    steps: ['Settled', 'Returned'],
    actor: 'bank',
  })
  return { reference, entry: debitEntry({ partnerId, customerId, currency, amount, connector }, reference) }
}

function toReversal(deposit: store.Deposit, details: string): NewTransaction {
  const { partnerId, customerId, currency, amount, reference, transactionHash } = deposit
  const ofCustomer = customerId === null ? 'PartnerWithdraw' : 'PartnerCustomerWithdraw'
  return {
    partnerId,
    customerId,
    reference: null,
    amount,
    currency,
    category: 'Withdrawal',
    direction: 'Outward',
    type: isFiat(currency) ? ofCustomer : 'TokenTransferOut',
    rail: isFiat(currency) ? null : 'Wallet',
    steps: ['Created'],
    actor: 'bank',
    originatingReference: reference,
    description: `Reversal of ${reference} (${amountText(amount, currency)} ${currency}): ${details}`,
    ...(transactionHash === null ? {} : { transactionHash }),
  }
}
