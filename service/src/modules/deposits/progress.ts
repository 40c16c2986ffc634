/**
 * How a deposit moves on: what the bank tells, and the end of its time. A batch of deposits moves in one transaction: each
 * is judged alone, and then all that they write is written together. What is no news changes nothing.
 */
import { partnerKey, present } from '../../kernel/index.ts'
import type { Transfer } from '../../ledger/index.ts'
import type { NewEvent } from '../../events/index.ts'
import type { Tx } from '../../postgres/index.ts'
import type { IncomingDebtor, Notice } from '../../rails/index.ts'
import type { Payer } from '../customers/index.ts'
import type { Move } from '../transactions/index.ts'
import { credit, type DepositsDeps } from './deps.ts'
import * as events from './events.ts'
import { type DepositStatus, mayExpire, mayMove } from './rules.ts'
import * as store from './store.ts'

export type DepositNotice = Extract<Notice, { readonly kind: `deposit.${string}` }>
/** What moves a deposit on: a notice of the bank, or its time that has run out. */
export type DepositNews = DepositNotice | Expiry
export type Expiry = { readonly kind: 'expired'; readonly partnerId: string; readonly subjectId: string }

/** All that one deposit's step writes. */
type Step = {
  readonly change: store.DepositChange
  readonly move: Move
  readonly event: DepositEvent
  readonly credit?: Transfer
}
type DepositEvent = { [N in DepositEventName]: NewEvent<N> }[DepositEventName]
type DepositEventName = `partner.customer.deposit.${Lowercase<Exclude<DepositStatus, 'Created'>>}`

type Facts = { readonly debtor?: IncomingDebtor; readonly errorDetails?: string }

const changeOf = (deposit: store.Deposit, status: DepositStatus, facts: Facts): store.DepositChange => ({
  partnerId: deposit.partnerId,
  id: deposit.id,
  status,
  debtor: facts.debtor === undefined ? null : JSON.stringify(facts.debtor),
  errorDetails: facts.errorDetails ?? null,
  expiresAt: mayExpire(status) ? deposit.expiresAt : null,
})

/** Judges one deposit; undefined where it is no news: a repetition, or one that contradicts what is known. */
function stepOf(
  deps: DepositsDeps,
  deposit: store.Deposit,
  customer: Payer,
  news: DepositNews,
  now: Date,
): Step | undefined {
  const { partnerId } = deposit
  const to = (status: DepositStatus, facts: Facts = {}) => changeOf(deposit, status, facts)
  const key = { partnerId, id: deposit.transactionId }
  const told = { partnerId, occurredAt: now }
  const customFields = events.customFieldsOf(deposit)
  const may = (status: DepositStatus) => mayMove(deposit.status, status)
  switch (news.kind) {
    case 'deposit.initiated': {
      if (!may('Initiated')) return undefined
      const data = events.initiated(deposit, customer)
      const event = { ...told, type: 'partner.customer.deposit.initiated', data } as const
      return { change: to('Initiated'), move: { ...key, steps: ['Initiated'] }, event }
    }
    case 'deposit.submitted': {
      if (!may('Submitted')) return undefined
      const data = events.submitted(deposit, customer)
      const event = { ...told, type: 'partner.customer.deposit.submitted', data } as const
      return { change: to('Submitted'), move: { ...key, steps: ['Submitted'] }, event }
    }
    case 'deposit.accepted': {
      if (!may('Accepted')) return undefined
      const { debtor } = news
      const data = events.accepted(deposit, customer, debtor)
      const event = { ...told, type: 'partner.customer.deposit.accepted', data } as const
      return { change: to('Accepted', { debtor }), move: { ...key, steps: ['Accepted'] }, event }
    }
    case 'deposit.settled': {
      if (!may('Completed')) return undefined
      const debtor = JSON.parse(present(deposit.debtor, 'an accepted deposit has a debtor')) as IncomingDebtor
      const data = events.completed(deposit, customer, debtor)
      const event = { ...told, type: 'partner.customer.deposit.completed', data } as const
      const conclusion = { status: 'Completed', debtor: partyOf(debtor), customFields } as const
      const { currency, amount, reference } = deposit
      return {
        change: to('Completed'),
        move: { ...key, steps: ['Settled', 'Credited'], conclusion },
        event,
        // Funds settled: the balance is credited, and only then is the customer's deposit completed.
        credit: { ...credit(deps, partnerId), currency, amount, partyId: customer.id, reference },
      }
    }
    case 'deposit.failed': {
      if (!may('Failed')) return undefined
      const data = events.failed(deposit, customer, news.details)
      const event = { ...told, type: 'partner.customer.deposit.failed', data } as const
      const conclusion = { status: 'Unsuccessful', errorKey: 'BankRejection', customFields } as const
      const move: Move = { ...key, steps: ['Failed'], conclusion }
      return { change: to('Failed', { errorDetails: news.details }), move, event }
    }
    case 'expired': {
      if (!mayExpire(deposit.status) || deposit.expiresAt === null || deposit.expiresAt > now) return undefined
      const data = events.expired(deposit, customer)
      const event = { ...told, type: 'partner.customer.deposit.expired', data } as const
      const conclusion = { status: 'Expired', errorKey: 'Expired', customFields } as const
      return { change: to('Expired'), move: { ...key, steps: ['Expired'], conclusion }, event }
    }
  }
}

const partyOf = ({ name, account, bic, countryCode, address }: IncomingDebtor) => ({
  accountHolderName: name,
  iban: account,
  bic,
  country: countryCode,
  ...(address === null ? {} : { address }),
})

const keyOf = ({ partnerId, id }: { readonly partnerId: string; readonly id: string }) => `${partnerId} ${id}`
const subjectOf = ({ partnerId, subjectId: id }: DepositNews) => ({ partnerId, id })

/** `again`: an earlier news of the same deposit is in this batch; to be asked anew once that is written. */
export type Taken = boolean | 'again'

/** Answers for each whether it was news. */
export function createTake(deps: DepositsDeps) {
  const { clock, customers, ledger, eventOutbox, transactions } = deps
  return async (tx: Tx, batch: readonly DepositNews[]): Promise<readonly Taken[]> => {
    const rows = await store.lockDeposits(tx, batch.map(subjectOf))
    const deposits = new Map(rows.map((row) => [keyOf(row), row]))
    const owners = await customers.payersByIds(
      tx,
      rows.map(({ partnerId, customerId }) => ({ partnerId, id: customerId })),
    )
    const now = clock.now()
    const seen = new Set<string>()
    const judged = batch.map((news): Step | Exclude<Taken, true> => {
      const key = keyOf(subjectOf(news))
      if (seen.has(key)) return 'again'
      seen.add(key)
      const deposit = present(deposits.get(key), 'a deposit that the bank names exists')
      const customer = owners.get(partnerKey(deposit.partnerId, deposit.customerId))
      return stepOf(deps, deposit, present(customer, "a deposit's customer exists"), news, now) ?? false
    })
    const steps = judged.filter((each) => typeof each === 'object')
    if (steps.length > 0) {
      const credits = steps.flatMap((step) => step.credit ?? [])
      const accounts = await ledger.accountsOf(tx, credits)
      store.updateDeposits(
        tx,
        steps.map(({ change }) => change),
        now,
      )
      eventOutbox.appendMany(
        tx,
        steps.map(({ event }) => event),
      )
      await transactions.moveMany(
        tx,
        steps.map(({ move }) => move),
      )
      // Last, because the balances that it locks are everybody's.
      await ledger.creditMany(tx, credits, accounts)
    }
    return judged.map((each) => (typeof each === 'object' ? true : each))
  }
}
