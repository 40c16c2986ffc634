/**
 * Status changes of deposits, by bank notification or by expiry. One transaction applies a batch: it decides the change of
 * each deposit separately, then writes all changes together. A duplicate changes nothing.
 */
import { partnerKey, present } from '../../kernel/index.ts'
import { type Entry, entryOf } from '../../ledger/index.ts'
import type { NewEvent } from '../../events/index.ts'
import type { Tx } from '../../postgres/index.ts'
import type { BankNotification, IncomingDebtor } from '../../rails/index.ts'
import type { Payer } from '../customers/index.ts'
import type { Move } from '../transactions/index.ts'
import { credit, type DepositsDeps } from './deps.ts'
import * as events from './events.ts'
import { type DepositStatus, mayExpire, mayMove } from './rules.ts'
import * as store from './store.ts'

export type DepositNotification = Extract<BankNotification, { readonly kind: `deposit.${string}` }>
/** What changes the status of a deposit. */
export type DepositTrigger = DepositNotification | Expiry
export type Expiry = { readonly kind: 'expired'; readonly partnerId: string; readonly subjectId: string }

/** Everything that one status change writes. */
type Transition = {
  readonly change: store.DepositChange
  readonly move: Move
  readonly event: DepositEvent
  readonly credit?: Entry
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

/** Undefined if the trigger repeats or contradicts the recorded status. */
function transitionOf(
  deps: DepositsDeps,
  deposit: store.Deposit,
  customer: Payer,
  trigger: DepositTrigger,
  now: Date,
): Transition | undefined {
  const { partnerId } = deposit
  const to = (status: DepositStatus, facts: Facts = {}) => changeOf(deposit, status, facts)
  const key = { partnerId, id: deposit.transactionId }
  const origin = { partnerId, occurredAt: now }
  const customFields = events.customFieldsOf(deposit)
  const may = (status: DepositStatus) => mayMove(deposit.status, status)
  switch (trigger.kind) {
    case 'deposit.initiated': {
      if (!may('Initiated')) return undefined
      const data = events.initiated(deposit, customer)
      const event = { ...origin, type: 'partner.customer.deposit.initiated', data } as const
      return { change: to('Initiated'), move: { ...key, steps: ['Initiated'] }, event }
    }
    case 'deposit.submitted': {
      if (!may('Submitted')) return undefined
      const data = events.submitted(deposit, customer)
      const event = { ...origin, type: 'partner.customer.deposit.submitted', data } as const
      return { change: to('Submitted'), move: { ...key, steps: ['Submitted'] }, event }
    }
    case 'deposit.accepted': {
      if (!may('Accepted')) return undefined
      const { debtor } = trigger
      const data = events.accepted(deposit, customer, debtor)
      const event = { ...origin, type: 'partner.customer.deposit.accepted', data } as const
      return { change: to('Accepted', { debtor }), move: { ...key, steps: ['Accepted'] }, event }
    }
    case 'deposit.settled': {
      if (!may('Completed')) return undefined
      const debtor = JSON.parse(present(deposit.debtor, 'an accepted deposit has a debtor')) as IncomingDebtor
      const data = events.completed(deposit, customer, debtor)
      const event = { ...origin, type: 'partner.customer.deposit.completed', data } as const
      const conclusion = { status: 'Completed', debtor: partyOf(debtor), customFields } as const
      const { currency, amount, reference } = deposit
      return {
        change: to('Completed'),
        move: { ...key, steps: ['Settled', 'Credited'], conclusion },
        event,
        // The transaction that completes the deposit also credits the balance.
        credit: entryOf('direct', { ...credit(deps, partnerId), currency, amount, partyId: customer.id, reference }),
      }
    }
    case 'deposit.failed': {
      if (!may('Failed')) return undefined
      const data = events.failed(deposit, customer, trigger.details)
      const event = { ...origin, type: 'partner.customer.deposit.failed', data } as const
      const conclusion = { status: 'Unsuccessful', errorKey: 'BankRejection', customFields } as const
      const move: Move = { ...key, steps: ['Failed'], conclusion }
      return { change: to('Failed', { errorDetails: trigger.details }), move, event }
    }
    case 'expired': {
      if (!mayExpire(deposit.status) || deposit.expiresAt === null || deposit.expiresAt > now) return undefined
      const data = events.expired(deposit, customer)
      const event = { ...origin, type: 'partner.customer.deposit.expired', data } as const
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

/**
 * False: a duplicate, which changed nothing. `deferred`: the batch holds an earlier trigger of the same deposit; the caller
 * repeats this one once that is committed.
 */
export type Applied = boolean | 'deferred'

/** Applies a batch of triggers, and returns for each whether it changed its deposit. */
export function createApplyBatch(deps: DepositsDeps) {
  return async (tx: Tx, batch: readonly DepositTrigger[]): Promise<readonly Applied[]> => {
    const locked = await lockBatch(deps, tx, batch)
    // After the locks: no status change bears an earlier time than one that it waited for.
    const now = deps.clock.now()
    const decided = decide(deps, batch, locked, now)
    const transitions = decided.filter((each) => typeof each === 'object')
    if (transitions.length > 0) await write(deps, tx, transitions, now)
    return decided.map((each) => (typeof each === 'object' ? true : each))
  }
}

type Locked = {
  readonly deposits: ReadonlyMap<string, store.Deposit>
  readonly owners: ReadonlyMap<string, Payer>
}

async function lockBatch({ customers }: DepositsDeps, tx: Tx, batch: readonly DepositTrigger[]): Promise<Locked> {
  const rows = await store.lockDeposits(
    tx,
    batch.map(({ partnerId, subjectId }) => ({ partnerId, id: subjectId })),
  )
  const owners = await customers.payersByIds(
    tx,
    rows.map(({ partnerId, customerId }) => ({ partnerId, id: customerId })),
  )
  return { deposits: new Map(rows.map((row) => [partnerKey(row.partnerId, row.id), row])), owners }
}

function decide(
  deps: DepositsDeps,
  batch: readonly DepositTrigger[],
  { deposits, owners }: Locked,
  now: Date,
): readonly (Transition | Exclude<Applied, true>)[] {
  const seen = new Set<string>()
  return batch.map((trigger) => {
    const key = partnerKey(trigger.partnerId, trigger.subjectId)
    if (seen.has(key)) return 'deferred'
    seen.add(key)
    const deposit = present(deposits.get(key), 'a deposit that the bank names exists')
    const customer = owners.get(partnerKey(deposit.partnerId, deposit.customerId))
    return transitionOf(deps, deposit, present(customer, "a deposit's customer exists"), trigger, now) ?? false
  })
}

async function write(deps: DepositsDeps, tx: Tx, transitions: readonly Transition[], now: Date): Promise<void> {
  const { ledger, eventOutbox, transactions } = deps
  const changes = transitions.map(({ change }) => change)
  const newEvents = transitions.map(({ event }) => event)
  const moves = transitions.map(({ move }) => move)
  const credits = transitions.flatMap((transition) => transition.credit ?? [])
  const movements = credits.flatMap(({ transfers }) => transfers)
  const accounts = await ledger.accountsOf(tx, movements)
  store.updateDeposits(tx, changes, now)
  eventOutbox.appendMany(tx, newEvents)
  await transactions.moveMany(tx, moves)
  // Last, because it locks the balances that all other payments of the partner need.
  await ledger.enterMany(tx, credits, accounts)
}
