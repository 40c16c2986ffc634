/**
 * Parses JSON that a stranger or another system wrote: limits its length, checks a schema, and copies only the fields
 * of the schema. A cast would trust the text: `{"length":6e7}` instead of a text makes `Buffer.from` fill 60 MB with
 * zeros. Texts with a NUL or an unpaired surrogate are refused, because PostgreSQL cannot store them.
 */
import type { Static, TSchema } from 'typebox'
import { parseJsonExactly } from './decimal.ts'

/** Parses foreign JSON. Undefined: the text is longer than `charsMax`, is not JSON, or does not match the schema. */
export function parseUntrustedJson<S extends TSchema>(
  text: string,
  schema: S,
  charsMax: number,
): Static<S> | undefined {
  if (text.length > charsMax) return undefined
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  return selectUntrustedFields(value, schema)
}

/** Checks a value that a library has parsed, such as the claims of a token. Undefined: the value does not match the schema. */
export function selectUntrustedFields<S extends TSchema>(value: unknown, schema: S): Static<S> | undefined {
  const selected = select(value, schema as Schema)
  return selected === unfit ? undefined : (selected as Static<S>)
}

/** Parses JSON that this service has written, and stored in its database, sealed or signed. Never other JSON, because `T` is not checked. */
export const ownJson = <T>(text: string): T => JSON.parse(text) as T

/** Parses JSON of this service with exact decimals. */
export const ownJsonExactly = <T>(text: string): T => parseJsonExactly(text) as T

/** The keywords of JSON Schema that the reader supports. Add a keyword when a schema needs it. */
type Schema = {
  readonly type?: 'string' | 'integer' | 'boolean' | 'null' | 'array' | 'object'
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly items?: Schema
  readonly minItems?: number
  readonly maxItems?: number
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly patternProperties?: Readonly<Record<string, Schema>>
}

const unfit = Symbol('unfit')

function select(value: unknown, schema: Schema): unknown {
  if (schema.anyOf !== undefined) {
    for (const branch of schema.anyOf) {
      const selected = select(value, branch)
      if (selected !== unfit) return selected
    }
    return unfit
  }
  if (schema.enum !== undefined) return schema.enum.includes(value) ? value : unfit
  switch (schema.type) {
    case 'string':
      return typeof value === 'string' && isText(value, schema) ? value : unfit
    case 'integer':
      return Number.isSafeInteger(value) && isWithin(Number(value), schema.minimum, schema.maximum) ? value : unfit
    case 'boolean':
      return typeof value === 'boolean' ? value : unfit
    case 'null':
      return value === null ? value : unfit
    case 'array':
      return selectItems(value, schema)
    case 'object':
      return selectFields(value, schema)
    default:
      throw new Error('a schema of foreign JSON has an unsupported form')
  }
}

const isWithin = (size: number, min = -Infinity, max = Infinity): boolean => size >= min && size <= max

const isText = (text: string, { minLength, maxLength, pattern }: Schema): boolean =>
  isWithin(text.length, minLength, maxLength) &&
  !text.includes('\0') &&
  text.isWellFormed() &&
  (pattern === undefined || new RegExp(pattern, 'u').test(text))

function selectItems(value: unknown, { items, minItems, maxItems }: Schema): unknown {
  if (!Array.isArray(value) || !isWithin(value.length, minItems, maxItems)) return unfit
  const selected = value.map((item) => select(item, items ?? {}))
  return selected.includes(unfit) ? unfit : selected
}

function selectFields(value: unknown, { properties = {}, required = [], patternProperties }: Schema): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return unfit
  const given = value as Readonly<Record<string, unknown>>
  const [ofAnyName] = Object.values(patternProperties ?? {})
  const names = ofAnyName === undefined ? Object.keys(properties) : Object.keys(given)
  const selected: [name: string, field: unknown][] = []
  for (const name of names) {
    const schema = (Object.hasOwn(properties, name) ? properties[name] : ofAnyName) ?? {}
    if (!Object.hasOwn(given, name)) {
      if (required.includes(name)) return unfit
      continue
    }
    const field = isText(name, {}) ? select(given[name], schema) : unfit
    if (field === unfit) return unfit
    selected.push([name, field])
  }
  return Object.fromEntries(selected)
}
