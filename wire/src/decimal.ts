/**
 * Exact decimals in JSON. A number literal that a double could change is kept as its source text in a `JSON.rawJSON`
 * object, which `JSON.stringify` writes back unchanged. No amount is rounded. Source: ECMA-262, JSON.parse source text.
 */

/** A JSON number as its source text. Only `rawNumber` and `parseJsonExactly` create one. */
export type RawNumber = { readonly rawJSON: string }

/** A JSON number: a safe integer as a number, any other value as its source text. */
export type Decimal = number | RawNumber

type JsonWithSource = {
  readonly rawJSON: (text: string) => RawNumber
  readonly isRawJSON: (value: unknown) => value is RawNumber
  readonly parse: (
    text: string,
    reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
  ) => unknown
}
const json = JSON as unknown as JsonWithSource

/** Throws a SyntaxError if `text` is not a JSON number literal. */
export function rawNumber(text: string): RawNumber {
  return json.rawJSON(text)
}

export function isRawNumber(value: unknown): value is RawNumber {
  return json.isRawJSON(value)
}

export function isDecimal(value: unknown): value is Decimal {
  return typeof value === 'number' || isRawNumber(value)
}

/** Returns the literal as it appears in the source, for example `12.50`. */
export function decimalText(value: Decimal): string {
  return typeof value === 'number' ? String(value) : value.rawJSON
}

/** Parses JSON and keeps number literals that a double could change as source text. Throws a SyntaxError. */
export function parseJsonExactly(text: string): unknown {
  return json.parse(text, (_key, value, context) => {
    if (typeof value !== 'number' || context.source === undefined) return value
    return Number.isSafeInteger(value) && String(value) === context.source ? value : json.rawJSON(context.source)
  })
}
