/** Pure: the account and the reference of a Swiss QR-bill (docs of the rules: `iso20022/profiles/swiss.ts`). */

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
