/** The verbs of the ledger. Each joins the caller's transaction: money moves together with the state that it follows. */
import type { Currency, Minor } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import { ensureAccount, type Opening } from './accounts.ts'
import { type ClosingBalances, closingBalances } from './closings.ts'
import { createEntries, type Entries } from './entries.ts'
import { type History, history } from './history.ts'
import { type Clearing, createClearing } from './permits.ts'
import { type Movements, movements } from './movements.ts'
import { type PeriodReader, periodReader } from './period.ts'
import { type Positions, positions } from './positions.ts'
import { createSegregation, type Segregation } from './segregation.ts'
import { createStates, type States } from './states.ts'
import * as store from './store.ts'

export type Balance = {
  readonly id: string
  readonly currency: Currency
  readonly posted: Minor
  readonly reserved: Minor
  readonly available: Minor
}

export type Ledger = Clearing &
  ClosingBalances &
  Entries &
  History &
  Movements &
  PeriodReader &
  Positions &
  Segregation &
  States & {
    readonly balances: (tx: Tx, partnerId: string) => Promise<readonly Balance[]>
    /**
     * Marks a balance as controlled or not, and creates it if it is missing. Other transactions cannot mark it until
     * this one ends.
     */
    readonly setControlled: (tx: Tx, partnerId: string, currency: Currency, controlled: boolean) => Promise<void>
    /** Sums of the `fx` accounts of all partners: positive for bought money, negative for owed money. */
    readonly positions: (tx: Tx) => Promise<readonly store.PositionRow[]>
    /** Totals of the settlement accounts of connectors and of `suspense`, over all partners. */
    readonly connectorTotals: (tx: Tx) => Promise<readonly store.ConnectorTotal[]>
  }

export function createLedger(opening: Opening): Ledger {
  return {
    ...closingBalances,
    ...createClearing(opening.holds),
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
    positions: store.positions,
    connectorTotals: store.connectorTotals,
    balances: async (tx, partnerId) =>
      (await store.balances(tx, partnerId)).map(({ id, currency, posted, reserved }) => ({
        id,
        currency,
        posted,
        reserved,
        available: posted - reserved,
      })),
  }
}
