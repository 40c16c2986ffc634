/** The amounts of a payout that the operator's rules judge, and the balances that they concern. */
import { type Currency, type Minor } from '../../kernel/index.ts'

type Amount = { readonly currency: Currency; readonly amount: Minor }

/** A request for a payout, as far as the operator's rules concern it. `quote`: undefined if the amount leaves the balance in its own currency. */
export type ControlledCall = Amount & {
  readonly caller: { readonly partnerId: string }
  readonly quote?: { readonly sellAmount: Minor; readonly sellCurrency: Currency }
  readonly payee: { readonly beneficiaryId: string } | { readonly customerId: string }
  /** Undefined: the payout is in no bulk. */
  readonly bulk?: { readonly sum: Minor }
}

/** Every payout has an amount that is paid. A payout by quote also has one that is sold. */
export type Side = Amount & {
  readonly name: 'paid' | 'sold'
  /** The field of the request that states the amount. */
  readonly pointer: '/amount' | '/quoteId'
}

/** The sold amount comes first: it leaves the balance. */
export const sidesOf = ({ currency, amount }: Amount, sold: Amount | undefined): readonly [Side, ...Side[]] =>
  sold === undefined
    ? [{ name: 'paid', currency, amount, pointer: '/amount' }]
    : [
        { name: 'sold', ...sold, pointer: '/quoteId' },
        { name: 'paid', currency, amount, pointer: '/quoteId' },
      ]

export const sidesOfCall = ({ amount, currency, quote }: ControlledCall): readonly [Side, ...Side[]] =>
  sidesOf({ currency, amount }, quote && { amount: quote.sellAmount, currency: quote.sellCurrency })

/** The currency of the balance that is debited. */
export const debitedCurrency = (call: ControlledCall): Currency => sidesOfCall(call)[0].currency

/** A balance of a partner, which rules are about. */
export type Balance = { readonly partnerId: string; readonly currency: Currency }

/** The balances whose rules hold for a call. */
export const balancesOf = (call: ControlledCall): readonly Balance[] =>
  sidesOfCall(call).map(({ currency }) => ({ partnerId: call.caller.partnerId, currency }))
