/**
 * Reversals: a bank cancels the booking of a credit, or a blockchain drops its block. The deposit keeps its status. A
 * new transaction takes the money from the balance as far as the balance covers it; suspense bears the rest, and the
 * partner owes it. Refunds of the same money that no worker has begun are cancelled. An operator looks at each reversal
 * and recalls the other refunds.
 */
import {
  amountText,
  assert,
  type Currency,
  isFiat,
  type Minor,
  partnerKey,
  present,
  type RowKey,
} from '../kernel/index.ts'
import { type Entry, singleEntry, type EntryRequest, type Ledger } from '../ledger/index.ts'
import type { Tx } from '../postgres/index.ts'
import type { BankNotification } from '../rails/index.ts'
import type { NewTransaction } from '../transactions/index.ts'
import { type AccountOwner, creditAccounts, type CreditOutcome, type DepositsDeps } from './deps.ts'
import type { ReversalTrigger } from './lifecycle.ts'
import { partEvents } from './events.ts'
import { type DepositWithParts, depositEntries, paidIn, withParts } from './parts.ts'
import * as store from './store.ts'
import { findDepositOfPart, markPartReversed, type Part } from './store-parts.ts'
import type { TimelineStep } from '@partner-payments/wire'
import { Refusal } from '../kernel/api/index.ts'
import { requireOpenAccount } from './inbound.ts'

export type ReversalNotification = Extract<BankNotification, { readonly kind: 'credit.reversed' }>

type ReverseDeps = DepositsDeps & { readonly withdraw: WithdrawSuspended }

/** Takes the money of a deposit that waits for a decision about a name out of suspense. */
export type WithdrawSuspended = (tx: Tx, reversed: ReversalTrigger) => Promise<unknown>

export const createReverse =
  (deps: ReverseDeps) =>
  async (connector: string, notification: ReversalNotification): Promise<CreditOutcome> => {
    const { subjectId: creditId } = notification
    // If operators have assigned the money of a part to its owner, it is in a separate deposit.
    const whole = await store.findDepositOfCredit(deps.db, connector, creditId)
    const part = await findDepositOfPart(deps.db, connector, creditId)
    const found = whole ?? part
    if (found === undefined) return { applied: 'unknown', partnerId: notification.partnerId }
    const applied = await deps.db.transaction(async (tx) => {
      const shares = whole && part ? await splitReversal(tx, notification, whole, part) : undefined
      if (shares === undefined) return reverse(deps, tx, connector, notification, found)
      const results: Reversal[] = []
      for (const { key, ...share } of shares)
        results.push(await reverse(deps, tx, connector, { ...notification, ...share }, key))
      return results.find((result) => result !== false) ?? false
    })
    return { applied, partnerId: found.partnerId }
  }

type Reversal = Exclude<CreditOutcome['applied'], 'unknown'>
type ReversalShare = Pick<ReversalNotification, 'id' | 'money'> & { readonly key: CreditedKey }

/**
 * Splits the reversal of a credit that paid a part and whose surplus was accepted: each share has a separate id.
 * Undefined: only one deposit has the money, or one of them was reversed before.
 */
async function splitReversal(
  tx: Tx,
  { id, money }: ReversalNotification,
  whole: RowKey,
  key: CreditedKey,
): Promise<readonly ReversalShare[] | undefined> {
  const locked = await withParts(tx, await store.lockDeposits(tx, [whole, key]))
  const surplus = locked.find((deposit) => deposit.id === whole.id)
  const part = locked.flatMap(({ parts }) => parts).find((each) => each.id === key.partId)
  if (surplus === undefined || part === undefined || part.status === 'Suspended') return undefined
  const idOfSurplus = `${id} surplus`
  const isFree = ({ reversedAt, reversedBy }: Pick<Part, 'reversedAt' | 'reversedBy'>, by: string) =>
    reversedAt === null || reversedBy === by
  if (money.currency !== surplus.currency || !isFree(part, id) || !isFree(surplus, idOfSurplus)) return undefined
  const ofPart = money.amount < part.amount ? money.amount : part.amount
  const rest = { ...money, amount: money.amount - ofPart }
  return [
    { key, id, money: { ...money, amount: ofPart } },
    ...(rest.amount > 0n ? [{ key: whole, id: idOfSurplus, money: rest }] : []),
  ]
}

/** A deposit, or one part of it. */
type CreditedKey = RowKey & { readonly partId?: string }

/**
 * Moves the money that the bank has taken back: from the balance if the credit was booked there, from the account
 * `parts` if it waits there, otherwise from suspense. The case of the reversal books the money that neither has.
 */
async function reverse(
  deps: ReverseDeps,
  tx: Tx,
  connector: string,
  notification: ReversalNotification,
  key: CreditedKey,
): Promise<Reversal> {
  const { cases, ledger } = deps
  const { id: notificationId, money, details } = notification
  const [deposit] = await withParts(tx, await store.lockDeposits(tx, [key]))
  assert(deposit !== undefined, 'the deposit of a credit exists')
  const { partnerId, id: subject } = deposit
  const part = deposit.parts.find(({ id }) => id === key.partId)
  const status = part?.status ?? deposit.status
  // The deposit is accepted and not settled yet: its second step follows.
  if (status === 'Accepted') return 'early'
  const { reversedAt, reversedBy } = part ?? deposit
  if (reversedAt !== null && (reversedBy === null || reversedBy === notificationId)) return false
  if (reversedAt !== null || money.amount <= 0n) return 'contradiction'
  const amount = part?.amount ?? deposit.amount
  const credited = money.currency === deposit.currency ? amount : 0n
  const back = { ...deposit, amount: money.amount < credited ? money.amount : credited }
  const isWhole = back.amount === amount
  const isWithdrawn = isWhole && (status === 'Screening' || status === 'Held')
  const isCredited = status === 'Completed' || status === 'Credited'
  if (part === undefined) await markReversed(deps, tx, connector, notification, deposit, isWithdrawn)
  const refunds = await stopRefunds(deps, tx, { partnerId, id: subject, partId: part?.id })
  const isCovered = isCredited && back.amount > 0n && (await hasMoney(deps, tx, { ...back, connector }))
  const taken = isCovered ? await takeFromBalance(deps, tx, connector, notification, back) : undefined
  const entries = [
    ...(taken ? [taken.entry] : []),
    ...(part ? await takeOutPart(deps, tx, deposit, part, { notificationId, isWithdrawn, isCredited }) : []),
  ]
  const report = { status, money, details, reversal: taken?.reference ?? null, ...(refunds.length > 0 && { refunds }) }
  const rest = money.amount - (isCovered || isWithdrawn ? back.amount : 0n)
  const booked = rest === 0n ? null : { ...money, amount: -rest }
  const opened = { partnerId, kind: 'credit_reversed', connector, notificationId, subject, report, booked } as const
  const suspended = await cases.record(tx, [opened])
  await ledger.settleMany(tx, [], [...entries, ...suspended])
  return true
}

/** Marks a deposit that one payment credited as reversed, and takes it out of suspense if it waits there. */
async function markReversed(
  { clock, withdraw }: ReverseDeps,
  tx: Tx,
  connector: string,
  { id, details }: ReversalNotification,
  { partnerId, id: subjectId }: store.Deposit,
  isWithdrawn: boolean,
): Promise<void> {
  await store.markReversed(tx, { partnerId, id: subjectId }, id, clock.now())
  if (isWithdrawn) await withdraw(tx, { kind: 'reversed', id, partnerId, subjectId, connector, details })
}

type ReversalState = { readonly notificationId: string; readonly isWithdrawn: boolean; readonly isCredited: boolean }

/** Takes a part out of a deposit, which then waits for its money again. Returns the ledger entries of a part that waited. */
export async function takeOutPart(
  { cases, clock, customers, eventOutbox }: DepositsDeps,
  tx: Tx,
  deposit: DepositWithParts,
  part: Part,
  { notificationId, isWithdrawn, isCredited }: ReversalState,
): Promise<readonly Entry[]> {
  const { partnerId, customerId, id } = deposit
  const now = clock.now()
  const reversed = { ...part, status: isWithdrawn || isCredited ? 'Reversed' : part.status } as const
  await markPartReversed(tx, reversed, notificationId, now)
  // The deposit is no longer paid in full: a receipt would be wrong.
  if (isCredited) await store.markReversed(tx, { partnerId, id }, notificationId, now)
  const isTold = reversed.status === 'Reversed' && part.status !== 'Screening'
  if (isTold && customerId !== null) {
    const owners = await customers.payersByIds(tx, [{ partnerId, id: customerId }])
    const customer = present(
      owners.get(partnerKey(partnerId, customerId)),
      `no customer ${customerId} for deposit ${id}`,
    )
    const paid = paidIn(deposit.parts.map((one) => (one.id === part.id ? reversed : one)))
    eventOutbox.appendMany(tx, partEvents(deposit, customer, { told: [reversed], paid }, now))
  }
  if (!isWithdrawn) return []
  if (part.status === 'Held') return depositEntries(deposit, 'parts', `settlement.${part.connector}`, part.amount)
  await cases.release(tx, [part], 'The bank has reversed the payment.')
  return depositEntries(deposit, 'suspense', `settlement.${part.connector}`, part.amount)
}

/**
 * Cancels refunds that no worker has begun, so that their money is on the balance before the bank's claim is debited.
 * Operators recall the others.
 */
async function stopRefunds(
  { refunds }: DepositsDeps,
  tx: Tx,
  credited: Parameters<DepositsDeps['refunds']['stop']>[1],
) {
  const made = await refunds.stop(tx, credited)
  return made.map(({ amount, ...refund }) => ({ ...refund, amount: amountText(amount, refund.currency) }))
}

/** Takes the amount of `back` from the balance. */
async function takeFromBalance(
  { transactions, facts }: DepositsDeps,
  tx: Tx,
  connector: string,
  { details }: ReversalNotification,
  back: store.Deposit,
): Promise<{ readonly reference: string; readonly entry: Entry }> {
  const { partnerId, customerId, currency, amount, id: subject } = back
  const { id, reference } = await transactions.open(tx, toReversal(back, details))
  await transactions.conclude(tx, partnerId, id, {
    status: 'Completed',
    steps: ['Settled', 'Returned'],
    actor: 'bank',
  })
  const said = { reference, amount: amountText(amount, currency), currency }
  facts.append(tx, [{ partnerId, type: 'deposit.reversed', subject, occasion: reference, facts: said }])
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

// Debits by the operator: a partner bears the loss of money that has left. Each is a separate transaction of at most
// the balance.

type DebitedMoney = AccountOwner & { readonly connector: string; readonly currency: Currency; readonly amount: Minor }

const debitOf = ({ connector, partnerId, customerId, currency, amount }: DebitedMoney) => {
  const { debit: settlement, credit: balance } = creditAccounts(connector, partnerId)
  return { partnerId, debit: balance, credit: settlement, partyId: customerId ?? partnerId, currency, amount } as const
}

/** Reports whether the balance still has the money, under its lock. A segregated balance is counted for the customer. */
async function hasMoney({ ledger }: { readonly ledger: Ledger }, tx: Tx, taken: DebitedMoney): Promise<boolean> {
  const request: EntryRequest = { transfers: [{ ...debitOf(taken), kind: 'direct' }] }
  const accounts = await ledger.accountsOf(tx, request.transfers)
  const [fits] = await ledger.fittingUnderLock(tx, [request], accounts)
  return fits === true
}

/** Creates the entry that moves the money from the balance to the settlement account. */
const debitEntry = (taken: DebitedMoney, reference: string): Entry =>
  singleEntry('bank', { ...debitOf(taken), reference })

export type Debits = {
  /**
   * Charges the balance for money that has already left: the partner bears the loss. Returns the reference of the
   * transaction. Refuses: account_blocked (closed), validation_failed (the balance does not cover it).
   */
  readonly chargePartner: (
    tx: Tx,
    charge: Omit<DebitedMoney, 'customerId'> & { readonly description: string },
  ) => Promise<string>
}

const byOperator = { actor: 'operator' } as const

/** Creates the transaction that takes money from a balance. Refuses: validation_failed (the balance does not cover it). */
export async function debitBalance(
  deps: Pick<DepositsDeps, 'ledger' | 'transactions'>,
  tx: Tx,
  taken: DebitedMoney,
  about: Pick<NewTransaction, 'description' | 'originatingReference'>,
  steps: readonly TimelineStep[],
): Promise<{ readonly reference: string; readonly entry: Entry }> {
  if (!(await hasMoney(deps, tx, taken)))
    throw new Refusal(
      'validation_failed',
      `The balance does not cover ${amountText(taken.amount, taken.currency)} ${taken.currency}.`,
    )
  const { id, reference } = await deps.transactions.open(tx, { ...toTransaction(taken), ...about })
  await deps.transactions.conclude(tx, taken.partnerId, id, { status: 'Completed', steps, ...byOperator })
  return { reference, entry: debitEntry(taken, reference) }
}

export function createDebits(deps: DepositsDeps): Debits {
  return {
    chargePartner: async (tx, { description, ...charge }) => {
      const taken = { ...charge, customerId: null }
      await requireOpenAccount(deps, tx, taken, taken.currency)
      const { reference, entry } = await debitBalance(deps, tx, taken, { description }, ['Settled'])
      await deps.ledger.enter(tx, entry)
      return reference
    },
  }
}

const toTransaction = ({ partnerId, customerId, amount, currency }: DebitedMoney): NewTransaction => ({
  ...{
    partnerId,
    customerId,
    reference: null,
    amount,
    currency,
    category: 'Withdrawal',
    direction: 'Outward',
    rail: null,
  },
  type: customerId === null ? 'PartnerWithdraw' : 'PartnerCustomerWithdraw',
  steps: ['Created'],
  ...byOperator,
})
