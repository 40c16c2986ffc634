/** What a payout takes from its balance, and the refusal where the balance does not cover it. */
import type { Refusal } from '../../api/index.ts'
import { amountText } from '../../kernel/index.ts'
import { type EntryRequest, insufficientFunds, type Shortage } from '../../ledger/index.ts'
import { reservesOf } from './calls.ts'
import type { ControlledPayout } from '../payout-controls/controls.ts'

export const requestOf = ({ call, connector, fee }: ControlledPayout): EntryRequest => ({
  transfers: reservesOf(call, connector, fee),
})

/** insufficient_funds. */
export function notCovered({ call, fee }: ControlledPayout, short: Shortage): Refusal {
  if (fee === 0n) return insufficientFunds(short, call.caller)
  const { currency } = short
  return insufficientFunds(short, call.caller, `the amount and its fee of ${amountText(fee, currency)} ${currency}`)
}
