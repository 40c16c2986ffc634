/** ISO 13616: the check digits of an IBAN, and how long it is in some countries. */

const lengths: Readonly<Record<string, number>> = {
  AT: 20,
  BE: 16,
  CH: 21,
  DE: 22,
  DK: 18,
  EE: 20,
  ES: 24,
  FI: 18,
  FR: 27,
  GB: 22,
  IE: 22,
  IT: 27,
  LT: 20,
  LU: 20,
  LV: 21,
  NL: 18,
  NO: 15,
  PL: 28,
  PT: 25,
  SE: 24,
}

const digitsOf = (text: string): string =>
  text.replace(/[A-Z]/g, (letter) => String(letter.charCodeAt(0) - 'A'.charCodeAt(0) + 10))

export function isIban(text: string): boolean {
  if (!/^[A-Z]{2}\d{2}[A-Z0-9]{11,30}$/.test(text)) return false
  if ((lengths[text.slice(0, 2)] ?? text.length) !== text.length) return false
  return BigInt(digitsOf(text.slice(4) + text.slice(0, 4))) % 97n === 1n
}

/** An IBAN of the country with this rest: for debtors that a test makes up. */
export function ibanOf(country: string, rest: string): string {
  const check = 98n - (BigInt(digitsOf(`${rest}${country}00`)) % 97n)
  return `${country}${String(check).padStart(2, '0')}${rest}`
}
