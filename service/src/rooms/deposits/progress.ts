/** How a deposit moves on: what the bank tells, and the end of its time. What is no news changes nothing. */
import { present } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import type { IncomingDebtor, Notice } from '../../rails/index.ts'
import type { Customer } from '../customers/index.ts'
import { credit, type DepositsDeps } from './deps.ts'
import * as events from './events.ts'
import { type DepositStatus, mayExpire, mayMove } from './rules.ts'
import * as store from './store.ts'

export type DepositNotice = Extract<Notice, { readonly kind: `deposit.${string}` }>

/** False where the notice was no news: a repetition, or one that contradicts what is known. */
export async function takeNotice(
  deps: DepositsDeps,
  tx: Tx,
  deposit: store.DepositRow,
  customer: Customer,
  notice: DepositNotice,
): Promise<boolean> {
  const { outbox, transactions, clock } = deps
  const { partnerId, transactionId } = deposit
  const now = clock.now()
  let isNews = false
  const advance = async (
    status: DepositStatus,
    debtor: IncomingDebtor | null = null,
    errorDetails: string | null = null,
  ) => {
    if (!mayMove(deposit.status, status)) return false
    const expiresAt = mayExpire(status) ? deposit.expiresAt : null
    const kept = debtor === null ? deposit.debtor : JSON.stringify(debtor)
    await store.updateDeposit(tx, partnerId, deposit.id, { status, debtor: kept, errorDetails, expiresAt }, now)
    isNews = true
    return true
  }
  const carryOut = async (): Promise<void> => {
    switch (notice.kind) {
      case 'deposit.initiated':
        if (!(await advance('Initiated'))) return
        await transactions.note(tx, partnerId, transactionId, 'Initiated')
        return outbox.append(
          tx,
          partnerId,
          'partner.customer.deposit.initiated',
          now,
          events.initiated(deposit, customer),
        )
      case 'deposit.submitted':
        if (!(await advance('Submitted'))) return
        await transactions.note(tx, partnerId, transactionId, 'Submitted')
        return outbox.append(
          tx,
          partnerId,
          'partner.customer.deposit.submitted',
          now,
          events.submitted(deposit, customer),
        )
      case 'deposit.accepted':
        if (!(await advance('Accepted', notice.debtor))) return
        await transactions.note(tx, partnerId, transactionId, 'Accepted')
        return outbox.append(
          tx,
          partnerId,
          'partner.customer.deposit.accepted',
          now,
          events.accepted(deposit, customer, notice.debtor),
        )
      case 'deposit.settled':
        if (await advance('Completed')) await complete(deps, tx, deposit, customer)
        return
      case 'deposit.failed':
        if (!(await advance('Failed', null, notice.details))) return
        await outbox.append(
          tx,
          partnerId,
          'partner.customer.deposit.failed',
          now,
          events.failed(deposit, customer, notice.details),
        )
        return transactions.conclude(tx, partnerId, transactionId, {
          status: 'Unsuccessful',
          steps: ['Failed'],
          errorKey: 'BankRejection',
          customFields: events.customFieldsOf(deposit),
        })
    }
  }
  await carryOut()
  return isNews
}

/** Funds settled: the balance is credited, and only then is the customer's deposit completed. */
async function complete(deps: DepositsDeps, tx: Tx, deposit: store.DepositRow, customer: Customer): Promise<void> {
  const { partnerId, currency, amount, reference } = deposit
  const debtor = JSON.parse(present(deposit.debtor, 'an accepted deposit has a debtor')) as IncomingDebtor
  await deps.ledger.transfer(tx, { ...credit(deps, partnerId), currency, amount, partyId: customer.id, reference })
  const now = deps.clock.now()
  const data = events.completed(deposit, customer, debtor)
  await deps.outbox.append(tx, partnerId, 'partner.customer.deposit.completed', now, data)
  await deps.transactions.conclude(tx, partnerId, deposit.transactionId, {
    status: 'Completed',
    steps: ['Settled', 'Credited'],
    debtor: {
      accountHolderName: debtor.name,
      iban: debtor.account,
      bic: debtor.bic,
      country: debtor.countryCode,
      ...(debtor.address === null ? {} : { address: debtor.address }),
    },
    customFields: events.customFieldsOf(deposit),
  })
}

export async function expire(deps: DepositsDeps, tx: Tx, partnerId: string, id: string): Promise<void> {
  const { clock, customers, outbox, transactions } = deps
  const deposit = present(await store.lockDeposit(tx, partnerId, id), 'a deposit that was due exists')
  const now = clock.now()
  if (!mayExpire(deposit.status) || deposit.expiresAt === null || deposit.expiresAt > now) return
  const { debtor } = deposit
  await store.updateDeposit(tx, partnerId, id, { status: 'Expired', debtor, errorDetails: null, expiresAt: null }, now)
  const customer = await customers.byId(tx, partnerId, deposit.customerId)
  await outbox.append(tx, partnerId, 'partner.customer.deposit.expired', now, events.expired(deposit, customer))
  await transactions.conclude(tx, partnerId, deposit.transactionId, {
    status: 'Expired',
    steps: ['Expired'],
    errorKey: 'Expired',
    customFields: events.customFieldsOf(deposit),
  })
}
