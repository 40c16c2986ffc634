/** Amounts in JSON: bigint as text with a mark, in the fields that hold amounts only. */

const amountFields = /^(?:amount|opening|closing|balance|charge|short|controlSum)$/

export const toJson = (value: unknown): string =>
  JSON.stringify(value, (_key, part: unknown) => (typeof part === 'bigint' ? part.toString() : part))

export const fromJson = (text: string): unknown =>
  JSON.parse(text, (key, part: unknown) =>
    amountFields.test(key) && typeof part === 'string' && /^-?\d+$/.test(part) ? BigInt(part) : part,
  )
