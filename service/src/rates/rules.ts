/** Pure: the rates of a sheet, and whether the next sheet is plausible. */
import { ownJson } from '@partner-payments/wire'
import { type Currency, currencies, dayMs, isCurrency, type Minor } from '../kernel/index.ts'
import type { Quotes, RateSheet } from './port.ts'
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

/** An amount in a reference currency, in minor units, by a rate of a day: units of the reference currency for one unit. */
export type ReferenceAmount = {
  readonly amount: Minor
  readonly currency: Currency
  /** Plain decimal text. */
  readonly rate: string
  /** YYYY-MM-DD, in UTC. */
  readonly rateOn: string
}

/** The currency that a token stands for. A sheet that does not quote the token counts it as this one. */
const pegs: Readonly<Partial<Record<Currency, Currency>>> = { USDC: 'USD', EURC: 'EUR' }

const pegged = (quotes: Quotes, currency: Currency): Currency =>
  forOneEuro(quotes, currency) === undefined ? (pegs[currency] ?? currency) : currency

/**
 * An amount by the newest sheet, rounded up, so that a sum of small payments does not stay below a limit. An amount in the reference
 * currency needs no sheet. Undefined: there is no sheet of the last days, or it lacks one of the currencies.
 */
export function referenceAmount(
  sheet: RateSheet | undefined,
  { amount, currency }: { readonly amount: Minor; readonly currency: Currency },
  reference: Currency,
  { now, daysMax }: { readonly now: Date; readonly daysMax: number },
): ReferenceAmount | undefined {
  const dayOf = (time: Date) => time.toISOString().slice(0, 10)
  if (currency === reference) return { amount, currency, rate: '1', rateOn: dayOf(now) }
  if (sheet === undefined || now.getTime() - sheet.asOf.getTime() > daysMax * dayMs) return undefined
  const { asOf, quotes } = sheet
  const rate = midRateOf(quotes, pegged(quotes, currency), pegged(quotes, reference))
  if (rate === undefined) return undefined
  const over = amount * rate.digits * 10n ** BigInt(currencies[reference].digits)
  const under = 10n ** BigInt(rate.scale + currencies[currency].digits)
  return { amount: (over + under - 1n) / under, currency: reference, rate: rateText(rate), rateOn: dayOf(asOf) }
}

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
