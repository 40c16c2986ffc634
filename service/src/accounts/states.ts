/**
 * The operator blocks, unblocks and closes accounts: balances, and accounts of customers. Partners read the changes.
 */
import type { QueryOf } from '@partner-payments/wire'
import { type Cursors, type Page, Refusal } from '../kernel/api/index.ts'
import { after, type Clock, type Currency, type Log, newId, secondMs } from '../kernel/index.ts'
import { type AccountState, blocksOutbound, type Ledger } from '../ledger/index.ts'
import type { Database, Tx } from '../postgres/index.ts'
import type { FrozenSubject } from '../screening/index.ts'
import type { Customers } from '../parties/customers/index.ts'
import * as store from './store.ts'

/** A balance, or the account of a customer by its guid or service id. */
export type AccountRef = { readonly currency: Currency } | { readonly customerRef: string }

export type AccountStates = {
  /**
   * Changes the state of an account and records who did it, when and why. Undefined: the account already has the state.
   * Payments that were checked against the previous state cannot commit afterwards. A block inserts a row of payouts to
   * cancel (`Cancellations`). Refuses: not_found (the customer), account_blocked (the account is closed; a close, but
   * it has money or pending payouts; an unblock, but payouts from before the block are still being cancelled).
   */
  readonly changeState: (
    tx: Tx,
    change: {
      readonly partnerId: string
      readonly account: AccountRef
      readonly state: AccountState
      readonly reason: store.StateReason
      readonly note: string
      readonly staff: string
    },
  ) => Promise<store.StateChange | undefined>
  /** Lists state changes, newest first. An unknown customer has none. Refuses: validation_failed (cursor). */
  readonly stateChanges: (
    partnerId: string,
    query: QueryOf<'listAccountStateChanges'>,
  ) => Promise<Page<store.StateChange>>
  /** Lists the last change of each account that is not active, oldest first. */
  readonly notActive: (tx: Tx, partnerId: string) => Promise<readonly store.StateChange[]>
}

export type AccountStatesDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly cursors: Cursors
  readonly customers: Pick<Customers, 'find' | 'resolveId' | 'setAccountState'>
  readonly ledger: Pick<Ledger, 'setState' | 'countBlock' | 'partySumsAt'>
}

type ClosedIbans = {
  /** Quarantines the IBANs of a closed account. */
  readonly closeIbans: (tx: Tx, partnerId: string, ibans: readonly string[]) => Promise<void>
}

export function createAccountStates({
  db,
  clock,
  cursors,
  customers,
  ledger,
  closeIbans,
}: AccountStatesDeps & ClosedIbans): AccountStates {
  /** Locks the customer before the balances, as every payment does. */
  const setCustomerState = async (tx: Tx, partnerId: string, id: string, state: AccountState) => {
    const before = await customers.setAccountState(tx, partnerId, id, state)
    if (before === state) return before
    await ledger.countBlock(tx, partnerId)
    // Read after the locks of the balances: a payout of the customer is either in these sums, or cannot commit.
    const sums = state === 'Closed' ? await ledger.partySumsAt(tx, partnerId, id, undefined) : []
    if (sums.some(({ reserved }) => reserved !== 0n))
      throw new Refusal(
        'account_blocked',
        'The customer has payouts in progress. Close the account after they have ended.',
      )
    return before
  }
  return {
    changeState: async (tx, { partnerId, account, state, reason, note, staff }) => {
      const set = async () => {
        if ('currency' in account) {
          const { currency } = account
          return {
            of: { customerId: null, currency },
            fromState: await ledger.setState(tx, partnerId, currency, state),
          }
        }
        const { id: customerId } = await customers.find(tx, partnerId, account.customerRef)
        const of = { customerId, currency: null }
        return { of, fromState: await setCustomerState(tx, partnerId, customerId, state) }
      }
      const { of, fromState } = await set()
      await cancelOrRefuse(tx, partnerId, of, fromState, state, clock.now())
      if (fromState === state) return undefined
      const row = { id: newId(), ...of, fromState, toState: state, reason, note, staff, changedAt: clock.now() }
      await store.insertStateChange(tx, partnerId, row)
      if (state === 'Closed' && row.customerId !== null)
        await closeIbans(
          tx,
          partnerId,
          (await store.readIbans(tx, partnerId, row.customerId)).map(({ iban }) => iban),
        )
      return row
    },
    stateChanges: async (partnerId, query) => {
      const { customerId: ref, currency = null } = query
      const list = `state-changes:${partnerId}`
      const request = cursors.read(list, query)
      const customerId = ref === undefined ? null : await customers.resolveId(db, partnerId, ref)
      if (customerId === undefined) return cursors.page(list, request, [])
      const of = { customerId, currency }
      const rows = await store.listStateChanges(db, partnerId, of, request.afterId, request.limit + 1)
      return cursors.page(list, request, rows)
    },
    notActive: store.listInactiveAccounts,
  }
}

/**
 * Schedules the cancellation of unsent payouts after a block. Refuses an unblock while that cancellation runs. The
 * caller holds the lock of the account. A repeated block creates a missing row, because earlier versions wrote none.
 */
async function cancelOrRefuse(
  tx: Tx,
  partnerId: string,
  of: store.BlockedAccount,
  fromState: AccountState,
  state: AccountState,
  now: Date,
): Promise<void> {
  if (blocksOutbound(state)) {
    const row = { id: newId(), ...of, blockedAt: now, dueAt: after(now, cancellationLeaseMs) }
    await store.insertCancellation(tx, partnerId, row)
  } else if (blocksOutbound(fromState) && (await store.hasCancellation(tx, partnerId, of)))
    throw new Refusal(
      'account_blocked',
      'Payouts that had not begun when the account was blocked are still being cancelled. Repeat the change in a few seconds.',
    )
}

/**
 * Records when a confirmed sanctions match freezes the account of a customer or all balances of a partner, and when the
 * freeze ends. The match itself sets the state. Pending payouts are not cancelled: they keep their reserve until
 * operators decide.
 */
export async function recordFreeze(
  { clock, ledger }: { readonly clock: Clock; readonly ledger: Pick<Ledger, 'balances'> },
  tx: Tx,
  { partnerId, kind, id, isFrozen, staff }: FrozenSubject,
): Promise<void> {
  const of =
    kind === 'customer'
      ? [{ customerId: id, currency: null }]
      : (await ledger.balances(tx, partnerId)).map(({ currency }) => ({ customerId: null, currency }))
  const [fromState, toState] = isFrozen ? (['Active', 'Blocked'] as const) : (['Blocked', 'Active'] as const)
  const note = isFrozen ? 'Confirmed by screening.' : 'Cleared by screening.'
  for (const account of of) {
    if (((await store.lastFreeze(tx, partnerId, account))?.toState ?? 'Active') === toState) continue
    const row = { id: newId(), ...account, fromState, toState, reason: 'Compliance', note, staff } as const
    await store.insertStateChange(tx, partnerId, { ...row, changedAt: clock.now() }, 'screening')
  }
}

// Cancels the payouts of a blocked account that have not begun. The block writes a row for them; the operator's command
// works on it at once, and a worker finishes what is left. The account stays blocked until the row is deleted, so that
// only payouts from before the block are cancelled (docs/decisions/0056-states-of-accounts.md).

type CancelledOf = store.BlockedAccount

export type Cancellations = {
  /** Processes one page of one due account. Returns the number of accounts: 0 or 1. */
  readonly step: () => Promise<number>
  /**
   * Cancels the remaining payouts of a blocked account, and waits for a worker that has locked it. Returns the number
   * of cancelled payouts.
   */
  readonly finish: (partnerId: string, of: CancelledOf) => Promise<number>
  /** Returns the time of the oldest block with payouts to cancel. Null: there is none. */
  readonly oldestBlock: () => Promise<Date | null>
}

type CancellationsDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  /** Lists the ids of an account's payouts that have not begun, oldest first. */
  readonly waitingPayouts: (tx: Tx, partnerId: string, of: CancelledOf, rowsMax: number) => Promise<readonly string[]>
  /** Cancels a payout. Returns false if a worker has begun it or it has ended. */
  readonly cancelPayout: (partnerId: string, payoutId: string) => Promise<boolean>
}

const payoutsPerPage = 128
/**
 * Longer than a page takes. The blocking command holds the first lease, so that it counts the payouts that it cancels.
 */
const cancellationLeaseMs = 10 * secondMs

/** `failed`: errors of the payouts that are retried after the lease. */
type CancellationPage = { readonly cancelled: number; readonly failed: readonly unknown[] }

export function createCancellations(deps: CancellationsDeps): Cancellations {
  const { db, clock, log } = deps
  const work = createWork(deps)
  return {
    step: async () => {
      const now = clock.now()
      const due = await store.findPartnerWithCancellation(db, now)
      if (due === undefined) return 0
      const { partnerId } = due
      const page = await work(partnerId, (tx) => store.lockDueCancellation(tx, partnerId, now))
      if (page === undefined) return 0
      for (const err of page.failed)
        log.error({ err, partnerId }, 'could not cancel payout of a blocked account; will retry')
      if (page.cancelled > 0)
        log.info({ partnerId, payouts: page.cancelled }, 'worker cancelled payouts of a blocked account')
      return 1
    },
    finish: async (partnerId, of) => {
      let cancelled = 0
      for (;;) {
        const page = await work(partnerId, (tx) => store.lockCancellation(tx, partnerId, of))
        if (page === undefined) return cancelled
        cancelled += page.cancelled
        if (page.failed.length > 0) throw page.failed[0]
      }
    },
    oldestBlock: () => store.oldestCancellation(db),
  }
}

function createWork({ db, clock, waitingPayouts, cancelPayout }: CancellationsDeps) {
  /** Reads a page of the payouts to cancel. The lock of the row keeps the account blocked while the page is read. */
  const readPage = (partnerId: string, lock: (tx: Tx) => Promise<store.Cancellation | undefined>) =>
    db.transaction(async (tx) => {
      const row = await lock(tx)
      if (row === undefined) return undefined
      const ids = await waitingPayouts(tx, partnerId, row, payoutsPerPage)
      if (ids.length === 0) await store.deleteCancellation(tx, partnerId, row.id)
      else await store.leaseCancellation(tx, partnerId, row.id, after(clock.now(), cancellationLeaseMs))
      return { row, ids }
    })
  return async (
    partnerId: string,
    lock: (tx: Tx) => Promise<store.Cancellation | undefined>,
  ): Promise<CancellationPage | undefined> => {
    const page = await readPage(partnerId, lock)
    if (page === undefined) return undefined
    const { row, ids } = page
    const results = await Promise.allSettled(ids.map((id) => cancelPayout(partnerId, id)))
    const failed = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []))
    if (ids.length > 0 && failed.length === 0) await store.leaseCancellation(db, partnerId, row.id, clock.now())
    return { cancelled: results.filter((result) => result.status === 'fulfilled' && result.value).length, failed }
  }
}
