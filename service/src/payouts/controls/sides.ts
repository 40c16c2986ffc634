/** The amounts of a payout to which the operator's rules apply, and the balances whose rules apply. */
import { ownJson } from '@partner-payments/wire'
import { amountText, type Currency, type Minor, type Money } from '../../kernel/index.ts'
import type { ReferenceAmount } from '../../rates/index.ts'

/**
 * The fields of a payout request that the operator's rules need. `quote`: undefined if the amount leaves the balance in
 * its own currency.
 */
export type ControlledCall = Money & {
  readonly caller: { readonly partnerId: string }
  readonly quote?: { readonly sellAmount: Minor; readonly sellCurrency: Currency }
  readonly payee: { readonly beneficiaryId: string } | { readonly customerId: string }
  /** Undefined: the payout is not part of a bulk. */
  readonly bulk?: { readonly sum: Minor; readonly sums: readonly Money[] }
}

/**
 * Every payout has a paid amount. A payout by quote also has a sold amount. Rules across all currencies apply to a
 * third amount: what leaves the balance, converted to their currency.
 */
export type ControlledAmount = Money & {
  readonly name: 'paid' | 'sold' | 'all'
  /** How the third amount was computed. Undefined: there is no recent rate, and the amount is `unknownAmount`. */
  readonly reference?: ReferenceAmount
  /** Pointer to the request field that states the amount. */
  readonly pointer: '/amount' | '/quoteId'
}

/** Returns the paid and the sold amount of a payout. The sold amount comes first, because it leaves the balance. */
export const controlledAmounts = (
  { currency, amount }: Money,
  sold: Money | undefined,
): readonly [ControlledAmount, ...ControlledAmount[]] =>
  sold === undefined
    ? [{ name: 'paid', currency, amount, pointer: '/amount' }]
    : [
        { name: 'sold', ...sold, pointer: '/quoteId' },
        { name: 'paid', currency, amount, pointer: '/quoteId' },
      ]

export const controlledAmountsOfCall = ({
  amount,
  currency,
  quote,
}: ControlledCall): readonly [ControlledAmount, ...ControlledAmount[]] =>
  controlledAmounts({ currency, amount }, quote && { amount: quote.sellAmount, currency: quote.sellCurrency })

/** Returns the currency of the balance that is debited. */
export const debitedCurrency = (call: ControlledCall): Currency => controlledAmountsOfCall(call)[0].currency

/** Key of a partner's balance. */
export type BalanceKey = { readonly partnerId: string; readonly currency: Currency }

/** Returns the balances whose rules apply to a call. */
export const controlledBalances = (call: ControlledCall): readonly BalanceKey[] =>
  controlledAmountsOfCall(call).map(({ currency }) => ({ partnerId: call.caller.partnerId, currency }))

/**
 * Stands for an amount without a rate. It exceeds every rule and every counter, so that the payout is beyond each limit
 * and needs an approval.
 */
export const unknownAmount: Minor = 2n ** 63n

/** Returns the amount for rules across all currencies, which have the currency `currency`. */
export const sideOverAllCurrencies = (
  { pointer }: Pick<ControlledAmount, 'pointer'>,
  currency: Currency,
  reference: ReferenceAmount | undefined,
): ControlledAmount => ({
  ...{ name: 'all', currency, pointer, amount: reference?.amount ?? unknownAmount },
  ...(reference === undefined ? {} : { reference }),
})

/** States how an amount was converted for rules across all currencies. Empty: it was not converted. */
export function conversionText({ name, amount, currency, reference }: Omit<ControlledAmount, 'pointer'>): string {
  if (name !== 'all') return ''
  if (reference === undefined) return ` There is no recent rate to ${currency}, so that the payout cannot be counted.`
  if (reference.rate === '1') return ''
  return ` The payout counts as ${amountText(amount, currency)} ${currency}, by the rate ${reference.rate} of ${reference.rateOn}.`
}

/** Formats the reference amount for the row of a payout. */
export const formatReference = (reference: ReferenceAmount | null): string | null =>
  reference && JSON.stringify({ ...reference, amount: String(reference.amount) })
export function parseReference(text: string | null): ReferenceAmount | undefined {
  if (text === null) return undefined
  const kept = ownJson<Omit<ReferenceAmount, 'amount'> & { readonly amount: string }>(text)
  return { ...kept, amount: BigInt(kept.amount) }
}
