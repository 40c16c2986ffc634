/**
 * Turns the rows of a batch into the `select` of an `insert`. A value that is equal in all rows is sent once, because
 * thirty equal texts cost more to format, send and parse than the values that differ.
 */
import { type Sql, sql, unprepared } from './sql.ts'
import type { Tx } from './tx.ts'

type Cell = string | number | bigint | boolean | Date | Uint8Array | null
/** `json`: a text column that holds the output of `JSON.stringify`. */
type PgType = 'uuid' | 'text' | 'json' | 'bigint' | 'integer' | 'boolean' | 'date' | 'timestamptz' | 'jsonb' | 'bytea'

/**
 * Separates JSON texts, as in RFC 7464. No JSON text contains it, because JSON escapes control characters. An array of
 * texts would need escapes for every quote, one character at a time.
 */
const separator = '\u001e'

/** `text?`: the column may be null. */
type ColumnType = PgType | `${PgType}?`

/** The columns of a table in the order of its `insert`, each with its type. */
type ColumnTypes = Readonly<Record<string, ColumnType>>

type Values = Readonly<
  Record<'uuid' | 'text' | 'json' | 'jsonb' | 'date', string> & {
    bigint: bigint
    integer: number
    boolean: boolean
    timestamptz: Date
    bytea: Uint8Array
  }
>
type ValueOf<T> = T extends `${infer Given}?` ? ValueOf<Given> | null : T extends PgType ? Values[T] : never

/** The type of the rows of these columns. `Known` narrows fields: `RowOf<typeof columns, { status: PayoutStatus }>`. */
export type RowOf<Types extends ColumnTypes, Known = unknown> = {
  readonly [K in keyof Types]: K extends keyof Known ? Known[K] | Extract<ValueOf<Types[K]>, null> : ValueOf<Types[K]>
}

type Columns<Row> = { readonly [K in keyof Row & string]: ColumnType }

const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** Names of columns, by field, where they differ from the field's name. */
type ColumnNames = Readonly<Record<string, string>>

/** Lists the columns for an insert: `partner_id, id, ...`. */
export const columnList = (columns: ColumnTypes, storedAs: ColumnNames = {}): Sql => ({
  parts: [
    Object.keys(columns)
      .map((name) => storedAs[name] ?? snake(name))
      .join(', '),
  ],
  values: [],
})

/** Lists the columns for a select: `partner_id, id, stored as field, ...`. */
export const selectList = (columns: ColumnTypes, storedAs: ColumnNames): Sql => ({
  parts: [
    Object.keys(columns)
      .map((name) => (name in storedAs ? `${storedAs[name]} as ${snake(name)}` : snake(name)))
      .join(', '),
  ],
  values: [],
})

const isSame = (a: Cell, b: Cell) => a === b || (a instanceof Date && b instanceof Date && a.getTime() === b.getTime())

/** Placeholder in a JSON text for the value of another column of its row, so that all rows of a batch share one text. */
export const rowPlaceholder = '\u001f'
/** The placeholder as `JSON.stringify` escapes it. */
const writtenMark = String.raw`\u001f`

/** JSON columns with placeholders, each with the column that replaces them. That column must not be in a group. */
type PlaceholderColumns<Row> = { readonly [K in keyof Row & string]?: keyof Row & string }

/** Groups of columns whose values are usually equal in all rows of a batch. */
type SharedColumns<Row> = readonly (readonly (keyof Row & string)[])[]

/**
 * Creates `select ... from unnest(...)` with the columns in the order of `columns`. A group of `shared` is sent as
 * single values if they are equal in all rows. Each combination of groups is a prepared statement per connection: two
 * groups make four. At least one column must not be in a group, because its array gives the number of rows.
 */
export function unnestSource<Row extends { readonly [K in keyof Row]: Cell }>(
  columns: Columns<Row>,
  shared: SharedColumns<Row>,
  marked: PlaceholderColumns<Row> = {},
) {
  const all = (Object.keys(columns) as (keyof Row & string)[]).map((name) => {
    const by = marked[name]
    const type = sqlType(columns[name])
    return {
      name,
      as: snake(name),
      // A text with placeholders is JSON only after they are replaced.
      type: by === undefined ? type : 'text',
      isJson: by !== undefined || /^json\b/.test(columns[name]),
      ofMark: by === undefined ? undefined : `, '${writtenMark}', ${snake(by)}::text)::${type}`,
      group: shared.findIndex((group) => group.includes(name)),
    }
  })
  return (rows: readonly Row[]): Sql => {
    const [first] = rows
    const isShared = shared.map(
      (group) => first !== undefined && group.every((name) => rows.every((row) => isSame(row[name], first[name]))),
    )
    const parts = ['select ']
    const values: unknown[] = []
    const append = (text: string) => {
      parts[parts.length - 1] += text
    }
    const addParameter = (value: unknown, after: string) => {
      values.push(value)
      parts.push(after)
    }
    const lists = all.filter(({ group }) => isShared[group] !== true)
    all.forEach(({ name, as, type, group, ofMark }, index) => {
      if (index > 0) append(', ')
      if (ofMark !== undefined) append('replace(')
      const end = ofMark === undefined ? '' : `${ofMark} as ${as}`
      if (isShared[group] !== true) append(`${as}${end}`)
      else addParameter(first?.[name], `::${type}${end === '' ? ` as ${as}` : end}`)
    })
    append(' from unnest(')
    lists.forEach(({ name, type, isJson }, index) => {
      if (index > 0) append(', ')
      const cells = rows.map((row) => row[name])
      if (!isJson) return addParameter(cells, `::${type}[]`)
      append('string_to_array(')
      // `join` writes null as the empty text, which is not JSON. The third argument converts it back to null.
      addParameter(cells.join(separator), `, E'\\x1e', '')${type === 'jsonb' ? '::jsonb[]' : ''}`)
    })
    append(`) as given (${lists.map(({ as }) => as).join(', ')})`)
    return { parts, values }
  }
}

const sqlType = (type: ColumnType): string => type.replace('?', '').replace(/^json$/, 'text')

function valuesOf<Row extends { readonly [K in keyof Row]: Cell }>(
  columns: Columns<Row>,
  rows: readonly Row[],
  marked: PlaceholderColumns<Row>,
): Sql {
  const names = Object.keys(columns) as (keyof Row & string)[]
  const parts = ['values (']
  const values: unknown[] = []
  rows.forEach((row, index) => {
    if (index > 0) parts[parts.length - 1] += '), ('
    names.forEach((name, at) => {
      const by = marked[name]
      values.push(by === undefined ? row[name] : String(row[name]).replaceAll(writtenMark, String(row[by])))
      parts.push(`::${sqlType(columns[name])}${at + 1 < names.length ? ', ' : ''}`)
    })
  })
  parts[parts.length - 1] += ')'
  return { parts, values }
}

/** The limit of PostgreSQL's protocol, which counts the parameters of a statement with 16 bits. */
const parametersMax = 65_535

/** Returns the maximum number of rows for one insert. */
export const rowsPerInsertMax = (columns: ColumnTypes): number =>
  Math.floor(parametersMax / Object.keys(columns).length)

const compare = (a: Cell, b: Cell): number => {
  const [left, right] = [a ?? '', b ?? '']
  return left < right ? -1 : left > right ? 1 : 0
}

/**
 * Creates the source of an `insert`, in the order of `orderBy`: on PostgreSQL `select ... from unnest`, whose text is
 * the same for every number of rows. On Citus `values`: it would send the `select` with COPY, where a duplicate key is
 * an internal error (XX000) and `on conflict` counts rows that were not inserted.
 */
export function insertBy<Row extends { readonly [K in keyof Row]: Cell }>(
  columns: Columns<Row>,
  shared: SharedColumns<Row>,
  orderBy: readonly (keyof Row & string)[] = [],
  marked: PlaceholderColumns<Row> = {},
) {
  const given = unnestSource(columns, shared, marked)
  const order: Sql = { parts: [orderBy.length > 0 ? `order by ${orderBy.map(snake).join(', ')}` : ''], values: [] }
  const byOrder = (a: Row, b: Row) => orderBy.reduce((found, name) => found || compare(a[name], b[name]), 0)
  return ({ sharded }: Pick<Tx, 'sharded'>, rows: readonly Row[]): Sql =>
    sharded ? unprepared(valuesOf(columns, rows.toSorted(byOrder), marked)) : sql`${given(rows)} ${order}`
}

/** Groups rows by partner if the database is sharded, so that each statement concerns one partner. */
export function groupByShard<T extends { readonly partnerId: string }>(
  { sharded }: Pick<Tx, 'sharded'>,
  rows: readonly T[],
): readonly (readonly T[])[] {
  if (rows.length === 0) return []
  return sharded ? [...Map.groupBy(rows, ({ partnerId }) => partnerId).values()] : [rows]
}
