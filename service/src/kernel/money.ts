/**
 * Money is `bigint` minor units and a currency. A JSON amount is parsed from its source text and formatted as source
 * text. No amount is ever a float.
 */
import { type RawNumber, rawNumber } from '@partner-payments/wire'

export type Minor = bigint

/**
 * Number of minor digits: by ISO 4217 for currencies, by the token contract for tokens. If you add a currency, mark the
 * balances of partners that have rules for all currencies (decision 0140).
 */
export const currencies = {
  EUR: { digits: 2, method: 'Fiat' },
  GBP: { digits: 2, method: 'Fiat' },
  USD: { digits: 2, method: 'Fiat' },
  USDC: { digits: 6, method: 'Token' },
  EURC: { digits: 6, method: 'Token' },
} as const satisfies Record<string, { readonly digits: number; readonly method: 'Fiat' | 'Token' }>
export type Currency = keyof typeof currencies
export type Money = { readonly currency: Currency; readonly amount: Minor }

export function isCurrency(code: string): code is Currency {
  return Object.hasOwn(currencies, code)
}

export function isFiat(code: string): code is Currency {
  return isCurrency(code) && currencies[code].method === 'Fiat'
}

export const sumMinor = (amounts: readonly Minor[]): Minor => amounts.reduce((total, amount) => total + amount, 0n)

/** Largest amount in major units (docs/groups/payouts.md). */
export const amountMajorMax = 10_000_000n

/** Formats an amount as decimal text with all digits of the currency: 1234n EUR is `12.34`. */
export function amountText(minor: Minor, currency: Currency): string {
  const { digits } = currencies[currency]
  const sign = minor < 0n ? '-' : ''
  const text = (minor < 0n ? -minor : minor).toString().padStart(digits + 1, '0')
  return `${sign}${text.slice(0, -digits)}.${text.slice(-digits)}`
}

/** Converts an amount to an exact JSON number. */
export function toJsonAmount(minor: Minor, currency: Currency): RawNumber {
  return rawNumber(amountText(minor, currency))
}
