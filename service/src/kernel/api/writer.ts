/**
 * Converts responses by their schema: a record contains only the fields of the schema. So a customer's identification
 * number does not leave the service, even if a handler returns the whole row. Times become text. A field without a
 * value is omitted, unless it is nullable.
 */
import { listLimitDefault, type Static, type TSchema } from '@partner-payments/wire'
import { createHmac, timingSafeEqual } from 'node:crypto'
import { refuseField } from './refusal.ts'

/** The type of a row that can be converted: times may be dates, absent fields null, and lists read-only. */
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

/**
 * Creates a record writer. It compiles the schema at the first record, because compiling all schemas would delay the
 * start.
 */
export function createRecordWriter<S extends TSchema>(schema: S): (record: Writable<Static<S>>) => Static<S> {
  let write: Write | undefined
  return (record) => (write ??= compile(schema))(record) as Static<S>
}

/** Converts the records of a page to the answer of a list. */
export const writePage = <Row, Item>({ data, ...page }: Page<Row>, write: (row: Row) => Item) => ({
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

// Opaque, signed list cursors. A cursor holds the position where a page ended.

/** Lists are ordered by (createdAt, id), descending. Ids are UUIDs version 7, so `order by id` gives the same order. */
export type PageRequest = { readonly limit: number; readonly afterId: string | null }
export type Page<T> = { readonly data: readonly T[]; readonly nextCursor: string | null; readonly hasMore: boolean }

export type Cursors = {
  /**
   * Decodes the position of a page. `list` includes the partner's id. Refuses (400) a cursor that was not issued for
   * this list.
   */
  readonly read: (list: string, query: { readonly limit?: string; readonly cursor?: string }) => PageRequest
  /**
   * Decodes the position in a cursor of `write`. Refuses (400, with `pointer`) a cursor that was not issued for this
   * list.
   */
  readonly open: (list: string, cursor: string, pointer: string) => string
  readonly write: (list: string, position: string) => string
  /** Creates a page of a list. `rows` has up to `limit + 1` rows: the extra row only shows that there are more. */
  readonly page: <T extends { readonly id: string }>(list: string, request: PageRequest, rows: readonly T[]) => Page<T>
}

const macBytes = 16

export function createCursors(key: Uint8Array): Cursors {
  const mac = (list: string, id: string) =>
    createHmac('sha256', key).update(`${list}\n${id}`).digest().subarray(0, macBytes)
  const open = (list: string, cursor: string, pointer: string) => {
    const bytes = Buffer.from(cursor, 'base64url')
    const position = bytes.subarray(macBytes).toString('latin1')
    const given = bytes.subarray(0, macBytes)
    if (given.length !== macBytes || !timingSafeEqual(given, mac(list, position)))
      throw refuseField({
        pointer,
        code: 'invalid_value',
        message: 'is not a cursor of this list; send the `nextCursor` of its previous page unchanged',
      })
    return position
  }
  const write = (list: string, position: string) =>
    Buffer.concat([mac(list, position), Buffer.from(position, 'latin1')]).toString('base64url')
  return {
    open,
    write,
    read: (list, query) => {
      const limit = query.limit === undefined ? listLimitDefault : Number(query.limit)
      return { limit, afterId: query.cursor === undefined ? null : open(list, query.cursor, '/query/cursor') }
    },
    page: (list, { limit }, rows) => {
      const data = rows.slice(0, limit)
      const hasMore = rows.length > limit
      const last = data.at(-1)
      return { data, nextCursor: hasMore && last ? write(list, last.id) : null, hasMore }
    },
  }
}
