/** The amounts of a payout that the operator's rules judge, and the balances that they concern. */
import { ownJson } from '@partner-payments/wire'
import { amountText, type Currency, type Minor, type Money } from '../../kernel/index.ts'
import type { ReferenceAmount } from '../../rates/index.ts'

/** A request for a payout, as far as the operator's rules concern it. `quote`: undefined if the amount leaves the balance in its own currency. */
export type ControlledCall = Money & {
  readonly caller: { readonly partnerId: string }
  readonly quote?: { readonly sellAmount: Minor; readonly sellCurrency: Currency }
  readonly payee: { readonly beneficiaryId: string } | { readonly customerId: string }
  /** Undefined: the payout is in no bulk. */
  readonly bulk?: { readonly sum: Minor; readonly sums: readonly Money[] }
}

/**
 * Every payout has a paid amount. A payout by quote also has a sold amount. Rules across all currencies judge a third amount: what leaves
 * the balance, in their currency.
 */
export type AmountSide = Money & {
  readonly name: 'paid' | 'sold' | 'all'
  /** How the third amount was computed. Undefined: there is no recent rate, and the amount is `unknownAmount`. */
  readonly reference?: ReferenceAmount
  /** The field of the request that states the amount. */
  readonly pointer: '/amount' | '/quoteId'
}

/** Returns the amounts of a payment. The sold amount comes first, because it leaves the balance. */
export const sidesOf = ({ currency, amount }: Money, sold: Money | undefined): readonly [AmountSide, ...AmountSide[]] =>
  sold === undefined
    ? [{ name: 'paid', currency, amount, pointer: '/amount' }]
    : [
        { name: 'sold', ...sold, pointer: '/quoteId' },
        { name: 'paid', currency, amount, pointer: '/quoteId' },
      ]

export const sidesOfCall = ({ amount, currency, quote }: ControlledCall): readonly [AmountSide, ...AmountSide[]] =>
  sidesOf({ currency, amount }, quote && { amount: quote.sellAmount, currency: quote.sellCurrency })

/** Returns the currency of the balance that is debited. */
export const debitedCurrency = (call: ControlledCall): Currency => sidesOfCall(call)[0].currency

/** A balance of a partner, which rules are about. */
export type BalanceKey = { readonly partnerId: string; readonly currency: Currency }

/** Returns the balances whose rules hold for a call. */
export const balancesOf = (call: ControlledCall): readonly BalanceKey[] =>
  sidesOfCall(call).map(({ currency }) => ({ partnerId: call.caller.partnerId, currency }))

/** More than any rule allows, and than any counter can hold: an amount without a rate passes no limit, and needs an approval. */
export const unknownAmount: Minor = 2n ** 63n

/** Returns the amount for rules across all currencies, converted to their `currency`. */
export const sideOverAllCurrencies = (
  { pointer }: Pick<AmountSide, 'pointer'>,
  currency: Currency,
  reference: ReferenceAmount | undefined,
): AmountSide => ({
  ...{ name: 'all', currency, pointer, amount: reference?.amount ?? unknownAmount },
  ...(reference === undefined ? {} : { reference }),
})

/** Explains how an amount was converted for rules across all currencies. Empty: it was not converted. */
export function conversionText({ name, amount, currency, reference }: Omit<AmountSide, 'pointer'>): string {
  if (name !== 'all') return ''
  if (reference === undefined) return ` There is no recent rate to ${currency}, so that the payout cannot be counted.`
  if (reference.rate === '1') return ''
  return ` The payout counts as ${amountText(amount, currency)} ${currency}, by the rate ${reference.rate} of ${reference.rateOn}.`
}

/** Writes the amount as the row of a payout keeps it. */
export const writeReference = (reference: ReferenceAmount | null): string | null =>
  reference && JSON.stringify({ ...reference, amount: String(reference.amount) })
export function readReference(text: string | null): ReferenceAmount | undefined {
  if (text === null) return undefined
  const kept = ownJson<Omit<ReferenceAmount, 'amount'> & { readonly amount: string }>(text)
  return { ...kept, amount: BigInt(kept.amount) }
}
