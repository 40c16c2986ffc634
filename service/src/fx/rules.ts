/** Computes the price, the validity and the transfers of a quote. Pure. docs/groups/fx.md has the rounding rules. */
import type { fx } from '@partner-payments/wire'
import { Refusal } from '../kernel/api/index.ts'
import { amountMajorMax, type Currency, currencies, type Minor, minuteMs, secondMs } from '../kernel/index.ts'
import type { AccountName, EntryRequest } from '../ledger/index.ts'
import { type Rate, roundedRate } from '../rates/index.ts'

export type QuoteKind = (typeof fx.quoteKinds)[number]
export type QuoteStatus = (typeof fx.quoteStatuses)[number]

export const quoteLifeMs: Readonly<Record<QuoteKind, number>> = { firm: 45 * secondMs, held: 30 * minuteMs }

/** Digits of a rate after the decimal point. Sources publish five or six digits. */
const rateDigits = 8

/** Charges of the operator: a margin in the rate, and a fee in the sold currency. 10,000 basis points are 100 %. */
export type QuoteTerms = {
  readonly marginBasisPoints: number
  readonly fee: { readonly fixed: Minor; readonly basisPoints: number }
}

export type QuotePrice = {
  readonly sellAmount: Minor
  readonly buyAmount: Minor
  /** Fee, taken from the sold amount before the exchange. */
  readonly feeAmount: Minor
  /** Margin in the bought currency. */
  readonly marginAmount: Minor
  readonly rate: Rate
}

export type CurrencyPair = { readonly sellCurrency: Currency; readonly buyCurrency: Currency }
export type FixedAmount = { readonly sellAmount: Minor } | { readonly buyAmount: Minor }

const whole = 10_000n
const divideUp = (over: bigint, under: bigint) => (over + under - 1n) / under

/** Subtracts the margin from the mid rate, rounded down: the partner gets at most the resulting rate. */
export const rateWithMargin = (mid: Rate, marginBasisPoints: number): Rate =>
  roundedRate(mid.digits * (whole - BigInt(marginBasisPoints)), 10n ** BigInt(mid.scale) * whole, rateDigits, 'down')

/** Returns a fraction: minor units of the bought currency for one minor unit of the sold currency. */
function toFraction({ digits, scale }: Rate, { sellCurrency, buyCurrency }: CurrencyPair) {
  return {
    over: digits * 10n ** BigInt(currencies[buyCurrency].digits),
    under: 10n ** BigInt(scale + currencies[sellCurrency].digits),
  }
}

/** Computes the fee, rounded up. */
const computeFee = (sellAmount: Minor, { fixed, basisPoints }: QuoteTerms['fee']): Minor =>
  fixed + divideUp(sellAmount * BigInt(basisPoints), whole)

/** Computes the smallest amount that leaves at least `net` after the fee. */
function computeGross(net: Minor, fee: QuoteTerms['fee']): Minor {
  let gross = divideUp((net + fee.fixed) * whole, whole - BigInt(fee.basisPoints))
  // The fee is rounded up: the division may be one unit off.
  while (gross - computeFee(gross, fee) < net) gross += 1n
  while (gross - 1n - computeFee(gross - 1n, fee) >= net) gross -= 1n
  return gross
}

/**
 * Computes the amounts of a quote. A bought amount is rounded down, a sold amount is rounded up. `too_small`: it buys
 * less than one minor unit, or the fee takes all of it. `too_large`: one amount exceeds the maximum of a payment.
 */
export function computePrice(
  pair: CurrencyPair,
  given: FixedAmount,
  mid: Rate,
  terms: QuoteTerms,
): QuotePrice | 'too_small' | 'too_large' {
  const rate = rateWithMargin(mid, terms.marginBasisPoints)
  if (rate.digits === 0n) return 'too_small'
  const { over, under } = toFraction(rate, pair)
  const sellAmount =
    'sellAmount' in given ? given.sellAmount : computeGross(divideUp(given.buyAmount * under, over), terms.fee)
  const feeAmount = computeFee(sellAmount, terms.fee)
  const exchanged = sellAmount - feeAmount
  if (exchanged <= 0n) return 'too_small'
  const buyAmount = 'buyAmount' in given ? given.buyAmount : (exchanged * over) / under
  if (buyAmount === 0n) return 'too_small'
  if (isTooLarge(sellAmount, pair.sellCurrency) || isTooLarge(buyAmount, pair.buyCurrency)) return 'too_large'
  const atMid = toFraction(mid, pair)
  const marginAmount = (exchanged * atMid.over) / atMid.under - buyAmount
  return { sellAmount, buyAmount, feeAmount, marginAmount, rate }
}

const isTooLarge = (amount: Minor, currency: Currency) =>
  amount > amountMajorMax * 10n ** BigInt(currencies[currency].digits)

/** Fields that determine the status of a quote. */
export type QuoteState = {
  readonly id: string
  readonly expiresAt: Date
  readonly acceptedBy: string | null
}

/** Returns the status of a quote, which expires at `expiresAt`. */
export function quoteStatus({ acceptedBy, expiresAt }: QuoteState, now: Date): QuoteStatus {
  if (acceptedBy !== null) return 'Accepted'
  return now < expiresAt ? 'Open' : 'Expired'
}

/** Returns why a quote cannot be accepted now: fx_quote_accepted, fx_quote_expired. */
export function quoteRefusal(quote: QuoteState, now: Date): Refusal | undefined {
  const field = { pointer: '/quoteId', code: 'invalid_value' } as const
  switch (quoteStatus(quote, now)) {
    case 'Open':
      return undefined
    case 'Accepted':
      return new Refusal('fx_quote_accepted', `The quote was accepted by ${quote.acceptedBy}. Request a new quote.`, {
        errors: [{ ...field, message: `was accepted by ${quote.acceptedBy}` }],
      })
    case 'Expired':
      return new Refusal(
        'fx_quote_expired',
        `The quote expired at ${quote.expiresAt.toISOString()}. Request a new quote.`,
        { errors: [{ ...field, message: `expired at ${quote.expiresAt.toISOString()}` }] },
      )
  }
}

/** Fields that determine the transfers of a conversion. */
export type ConvertedAmounts = CurrencyPair & {
  readonly partnerId: string
  readonly sellAmount: Minor
  readonly buyAmount: Minor
  readonly feeAmount: Minor
}

type ExchangeTransferOptions = {
  /** A conversion moves its money at once; a payout reserves it until the bank settles. */
  readonly kind: 'direct' | 'reserve'
  /** Account that gets the bought money: the balance, or the settlement account of a connector. */
  readonly creditOfBuy: AccountName
  /** Owner of the money: a customer or the partner. */
  readonly partyId: string
}

/**
 * Creates the transfers of a conversion over the position accounts: `fx` of the sold currency receives the exchanged
 * amount, `fx` of the bought currency pays the bought amount. Both hold the operator's exposure, which includes the
 * margin.
 */
export function exchangeTransfers(
  quote: ConvertedAmounts,
  { kind, creditOfBuy, partyId }: ExchangeTransferOptions,
): EntryRequest['transfers'] {
  const { partnerId, sellCurrency, buyCurrency, sellAmount, buyAmount, feeAmount } = quote
  const sold = { partnerId, partyId, kind, currency: sellCurrency, debit: 'balance' } as const
  return [
    { ...sold, credit: 'fx', amount: sellAmount - feeAmount },
    ...(feeAmount > 0n ? [{ ...sold, credit: 'fees', amount: feeAmount } as const] : []),
    { partnerId, partyId, kind, currency: buyCurrency, debit: 'fx', credit: creditOfBuy, amount: buyAmount },
  ]
}
