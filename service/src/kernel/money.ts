/**
 * Money is `bigint` minor units and a currency, from the edge inward. A JSON amount is read from its source text and
 * written back as source text; no amount is ever a float.
 */
import { type Decimal, decimalText, type FieldError, type RawNumber, rawNumber } from '@partner-payments/wire'
import { refuseField } from '../api/refusal.ts'

export type Minor = bigint
export type Money = { readonly amount: Minor; readonly currency: Currency }

/** ISO 4217 minor digits; tokens as their contracts define them. */
export const currencies = {
  EUR: { digits: 2, method: 'Fiat' },
  GBP: { digits: 2, method: 'Fiat' },
  USD: { digits: 2, method: 'Fiat' },
  USDC: { digits: 6, method: 'Token' },
  EURC: { digits: 6, method: 'Token' },
} as const satisfies Record<string, { readonly digits: number; readonly method: 'Fiat' | 'Token' }>
export type Currency = keyof typeof currencies

export function isCurrency(code: string): code is Currency {
  return Object.hasOwn(currencies, code)
}

export function isFiat(code: string): code is Currency {
  return isCurrency(code) && currencies[code].method === 'Fiat'
}

/** Contract page, Silences: `amount` is 0.01 to 10,000,000.00 in major units. */
export const amountMajorMax = 10_000_000n

/** Longer literals than this cannot be amounts; the bound keeps a hostile exponent from costing anything. */
const literalCharsMax = 64
const literal = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,3}))?$/

/** Digits without the point, and how many of them the literal writes behind it: `12.50` is 1250 and 2. */
function exactDigits(
  text: string,
): { readonly negative: boolean; readonly digits: bigint; readonly scale: number } | undefined {
  const match = text.length <= literalCharsMax ? literal.exec(text) : null
  if (match === null) return undefined
  const [, sign, whole = '', fraction = '', exponent = '0'] = match
  const scale = fraction.length - Number(exponent)
  if (scale < -literalCharsMax) return undefined
  const digits = BigInt(`${whole}${fraction}`) * 10n ** BigInt(Math.max(0, -scale))
  return { negative: sign === '-', digits, scale: Math.max(0, scale) }
}

/**
 * Reads an amount in major units of `currency`, exactly.
 * Refuses (400, with `pointer`): not greater than zero, more digits than the currency has, out of range.
 */
export function readAmount(value: Decimal, currency: Currency, pointer = '/amount'): Minor {
  const refuse = (code: FieldError['code'], message: string) => refuseField({ pointer, code, message })
  const exact = exactDigits(decimalText(value))
  if (exact === undefined) throw refuse('out_of_range', 'is not an amount in range')
  if (exact.negative || exact.digits === 0n) throw refuse('out_of_range', 'must be greater than 0')
  const { digits } = currencies[currency]
  if (exact.scale > digits) throw refuse('too_precise', `${currency} has ${digits} decimal digits at most`)
  const minor = exact.digits * 10n ** BigInt(digits - exact.scale)
  if (minor > amountMajorMax * 10n ** BigInt(digits)) throw refuse('out_of_range', 'must be at most 10000000.00')
  return minor
}

/** Minor units as a decimal text with all of the currency's digits: 1234n EUR is `12.34`. */
export function amountText(minor: Minor, currency: Currency): string {
  const { digits } = currencies[currency]
  const sign = minor < 0n ? '-' : ''
  const text = (minor < 0n ? -minor : minor).toString().padStart(digits + 1, '0')
  return `${sign}${text.slice(0, -digits)}.${text.slice(-digits)}`
}

/** The amount as an exact JSON number. */
export function writeAmount(minor: Minor, currency: Currency): RawNumber {
  return rawNumber(amountText(minor, currency))
}

/** ISO 4217 without its X codes: those are no money (XXX, XTS), metals and funds. */
const iso4217 = new Set(Intl.supportedValuesOf('currency').filter((code) => !code.startsWith('X')))

/**
 * Narrows a currency code that the schema let through. Refuses: validation_failed (400) what is no currency,
 * currency_not_supported (422) one that the service does not hold; both with `pointer`.
 */
export function readCurrency(code: string, pointer = '/currency'): Currency {
  if (isCurrency(code)) return code
  const field = { pointer, code: 'invalid_value' } as const
  if (!iso4217.has(code)) throw refuseField({ ...field, message: 'is not a currency (ISO 4217 alpha-3)' })
  const message = `is not supported; ${Object.keys(currencies).join(', ')} are`
  throw refuseField({ ...field, message }, 'currency_not_supported')
}
