/** Amounts and currencies of a request, read from the source text of JSON and refused with a pointer. */
import { type Decimal, decimalText, type FieldError } from '@partner-payments/wire'
import { amountMajorMax, type Currency, currencies, isCurrency, type Minor } from '../kernel/index.ts'
import { refuseField } from './refusal.ts'

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
