/**
 * The normal form of identifiers: a UUID in lower case (RFC 9562 section 4). It is made once, before a handler runs, so
 * that no key, lock, limit or sealing context depends on how a caller spells an identifier.
 */
import { identifierPatterns, type TSchema } from '@partner-payments/wire'

/** Returns the same value if nothing changes. The value has passed the schema. */
type Normalize = (value: unknown) => unknown

type SchemaLike = {
  readonly pattern?: string
  readonly properties?: Readonly<Record<string, TSchema>>
  readonly items?: TSchema
  readonly anyOf?: readonly TSchema[]
}

/** Undefined if the schema contains no identifier. */
export function compileNormalizer(schema: TSchema): Normalize | undefined {
  const { pattern, properties, items, anyOf } = schema as SchemaLike
  if (pattern !== undefined && identifierPatterns.has(pattern)) return lowerCase
  if (properties) return normalizeObject(properties)
  if (items) return normalizeItems(compileNormalizer(items))
  // The only unions of the contract are nullable fields.
  return anyOf?.map(compileNormalizer).find((normalize) => normalize !== undefined)
}

const lowerCase: Normalize = (value) => (typeof value === 'string' ? value.toLowerCase() : value)

function normalizeItems(item: Normalize | undefined): Normalize | undefined {
  return item && ((value) => (Array.isArray(value) ? value.map(item) : value))
}

function normalizeObject(properties: Readonly<Record<string, TSchema>>): Normalize | undefined {
  const fields = Object.entries(properties).flatMap(([name, schema]) => {
    const normalize = compileNormalizer(schema)
    return normalize ? [{ name, normalize }] : []
  })
  if (fields.length === 0) return undefined
  return (value) => {
    if (typeof value !== 'object' || value === null) return value
    const source = value as Record<string, unknown>
    const changes: Record<string, unknown> = {}
    for (const { name, normalize } of fields) {
      const given = source[name]
      if (given === undefined) continue
      const normal = normalize(given)
      if (normal !== given) changes[name] = normal
    }
    return Object.keys(changes).length === 0 ? value : { ...source, ...changes }
  }
}
