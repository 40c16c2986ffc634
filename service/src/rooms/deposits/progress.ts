/** How a deposit moves on: what the bank tells, and the end of its time. What is no news changes nothing. */
import { present } from '../../kernel/index.ts'
import type { NewEvent } from '../../outbox/index.ts'
import type { Tx } from '../../postgres/index.ts'
import type { IncomingDebtor, Notice } from '../../rails/index.ts'
import type { Customer } from '../customers/index.ts'
import { credit, type DepositsDeps } from './deps.ts'
import * as events from './events.ts'
import { type DepositStatus, mayExpire, mayMove } from './rules.ts'
import * as store from './store.ts'

export type DepositNotice = Extract<Notice, { readonly kind: `deposit.${string}` }>

/** Where a deposit passes on its way, and the event that tells it. */
type Station = 'Initiated' | 'Submitted' | 'Accepted'
type StationEvent = `partner.customer.deposit.${Lowercase<Station>}`

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
  const advance = async (
    status: DepositStatus,
    debtor: IncomingDebtor | null = null,
    errorDetails: string | null = null,
  ) => {
    if (!mayMove(deposit.status, status)) return false
    const expiresAt = mayExpire(status) ? deposit.expiresAt : null
    const kept = debtor === null ? deposit.debtor : JSON.stringify(debtor)
    await store.updateDeposit(tx, partnerId, deposit.id, { status, debtor: kept, errorDetails, expiresAt }, now)
    return true
  }
  const tell = async <N extends StationEvent>(station: Station, type: N, data: NewEvent<N>['data']) => {
    await transactions.note(tx, partnerId, transactionId, station)
    outbox.append(tx, partnerId, type, now, data)
  }
  switch (notice.kind) {
    case 'deposit.initiated':
      if (!(await advance('Initiated'))) return false
      await tell('Initiated', 'partner.customer.deposit.initiated', events.initiated(deposit, customer))
      return true
    case 'deposit.submitted':
      if (!(await advance('Submitted'))) return false
      await tell('Submitted', 'partner.customer.deposit.submitted', events.submitted(deposit, customer))
      return true
    case 'deposit.accepted':
      if (!(await advance('Accepted', notice.debtor))) return false
      await tell('Accepted', 'partner.customer.deposit.accepted', events.accepted(deposit, customer, notice.debtor))
      return true
    case 'deposit.settled':
      if (!(await advance('Completed'))) return false
      await complete(deps, tx, deposit, customer)
      return true
    case 'deposit.failed':
      if (!(await advance('Failed', null, notice.details))) return false
      await refuse(deps, tx, deposit, customer, notice.details)
      return true
  }
}

/** The payment came to nothing: no money has moved. */
async function refuse(
  { clock, outbox, transactions }: DepositsDeps,
  tx: Tx,
  deposit: store.DepositRow,
  customer: Customer,
  details: string,
): Promise<void> {
  const { partnerId } = deposit
  const data = events.failed(deposit, customer, details)
  outbox.append(tx, partnerId, 'partner.customer.deposit.failed', clock.now(), data)
  await transactions.conclude(tx, partnerId, deposit.transactionId, {
    status: 'Unsuccessful',
    steps: ['Failed'],
    errorKey: 'BankRejection',
    customFields: events.customFieldsOf(deposit),
  })
}

/** Funds settled: the balance is credited, and only then is the customer's deposit completed. */
async function complete(deps: DepositsDeps, tx: Tx, deposit: store.DepositRow, customer: Customer): Promise<void> {
  const { partnerId, currency, amount, reference } = deposit
  const debtor = JSON.parse(present(deposit.debtor, 'an accepted deposit has a debtor')) as IncomingDebtor
  await deps.ledger.transfer(tx, { ...credit(deps, partnerId), currency, amount, partyId: customer.id, reference })
  const now = deps.clock.now()
  const data = events.completed(deposit, customer, debtor)
  deps.outbox.append(tx, partnerId, 'partner.customer.deposit.completed', now, data)
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
  outbox.append(tx, partnerId, 'partner.customer.deposit.expired', now, events.expired(deposit, customer))
  await transactions.conclude(tx, partnerId, deposit.transactionId, {
    status: 'Expired',
    steps: ['Expired'],
    errorKey: 'Expired',
    customFields: events.customFieldsOf(deposit),
  })
}
