/** The verbs of the ledger. Each joins the caller's transaction: money moves together with the state that it follows. */
import { type Clock, type Currency, type Minor, newId } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import { type Batches, createBatches } from './batches.ts'
import { insufficientFunds, type Transfer } from './rules.ts'
import * as store from './store.ts'
import { createDirectTransfer } from './transfers.ts'

export type Balance = {
  readonly id: string
  readonly currency: Currency
  readonly posted: Minor
  readonly reserved: Minor
  readonly available: Minor
}

export type Ledger = Batches & {
  /** Moves posted money at once. Refuses: insufficient_funds. Answers the id of the transfer. */
  readonly transfer: (tx: Tx, transfer: Transfer) => Promise<string>
  /** Reserves money of the debit account. Refuses: insufficient_funds. Answers the id of the reserve. */
  readonly reserve: (tx: Tx, transfer: Transfer) => Promise<string>
  readonly balances: (tx: Tx, partnerId: string) => Promise<readonly Balance[]>
}

export function createLedger({ clock }: { readonly clock: Clock }): Ledger {
  const batches = createBatches(clock)
  return {
    ...batches,
    transfer: createDirectTransfer(clock),
    reserve: async (tx, transfer) => {
      const [fits] = await batches.fittingUnderLock(tx, [transfer])
      if (!fits) throw insufficientFunds(transfer.currency)
      const id = newId()
      await batches.reserveMany(tx, [{ ...transfer, id }], await batches.accountsOf(tx, [transfer]))
      return id
    },
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
