/** Pure: the rates of a sheet, and whether the next sheet is plausible. */
import { ownJson } from '@partner-payments/wire'
import { type Currency, currencies, isCurrency } from '../kernel/index.ts'
import type { Quotes } from './port.ts'
import { type Rate, rateOf, rateText, roundedRate } from './rate.ts'

/** Digits of a mid rate between two currencies. */
const midDigits = 8
/** Digits of a rate derived from one set by hand, so that the mid rate is exactly that one again. */
const derivedDigits = 20
const one: Rate = { digits: 1n, scale: 0 }

/** Undefined: the sheet lacks one of the currencies. */
export function midRateOf(quotes: Quotes, sell: Currency, buy: Currency): Rate | undefined {
  const [sold, bought] = [forOneEuro(quotes, sell), forOneEuro(quotes, buy)]
  return sold && bought && quotient(bought, sold, midDigits)
}

const forOneEuro = (quotes: Quotes, currency: Currency): Rate | undefined =>
  currency === 'EUR' ? one : quotes[currency]

const quotient = (over: Rate, under: Rate, digits: number): Rate =>
  roundedRate(over.digits * 10n ** BigInt(under.scale), under.digits * 10n ** BigInt(over.scale), digits, 'half-even')

export const currenciesOf = (quotes: Quotes): readonly Currency[] =>
  (Object.keys(currencies) as Currency[]).filter((currency) => forOneEuro(quotes, currency) !== undefined)

/** The currency whose rate has moved by more than `percentMax`: the source has misplaced a point, or is wrong. */
export function implausibleIn(next: Quotes, before: Quotes, percentMax: number): Currency | undefined {
  return currenciesOf(next).find((currency) => {
    const [now, then] = [forOneEuro(next, currency), forOneEuro(before, currency)]
    if (now === undefined || then === undefined) return false
    const [after, earlier] = [now.digits * 10n ** BigInt(then.scale), then.digits * 10n ** BigInt(now.scale)]
    const moved = after > earlier ? after - earlier : earlier - after
    return moved * 100n > earlier * BigInt(percentMax)
  })
}

/** The rates for one euro that make `rate` the mid rate of a pair. The rate of the sold currency stays. */
export function quotesByHand(quotes: Quotes, sell: Currency, buy: Currency, rate: Rate): Quotes | undefined {
  const [sold, bought] = [forOneEuro(quotes, sell), forOneEuro(quotes, buy)]
  if (sold === undefined || bought === undefined) return undefined
  if (buy === 'EUR') return { [sell]: quotient(one, rate, derivedDigits) }
  const made = roundedRate(
    sold.digits * rate.digits,
    10n ** BigInt(sold.scale + rate.scale),
    derivedDigits,
    'half-even',
  )
  return sell === 'EUR' ? { [buy]: made } : { [sell]: sold, [buy]: made }
}

export const writeQuotes = (quotes: Quotes): string =>
  JSON.stringify(Object.fromEntries(Object.entries(quotes).map(([currency, rate]) => [currency, rateText(rate)])))

export const readQuotes = (json: string): Quotes =>
  Object.fromEntries(
    Object.entries(ownJson<Record<string, string>>(json)).flatMap(([currency, text]) =>
      isCurrency(currency) ? [[currency, rateOf(text)]] : [],
    ),
  )
