/** Converts the schemas of the contract to OpenAPI 3.1 schemas (JSON Schema 2020-12). */
import { CalendarDate, CountryCode, Currency, CustomerRef, Email, Timestamp, Uuid } from '@partner-payments/wire'
import { type Schema, isAmount, isRecord, isSchema, nameOf, nullableOf } from './shapes.ts'

export const ref = (kind: 'schemas' | 'responses' | 'examples' | 'headers' | 'parameters', name: string) => ({
  $ref: `#/components/${kind}/${name}`,
})

export const amountSchema = {
  type: 'number',
  description:
    'An exact JSON number in major units of its currency, never rounded: 12.50 EUR is twelve euros and fifty cents. EUR, ' +
    'GBP and USD have 2 decimal digits; USDC and EURC have 6. Parse the number as a decimal, not as a binary float.',
  examples: [12.5],
}

/** Adds an example to a pattern: without one, a viewer generates an unreadable one from the pattern. */
const exampleOf: ReadonlyMap<unknown, string> = new Map(
  (
    [
      [Uuid, '018f3c5e-7d1a-7c3e-9a52-6f1f0a9f4d21'],
      [CustomerRef, 'cus_0123456789abcdef'],
      [Timestamp, '2026-01-01T00:00:00.000Z'],
      [Currency, 'EUR'],
      [CalendarDate, '1990-12-10'],
      [CountryCode, 'NL'],
      [Email, 'ada@example.com'],
    ] as const
  ).map(([schema, example]) => [(schema as unknown as Schema).pattern, example]),
)

/** Returns the keywords that a property adds to its schema. OpenAPI 3.1 permits them beside `$ref`. */
function annotations({ description, examples, minimum, maximum }: Schema): Schema {
  const given = { description, examples, minimum, maximum }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}

function orNull(inner: Schema): Schema {
  if (typeof inner.type !== 'string') return { anyOf: [inner, { type: 'null' }] }
  const values = inner.enum
  return { ...inner, type: [inner.type, 'null'], ...(Array.isArray(values) && { enum: [...values, null] }) }
}

/** The use of a schema: a reference if the schema is named, otherwise the schema itself. */
export function place(schema: Schema): Schema {
  if (isAmount(schema)) return { ...ref('schemas', 'Amount'), ...annotations(schema) }
  const name = nameOf(schema)
  return name === undefined ? define(schema) : { ...ref('schemas', name), ...annotations(schema) }
}

/** The definition of a schema, with references to the named schemas in it. */
export function define(schema: Schema): Schema {
  const inner = nullableOf(schema)
  if (inner !== undefined) return { ...orNull(place(inner)), ...annotations(schema) }
  if (isRecord(schema)) return { type: 'object', additionalProperties: true, ...annotations(schema) }
  const { properties, items, ...rest } = schema
  const example = exampleOf.get(rest.pattern)
  return {
    ...('enum' in rest && { type: 'string' }),
    ...(example !== undefined && { examples: [example] }),
    ...rest,
    ...(isSchema(items) && { items: place(items) }),
    ...(isSchema(properties) && {
      properties: Object.fromEntries(Object.entries(properties).map(([key, value]) => [key, place(value as Schema)])),
    }),
  }
}
