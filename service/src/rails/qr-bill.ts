/** Pure: the account and the reference of a Swiss QR-bill (sources of the rules: `iso20022/profiles/swiss.ts`). */

/** The IID of a QR-IBAN, its characters 5 to 9, is a number from 30000 to 31999. */
export const isQrIban = (iban: string): boolean => /^(?:CH|LI)\d{2}3[01]\d{3}/.test(iban)

/** The digits of a QR reference without spaces, or undefined: 26 digits and a check digit, modulo 10 recursively. */
export function qrReferenceOf(text: string | null): string | undefined {
  const digits = (text ?? '').replaceAll(/\s/g, '')
  if (!/^\d{27}$/.test(digits)) return undefined
  let carry = 0
  for (const digit of digits.slice(0, -1)) carry = carries[(carry + Number(digit)) % carries.length] ?? 0
  return String((carries.length - carry) % carries.length) === digits.at(-1) ? digits : undefined
}
const carries = [0, 9, 4, 6, 8, 2, 7, 1, 3, 5] as const

/**
 * What is wrong with the reference of a payment to this account. A bill without its reference is returned, and so is its reference at an
 * account of Switzerland or Liechtenstein that is no QR-IBAN. Elsewhere 27 digits are a text like any other.
 */
export function qrMistake(account: string, reference: string | null): 'missing' | 'misplaced' | undefined {
  const isReference = qrReferenceOf(reference) !== undefined
  if (isQrIban(account)) return isReference ? undefined : 'missing'
  return isReference && /^(?:CH|LI)\d{2}/.test(account) ? 'misplaced' : undefined
}
export const qrMistakes = {
  missing: 'must be the QR reference of the bill, 27 digits with a right check digit, because the account is a QR-IBAN',
  misplaced: 'is a QR reference, which only a QR-IBAN takes: give the account of the bill, or another reference',
} as const
