/**
 * The operations of the ledger. Each runs in the caller's transaction: money moves together with the state that causes it.
 */
import { type Currency, firstIdOf, type Minor, nilId, present } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import { ensureAccount, type LedgerDeps } from './accounts.ts'
import { createEntries, type Entries } from './entries.ts'
import { type History, history } from './history.ts'
import { type MoneyGate, createMoneyGate } from './permits.ts'
import { type Movements, movements, type Positions, positions } from './movements.ts'
import { type PeriodReader, periodReader } from './period.ts'
import { createSegregation, type Segregation } from './segregation.ts'
import * as store from './store.ts'
import { Refusal } from '../kernel/api/index.ts'
import type { AccountState } from './account-kinds.ts'
import * as stored from './store-history.ts'

export type Balance = {
  readonly id: string
  readonly currency: Currency
  readonly posted: Minor
  readonly reserved: Minor
  readonly available: Minor
}

export type Ledger = MoneyGate &
  ClosingBalances &
  Entries &
  History &
  Movements &
  PeriodReader &
  Positions &
  Segregation &
  BalanceStates & {
    readonly balances: (tx: Tx, partnerId: string) => Promise<readonly Balance[]>
    /**
     * Marks a balance as controlled or not, and creates it if it is missing. Locks its row until the transaction ends.
     */
    readonly setControlled: (tx: Tx, partnerId: string, currency: Currency, controlled: boolean) => Promise<void>
    /** Sums the `fx` accounts of all partners: positive for bought money, negative for owed money. */
    readonly positions: (tx: Tx) => Promise<readonly store.PositionRow[]>
    /** Sums the settlement accounts of connectors and `suspense`, across all partners. */
    readonly connectorTotals: (tx: Tx) => Promise<readonly store.ConnectorTotal[]>
  }

export function createLedger(opening: LedgerDeps): Ledger {
  return {
    ...closingBalances,
    ...createMoneyGate(opening.holds),
    ...createEntries(opening),
    ...history,
    ...movements,
    ...periodReader,
    ...positions,
    ...createSegregation(opening),
    ...createStates(opening),
    setControlled: async (tx, partnerId, currency, controlled) => {
      const account = { partnerId, name: 'balance', currency } as const
      await ensureAccount(tx, account, opening)
      await store.setControlled(tx, account, controlled)
    },
    positions: store.readPositions,
    connectorTotals: store.connectorTotals,
    balances: async (tx, partnerId) =>
      (await store.readBalances(tx, partnerId)).map(({ id, currency, posted, reserved }) => ({
        id,
        currency,
        posted,
        reserved,
        available: posted - reserved,
      })),
  }
}

// Changes the states of balances. A payment is checked against rows that were read without a lock. `blocks` counts each
// change. A payment that was checked at an earlier count violates a constraint: its batch runs again with the new state.

type BalanceStates = {
  /**
   * Sets the state of a balance under its lock, creates it if it is missing, and returns the previous state. Setting
   * the same state changes nothing. Refuses: account_blocked (it is closed; or it has money and would be closed).
   */
  readonly setState: (tx: Tx, partnerId: string, currency: Currency, state: AccountState) => Promise<AccountState>
  /**
   * Counts a change of a customer's state: payments that were checked before it cannot commit after this transaction.
   */
  readonly countBlock: (tx: Tx, partnerId: string) => Promise<void>
}

function createStates(opening: LedgerDeps): BalanceStates {
  return {
    setState: async (tx, partnerId, currency, state) => {
      const key = { partnerId, name: 'balance', currency } as const
      await ensureAccount(tx, key, opening)
      const row = present(await store.lockBalance(tx, key), `no ${currency} balance for partner ${partnerId}`)
      const before = row.state ?? 'Active'
      if (before === state) return before
      if (before === 'Closed')
        throw new Refusal('account_blocked', `The ${currency} balance is closed and cannot be reopened.`)
      if (state === 'Closed' && (row.posted !== 0n || row.reserved !== 0n))
        throw new Refusal('account_blocked', `The ${currency} balance is not empty. Empty it before you close it.`)
      await store.setState(tx, key, state)
      return before
    },
    countBlock: store.countBlock,
  }
}

// Balances of a partner at several moments, read from checkpoints and the transfers between them (README.md).

type Sums = { readonly posted: Minor; readonly reserved: Minor }

type BalanceClosings = {
  readonly currency: Currency
  /** Sums before each moment, in the order of the moments. Zero before the balance existed. */
  readonly sums: readonly Sums[]
  /** Sums of the account row. */
  readonly now: Sums
}

type ClosingBalances = {
  /**
   * Reads the balances of a partner before each of some different moments, in ascending order, in one snapshot. Needs
   * four statements for any number of transfers: the ranges do not overlap, and each ends within a stretch of 1,000
   * transfers after its checkpoint or after the previous moment.
   */
  readonly closingBalances: (tx: Tx, partnerId: string, moments: readonly Date[]) => Promise<readonly BalanceClosings[]>
}

type ClosingStep = {
  /** Stretch whose checkpoints the sums begin with. Undefined: they begin with the sums of the previous moment. */
  readonly base: string | undefined
  readonly range: stored.IdRange
}

/** Plans the reads for each moment. `boundaries`: the last end of a stretch before each moment. */
function planSteps(ends: readonly string[], boundaries: ReadonlyMap<string, string>): readonly ClosingStep[] {
  return ends.map((end, index) => {
    const before = ends[index - 1]
    const boundary = boundaries.get(end) ?? nilId
    return before === undefined || boundary > before
      ? { base: boundary, range: { after: boundary, end } }
      : { base: undefined, range: { after: before, end } }
  })
}

const noSums: Sums = { posted: 0n, reserved: 0n }
const addSums = (one: Sums, other: Sums): Sums => ({
  posted: one.posted + other.posted,
  reserved: one.reserved + other.reserved,
})

const closingBalances: ClosingBalances = {
  closingBalances: async (tx, partnerId, moments) => {
    const accounts = await store.readBalances(tx, partnerId)
    const ids = accounts.map(({ id }) => id)
    const ends = moments.map(firstIdOf)
    const found = await stored.boundariesBefore(tx, partnerId, ends)
    const steps = planSteps(ends, new Map(found.map(({ endId, position }) => [endId, position])))
    const positions = steps.flatMap(({ base }) => (base === undefined || base === nilId ? [] : [base]))
    const bases = await stored.checkpointsAt(tx, partnerId, ids, positions)
    const ranges = steps.map(({ range }) => range)
    const changes = await stored.sumChanges(tx, partnerId, ids, ranges)
    const [baseOf, changeOf] = [
      new Map(bases.map((sum) => [`${sum.position} ${sum.accountId}`, sum])),
      new Map(changes.map((sum) => [`${sum.endId} ${sum.accountId}`, sum])),
    ]
    return accounts.map(({ id, currency, posted, reserved }) => {
      let last = noSums
      const sums = steps.map(({ base, range }) => {
        const start = base === undefined ? last : (baseOf.get(`${base} ${id}`) ?? noSums)
        last = addSums(start, changeOf.get(`${range.end} ${id}`) ?? noSums)
        return last
      })
      return { currency, sums, now: { posted, reserved } }
    })
  },
}
