/** Pure: the statuses of a deposit, and the reference by which a payer names one. */
export const depositStatuses = [
  'Created',
  'Initiated',
  'Submitted',
  'PartiallyPaid',
  'Accepted',
  'Screening',
  'Completed',
  'Failed',
  'Expired',
] as const
export type DepositStatus = (typeof depositStatuses)[number]

/** ISO 11649: `RF`, two check digits and 1 to 21 letters or digits; people write it in groups of four. */
const creditorReferences = /\bRF\d{2}(?: ?[0-9A-Z]){1,21}/gi

/** ISO 7064, MOD 97-10: letters count as 10 to 35. */
const remainderOf = (text: string): bigint =>
  BigInt(text.replaceAll(/[A-Z]/g, (letter) => `${parseInt(letter, 36)}`)) % 97n

/** ISO 11649: with its first four characters at the end, the reference is 1 modulo 97. */
const hasCheckDigits = (reference: string): boolean =>
  remainderOf(`${reference.slice(4)}${reference.slice(0, 4)}`) === 1n

/**
 * The first creditor reference in a text, without spaces. Text may follow it after a space, so that the longest part with right
 * check digits counts.
 */
export function creditorReferenceIn(text: string): string | undefined {
  for (const [match] of text.matchAll(creditorReferences)) {
    const groups = match.split(' ')
    for (let count = groups.length; count > 0; count -= 1) {
      const reference = groups.slice(0, count).join('').toUpperCase()
      if (reference.length > 4 && hasCheckDigits(reference)) return reference
    }
  }
  return undefined
}

/** The creditor reference of 1 to 21 capital letters and digits. */
export function creditorReferenceOf(text: string): string {
  const check = 98n - remainderOf(`${text}RF00`)
  return `RF${check.toString().padStart(2, '0')}${text}`
}
