/** What a payout takes from its balance, and the refusal where the balance does not cover it. */
import { Refusal } from '../../api/index.ts'
import { amountText } from '../../kernel/index.ts'
import { type EntryRequest, insufficientFunds } from '../../ledger/index.ts'
import { debitedOf, reservesOf } from './calls.ts'
import type { ControlledPayout } from './controls.ts'

export const requestOf = ({ call, connector, fee }: ControlledPayout): EntryRequest => ({
  transfers: reservesOf(call, connector, fee),
})

/** insufficient_funds. */
export function notCovered({ call, fee }: ControlledPayout): Refusal {
  const currency = debitedOf(call)
  if (fee === 0n) return insufficientFunds(currency)
  const costs = `the amount and its fee of ${amountText(fee, currency)} ${currency}`
  return new Refusal('insufficient_funds', `The available ${currency} balance is smaller than ${costs}.`)
}
