/**
 * Debits by the operator: a partner bears money that left, and a credit is taken out of a balance again, because it was matched with the wrong owner.
 * Both are transactions of their own, and take only what is there.
 */
import type { TimelineStep } from '@partner-payments/wire'
import { notFound, Refusal } from '../../api/index.ts'
import { amountText, type Currency, type Minor, newId, present } from '../../kernel/index.ts'
import { type Entry, type EntryRequest, entryOf, type Ledger } from '../../ledger/index.ts'
import type { Tx } from '../../postgres/index.ts'
import type { IncomingDebtor } from '../../rails/index.ts'
import type { NewTransaction } from '../transactions/index.ts'
import { type AccountOwner, credit, type DepositsDeps } from './deps.ts'
import { refuseClosed } from './inbound.ts'
import * as store from './store.ts'

type Taken = AccountOwner & { readonly connector: string; readonly currency: Currency; readonly amount: Minor }

const debitOf = ({ connector, partnerId, customerId, currency, amount }: Taken) => {
  const { debit: settlement, credit: balance } = credit(connector, partnerId)
  return { partnerId, debit: balance, credit: settlement, partyId: customerId ?? partnerId, currency, amount } as const
}

/** Reports whether the money is still there, under the lock of the balance: in a segregated one, the customer's. */
export async function covers({ ledger }: { readonly ledger: Ledger }, tx: Tx, taken: Taken): Promise<boolean> {
  const request: EntryRequest = { transfers: [{ ...debitOf(taken), kind: 'direct' }] }
  const accounts = await ledger.accountsOf(tx, request.transfers)
  const [fits] = await ledger.fittingUnderLock(tx, [request], accounts)
  return fits === true
}

/** The entry that moves the money from the balance to the settlement account. */
export const debitEntry = (taken: Taken, reference: string): Entry =>
  entryOf('direct', { ...debitOf(taken), reference })

export type Debits = {
  /**
   * A partner bears money that has left: a transaction takes it from the balance. Returns its reference. Refuses: account_blocked (closed),
   * validation_failed (the balance does not cover it).
   */
  readonly chargePartner: (
    tx: Tx,
    charge: Omit<Taken, 'customerId'> & { readonly description: string },
  ) => Promise<string>
  /**
   * Takes the money of a completed deposit out of its balance and into suspense, with a case: two persons find its owner again. The deposit
   * stays as it ended. Refuses: not_found, validation_failed (it was not credited, is reversed already, or the balance does not cover it).
   */
  readonly undoCredit: (
    tx: Tx,
    undone: { readonly partnerId: string; readonly reference: string },
  ) => Promise<{ readonly caseId: string; readonly reference: string }>
}

const byOperator = { actor: 'operator' } as const

export function createDebits(deps: DepositsDeps): Debits {
  const { ledger, transactions, cases, clock } = deps
  const take = async (tx: Tx, taken: Taken, transaction: NewTransaction, steps: readonly TimelineStep[]) => {
    if (!(await covers(deps, tx, taken)))
      throw new Refusal(
        'validation_failed',
        `The balance does not cover ${amountText(taken.amount, taken.currency)} ${taken.currency}.`,
      )
    const { id, reference } = await transactions.open(tx, transaction)
    await transactions.conclude(tx, taken.partnerId, id, { status: 'Completed', steps, ...byOperator })
    return { reference, entry: debitEntry(taken, reference) }
  }
  return {
    chargePartner: async (tx, { description, ...charge }) => {
      const taken = { ...charge, customerId: null }
      await refuseClosed(deps, tx, taken, taken.currency)
      const { reference, entry } = await take(tx, taken, { ...toTransaction(taken), description }, ['Settled'])
      await ledger.enter(tx, entry)
      return reference
    },
    undoCredit: async (tx, { partnerId, reference }) => {
      const { row } = await transactions.get(partnerId, reference)
      const [found] = await store.depositsByReferences(tx, partnerId, [reference])
      if (found === undefined) throw notFound('deposit with this reference')
      const [locked] = await store.lockDeposits(tx, [found])
      const deposit = present(locked, 'a deposit is not deleted')
      const { status, connector, customerId, currency, amount } = deposit
      if (status !== 'Completed' || connector === null)
        throw new Refusal(
          'validation_failed',
          `The deposit is ${status}: only a deposit that a bank has credited can be taken back.`,
        )
      if (deposit.reversedAt !== null)
        throw new Refusal('validation_failed', 'The money of the deposit has already been taken back.')
      const notificationId = `undo ${deposit.id}`
      await store.markReversed(tx, deposit, notificationId, clock.now())
      const taken = { partnerId, customerId, connector, currency, amount }
      const description = `Correction of ${reference}: the credit was for another account.`
      const transaction = { ...toTransaction(taken), originatingReference: reference, description }
      const { reference: own, entry } = await take(tx, taken, transaction, ['Settled', 'Returned'])
      const creditor = JSON.parse(row.creditor ?? '{}') as { readonly iban?: string; readonly walletAddress?: string }
      const report = {
        ...{
          kind: 'credit.booked',
          undone: reference,
          account: creditor.iban ?? creditor.walletAddress ?? '',
          money: { currency, amount },
        },
        debtor: deposit.debtor === null ? null : (JSON.parse(deposit.debtor) as IncomingDebtor),
        ...{ remittance: row.description, endToEndId: deposit.endToEndId === '' ? null : deposit.endToEndId },
        ...(deposit.transactionHash === null ? {} : { transactionHash: deposit.transactionHash }),
      }
      // A subject of its own: the credit of the bank has its deposit, and the decision makes another one.
      const opened = {
        id: newId(),
        partnerId,
        kind: 'unknown_payment',
        connector,
        notificationId,
        subject: newId(),
      } as const
      const suspended = await cases.record(tx, [{ ...opened, report, booked: { currency, amount } }])
      await ledger.settleMany(tx, [], [entry, ...suspended])
      return { caseId: opened.id, reference: own }
    },
  }
}

const toTransaction = ({ partnerId, customerId, amount, currency }: Taken): NewTransaction => ({
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
