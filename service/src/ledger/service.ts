/** The verbs of the ledger. Each joins the caller's transaction: money moves together with the state that it follows. */
import type { Clock, Currency, Minor } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import { createEntries, type Entries } from './entries.ts'
import { type History, history } from './history.ts'
import { type PeriodReader, periodReader } from './period.ts'
import * as store from './store.ts'

export type Balance = {
  readonly id: string
  readonly currency: Currency
  readonly posted: Minor
  readonly reserved: Minor
  readonly available: Minor
}

export type Ledger = Entries &
  History &
  PeriodReader & {
    readonly balances: (tx: Tx, partnerId: string) => Promise<readonly Balance[]>
    /** What the accounts `fx` of all partners hold together: above zero what the operator has bought, below what it owes. */
    readonly positions: (tx: Tx) => Promise<readonly store.PositionRow[]>
    /** What the settlement accounts of connectors and `suspense` of all partners stand at together. */
    readonly connectorTotals: (tx: Tx) => Promise<readonly store.ConnectorTotal[]>
  }

export function createLedger({ clock }: { readonly clock: Clock }): Ledger {
  return {
    ...createEntries(clock),
    ...history,
    ...periodReader,
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
