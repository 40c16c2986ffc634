/**
 * The response schema as a writer: a record contains only the fields that the schema names. A customer's identification
 * number does not leave the service, even if a handler returned the whole row. A time is written as text, and a field without
 * a value is absent, unless the schema lets it be null.
 */
import type { Static, TSchema } from '@partner-payments/wire'
import type { Page } from './cursor.ts'

/** A value of the interface as rows have it: with times, with null in a field that may be absent, and with lists that are not copied. */
type Writable<T> = T extends string
  ? string extends T
    ? T | Date
    : T
  : T extends readonly (infer Item)[]
    ? readonly Writable<Item>[]
    : T extends object
      ? { readonly [K in keyof T]: Writable<T[K]> | (object extends Pick<T, K> ? null | undefined : never) }
      : T

type Write = (value: unknown) => unknown

type SchemaLike = {
  readonly type?: string
  readonly properties?: Readonly<Record<string, TSchema>>
  readonly items?: TSchema
  readonly anyOf?: readonly TSchema[]
}

/** Compiled at the first record: the schemas of all operations together would delay the start. */
export function writerOf<S extends TSchema>(schema: S): (record: Writable<Static<S>>) => Static<S> {
  let write: Write | undefined
  return (record) => (write ??= compile(schema))(record) as Static<S>
}

/** The answer of a list: a page whose records are written. */
export const pageOf = <Row, Item>({ data, ...page }: Page<Row>, write: (row: Row) => Item) => ({
  body: { ...page, data: data.map((row) => write(row)) },
})

const same: Write = (value) => (value instanceof Date ? value.toISOString() : value)

function compile(schema: TSchema): Write {
  const { type, properties, items, anyOf } = schema as SchemaLike
  if (type === 'object' && properties) return compileObject(properties)
  if (type === 'array' && items) {
    const item = compile(items)
    return (value) => (Array.isArray(value) ? value.map(item) : undefined)
  }
  if (anyOf) {
    // The only unions of the contract are nullable fields.
    const branch = anyOf.find((candidate) => !isNull(candidate))
    const inner = branch ? compile(branch) : same
    return (value) => (value === null ? null : inner(value))
  }
  return same
}

const isNull = (schema: TSchema): boolean => (schema as SchemaLike).type === 'null'

function compileObject(properties: Readonly<Record<string, TSchema>>): Write {
  const fields = Object.entries(properties).map(([name, schema]) => {
    const nullable = (schema as SchemaLike).anyOf?.some(isNull) === true
    return { name, write: compile(schema), nullable }
  })
  return (value) => {
    if (typeof value !== 'object' || value === null) return undefined
    const source = value as Record<string, unknown>
    const result: Record<string, unknown> = {}
    for (const { name, write, nullable } of fields) {
      const field = source[name]
      if (field !== undefined && (field !== null || nullable)) result[name] = write(field)
    }
    return result
  }
}
