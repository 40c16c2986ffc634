/**
 * Changes the states of balances. A payment is judged by rows that were read without a lock. Each change counts in `blocks`, and a
 * payment that was judged by an earlier count violates a constraint: its batch runs again, by the new state.
 */
import { Refusal } from '../api/index.ts'
import { type Currency, present } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import type { AccountState } from './account-states.ts'
import * as states from './store-states.ts'
import { ensureAccount, type Opening } from './accounts.ts'

export type States = {
  /**
   * Sets the state of a balance under its lock, creates it if it is missing, and returns the previous state. Setting
   * the same state changes nothing. Refuses: account_blocked (it is closed; or it has money and would be closed).
   */
  readonly setState: (tx: Tx, partnerId: string, currency: Currency, state: AccountState) => Promise<AccountState>
  /** Counts a change of a customer's state: payments that were judged before do not commit after this transaction. */
  readonly countBlock: (tx: Tx, partnerId: string) => Promise<void>
}

export function createStates(opening: Opening): States {
  return {
    setState: async (tx, partnerId, currency, state) => {
      const key = { partnerId, name: 'balance', currency } as const
      await ensureAccount(tx, key, opening)
      const row = present(await states.lockBalance(tx, key), 'the balance exists')
      const before = row.state ?? 'Active'
      if (before === state) return before
      if (before === 'Closed')
        throw new Refusal('account_blocked', `The ${currency} balance is closed, which is final.`)
      if (state === 'Closed' && (row.posted !== 0n || row.reserved !== 0n))
        throw new Refusal('account_blocked', `The ${currency} balance is not empty. Empty it before you close it.`)
      await states.setState(tx, key, state)
      return before
    },
    countBlock: states.countBlock,
  }
}
