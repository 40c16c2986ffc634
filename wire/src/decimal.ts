/**
 * Exact decimals on the wire. A JSON number literal that is not a small whole number never becomes a float: it is kept
 * as its source text in the object that `JSON.rawJSON` makes, which `JSON.stringify` writes back character for character.
 * One representation serves both directions, so an amount can be read, stored as `bigint` minor units and answered
 * without a rounding step existing anywhere. Source: ECMA-262, JSON.parse source text access.
 */

/** A JSON number held as its source text. Made only by `rawNumber`. */
export type RawNumber = { readonly rawJSON: string }

/** A JSON number: a safe integer as itself, everything else as its source text. */
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

/** `text` must be a JSON number literal; anything else throws a SyntaxError. */
export function rawNumber(text: string): RawNumber {
  return json.rawJSON(text)
}

export function isRawNumber(value: unknown): value is RawNumber {
  return json.isRawJSON(value)
}

export function isDecimal(value: unknown): value is Decimal {
  return typeof value === 'number' || isRawNumber(value)
}

/** The literal as it stood in the source, for example `12.50`. */
export function decimalText(value: Decimal): string {
  return typeof value === 'number' ? String(value) : value.rawJSON
}

/** Parses JSON and keeps each number literal that a double could change as its source text. Throws a SyntaxError. */
export function parseJsonExactly(text: string): unknown {
  return json.parse(text, (_key, value, context) => {
    if (typeof value !== 'number' || context.source === undefined) return value
    return Number.isSafeInteger(value) && String(value) === context.source ? value : json.rawJSON(context.source)
  })
}
