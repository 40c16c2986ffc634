/** Amounts: decimal text on the wire, `bigint` minor units here. No amount is ever a float. */

/** Every currency of the demo has two decimal digits. */
const digits = 2

/** Converts `12.50` to 1250n. Throws if the text is not an amount. */
export function minorOf(text: string): bigint {
  const match = /^(-?)(\d+)(?:\.(\d{1,2}))?$/.exec(text)
  if (match === null) throw new Error(`${text} is not an amount of ${digits} decimal digits`)
  const [, sign, whole = '', fraction = ''] = match
  const minor = BigInt(`${whole}${fraction.padEnd(digits, '0')}`)
  return sign === '-' ? -minor : minor
}

/** Formats 123450n as `1,234.50`. */
export function amountText(minor: bigint): string {
  const text = (minor < 0n ? -minor : minor).toString().padStart(digits + 1, '0')
  const whole = text.slice(0, -digits).replace(/\B(?=(\d{3})+$)/g, ',')
  return `${minor < 0n ? '-' : ''}${whole}.${text.slice(-digits)}`
}

export const sum = (amounts: readonly bigint[]): bigint => amounts.reduce((total, amount) => total + amount, 0n)
