/** From the contract's schemas to those of OpenAPI 3.1, which are JSON Schema 2020-12. */
import { type Schema, isAmount, isRecord, isSchema, nameOf, nullableOf } from './shapes.ts'

export const ref = (kind: 'schemas' | 'responses' | 'examples' | 'headers' | 'parameters', name: string) => ({
  $ref: `#/components/${kind}/${name}`,
})

export const amountSchema = {
  type: 'number',
  description:
    'A JSON number, exact: it is read from its source text and never rounded. A string, an exponent beyond range or ' +
    'more digits than the currency has is refused. Parse it as a decimal, not as a binary float.',
  examples: [12.5],
}

function orNull(inner: Schema): Schema {
  if (typeof inner.type !== 'string') return { anyOf: [inner, { type: 'null' }] }
  const values = inner.enum
  return { ...inner, type: [inner.type, 'null'], ...(Array.isArray(values) && { enum: [...values, null] }) }
}

/** A shape in its place: the name of a named one, the schema itself of any other. */
export function place(schema: Schema): Schema {
  if (isAmount(schema)) return ref('schemas', 'Amount')
  const name = nameOf(schema)
  return name === undefined ? define(schema) : ref('schemas', name)
}

/** The definition of a shape: what it is made of is put in its place. */
export function define(schema: Schema): Schema {
  const inner = nullableOf(schema)
  if (inner !== undefined) return orNull(place(inner))
  if (isRecord(schema)) return { type: 'object', additionalProperties: true }
  const { properties, items, ...rest } = schema
  return {
    ...('enum' in rest && { type: 'string' }),
    ...rest,
    ...(isSchema(items) && { items: place(items) }),
    ...(isSchema(properties) && {
      properties: Object.fromEntries(Object.entries(properties).map(([key, value]) => [key, place(value as Schema)])),
    }),
  }
}
