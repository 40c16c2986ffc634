/**
 * Parses amounts, currencies and times of a request. Amounts are parsed from the source text of the JSON. Refusals have
 * a pointer.
 */
import { type Decimal, decimalText, type FieldError, timeInputPattern, sumRowsMax } from '@partner-payments/wire'
import { amountMajorMax, assert, currencies, type Currency, isCurrency, type Minor, toJsonAmount } from '../index.ts'
import { refuseField } from './refusal.ts'

const expectedRange = `must be greater than 0 and at most ${amountMajorMax}.00`
const supported = Object.keys(currencies).join(', ')

/** Longer than any valid amount. Also limits the cost of a hostile exponent. */
const literalCharsMax = 64
const literal = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,3}))?$/

/** Parses a decimal into its digits and scale: `12.50` is 1250 with scale 2. */
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
 * Parses an amount in major units of `currency`, exactly. Refuses (400 validation_failed, with `pointer`): not greater
 * than zero, more decimal digits than the currency has, out of range.
 */
export const parseAmount = (value: Decimal, currency: Currency, pointer = '/amount'): Minor =>
  readMinor(value, currency, pointer, { majorMax: amountMajorMax, zero: false, expected: expectedRange })

/** Largest balance in major units, which fits a PostgreSQL bigint even for a token of 6 digits. */
const balanceMajorMax = 1_000_000_000_000n

/**
 * Parses the amount of a balance in major units of `currency`, exactly. Refuses (400 validation_failed, with
 * `pointer`): below zero, above 1,000,000,000,000, more decimal digits than the currency has.
 */
export const parseBalance = (value: Decimal, currency: Currency, pointer: string): Minor =>
  readMinor(value, currency, pointer, {
    majorMax: balanceMajorMax,
    zero: true,
    expected: `must be 0 to ${balanceMajorMax}.00`,
  })

type Range = { readonly majorMax: bigint; readonly zero: boolean; readonly expected: string }

function readMinor(value: Decimal, currency: Currency, pointer: string, { majorMax, zero, expected }: Range): Minor {
  const text = decimalText(value)
  const came = text.length <= literalCharsMax ? text : `a number of ${text.length} characters`
  const refuse = (code: FieldError['code'], message: string) =>
    refuseField({ pointer, code, message: `is ${came}, ${message}` })
  const exact = exactDigits(text)
  if (exact === undefined) throw refuse('out_of_range', expected)
  if (exact.negative || (exact.digits === 0n && !zero)) throw refuse('out_of_range', expected)
  const { digits } = currencies[currency]
  if (exact.scale > digits) throw refuse('too_precise', `must have at most ${digits} decimal digits in ${currency}`)
  const minor = exact.digits * 10n ** BigInt(digits - exact.scale)
  if (minor > majorMax * 10n ** BigInt(digits)) throw refuse('out_of_range', expected)
  return minor
}

/** ISO 4217 without its X codes, which stand for metals, funds, tests (XTS) and the absence of a currency (XXX). */
const iso4217 = new Set(Intl.supportedValuesOf('currency').filter((code) => !code.startsWith('X')))

/**
 * Checks a currency code that passed the schema. Refuses, with `pointer`: validation_failed (400) if the code is not a
 * currency, currency_not_supported (422) if the service does not support it.
 */
export function parseCurrency(code: string, pointer = '/currency'): Currency {
  if (isCurrency(code)) return code
  const field = { pointer, code: 'invalid_value' } as const
  if (!iso4217.has(code))
    throw refuseField({ ...field, message: `is ${code}, not an ISO 4217 currency code; must be one of ${supported}` })
  const message = `is ${code}, which is not supported; must be one of ${supported}`
  throw refuseField({ ...field, message }, 'currency_not_supported')
}

const form = new RegExp(timeInputPattern)
const wholeSecondsChars = 'YYYY-MM-DDTHH:MM:SS'.length
const millisecondDigits = 3

/**
 * Parses a time that passed the schema `timeInput`, which refuses any other text with a pointer. Drops the digits after
 * the milliseconds, because stored times have milliseconds.
 */
export function parseTime(text: string): Date {
  const [, fraction = ''] = /\.(\d+)/.exec(text) ?? []
  const milliseconds = fraction.slice(0, millisecondDigits).padEnd(millisecondDigits, '0')
  const time = new Date(`${text.slice(0, wholeSecondsChars).toUpperCase()}.${milliseconds}Z`)
  assert(form.test(text) && !Number.isNaN(time.getTime()), 'invalid time: the schema should have refused it')
  return time
}

// Sums of filtered lists. A sum reads one row more than its limit, to detect whether more rows match.

export type CurrencySum = { readonly currency: Currency; readonly count: bigint; readonly amount: Minor }
/** `capped`: more rows match than were added up. */
export type Sums<Sum = CurrencySum> = { readonly data: readonly Sum[]; readonly capped: boolean }

/** Maximum number of rows that the statement of a sum reads. */
export const sumRowsRead = sumRowsMax + 1

export const capSums = <Sum extends CurrencySum>(data: readonly Sum[]): Sums<Sum> => ({
  data,
  capped: data.reduce((sum, { count }) => sum + count, 0n) > sumRowsMax,
})

export const writeSums = <Sum extends CurrencySum>({ data, capped }: Sums<Sum>) => ({
  data: data.map((sum) => ({ ...sum, count: Number(sum.count), amount: toJsonAmount(sum.amount, sum.currency) })),
  capped,
})
