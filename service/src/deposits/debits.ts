/** Debits by the operator: a partner bears money that left. Each is a transaction of its own, and takes only what is there. */
import type { TimelineStep } from '@partner-payments/wire'
import { Refusal } from '../kernel/api/index.ts'
import { amountText, type Currency, type Minor } from '../kernel/index.ts'
import { type Entry, type EntryRequest, entryOf, type Ledger } from '../ledger/index.ts'
import type { Tx } from '../postgres/index.ts'
import type { NewTransaction } from '../transactions/index.ts'
import { type AccountOwner, credit, type DepositsDeps } from './deps.ts'
import { refuseClosed } from './inbound.ts'

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
export const debitEntry = (taken: Taken, reference: string): Entry => entryOf('bank', { ...debitOf(taken), reference })

export type Debits = {
  /**
   * A partner bears money that has left: a transaction takes it from the balance. Returns its reference. Refuses: account_blocked (closed),
   * validation_failed (the balance does not cover it).
   */
  readonly chargePartner: (
    tx: Tx,
    charge: Omit<Taken, 'customerId'> & { readonly description: string },
  ) => Promise<string>
}

const byOperator = { actor: 'operator' } as const

/** Makes the transaction that takes money from a balance. Refuses: validation_failed (the balance does not cover it). */
export async function take(
  deps: Pick<DepositsDeps, 'ledger' | 'transactions'>,
  tx: Tx,
  taken: Taken,
  about: Pick<NewTransaction, 'description' | 'originatingReference'>,
  steps: readonly TimelineStep[],
): Promise<{ readonly reference: string; readonly entry: Entry }> {
  if (!(await covers(deps, tx, taken)))
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
      await refuseClosed(deps, tx, taken, taken.currency)
      const { reference, entry } = await take(deps, tx, taken, { description }, ['Settled'])
      await deps.ledger.enter(tx, entry)
      return reference
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
