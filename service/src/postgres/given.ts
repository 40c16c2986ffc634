/**
 * The rows of a batch as what an `insert` selects. What all rows of a batch have in common travels once instead of once a
 * row: to write, send and read a list of thirty equal texts costs more than the row's own values do.
 */
import type { Sql } from './sql.ts'

type Cell = string | number | bigint | Date | null
/** `json`: a text that holds what `JSON.stringify` wrote. */
type PgType = 'uuid' | 'text' | 'json' | 'bigint' | 'integer' | 'timestamptz' | 'jsonb'

/**
 * Between JSON texts (RFC 7464 takes the same character): none has it within, since JSON writes control characters as
 * escapes. A list of texts would have every quote of them escaped here, and taken out again there, letter by letter.
 */
const separator = '\u001e'

/** The columns of a table in the order of an `insert`, each with its type. */
export type Columns<Row> = { readonly [K in keyof Row & string]: PgType }

const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** `partner_id, id, ...` */
export const namesOf = (columns: Readonly<Record<string, PgType>>): Sql => ({
  parts: [Object.keys(columns).map(snake).join(', ')],
  values: [],
})

const isSame = (a: Cell, b: Cell) => a === b || (a instanceof Date && b instanceof Date && a.getTime() === b.getTime())

/** Columns that are mostly the same in all rows of a batch. */
export type Alike<Row> = readonly (readonly (keyof Row & string)[])[]

/**
 * `select ... from unnest(...)`, its columns in the order of `columns`. A group of `alike` that is the same in every row is
 * sent as single values. Groups, because each combination is a statement of its own that every connection prepares: two
 * groups are four. At least one column is in no group: the rows are counted by it.
 */
export function givenBy<Row extends { readonly [K in keyof Row]: Cell }>(columns: Columns<Row>, alike: Alike<Row>) {
  const all = (Object.keys(columns) as (keyof Row & string)[]).map((name) => ({
    name,
    as: snake(name),
    type: columns[name],
    group: alike.findIndex((group) => group.includes(name)),
  }))
  return (rows: readonly Row[]): Sql => {
    const [first] = rows
    const isCommon = alike.map(
      (group) => first !== undefined && group.every((name) => rows.every((row) => isSame(row[name], first[name]))),
    )
    const parts = ['select ']
    const values: unknown[] = []
    const append = (text: string) => {
      parts[parts.length - 1] += text
    }
    const hole = (value: unknown, after: string) => {
      values.push(value)
      parts.push(after)
    }
    const lists = all.filter(({ group }) => isCommon[group] !== true)
    all.forEach(({ name, as, type, group }, index) => {
      if (index > 0) append(', ')
      if (isCommon[group] === true) hole(first?.[name], `::${type === 'json' ? 'text' : type} as ${as}`)
      else append(as)
    })
    append(' from unnest(')
    lists.forEach(({ name, type }, index) => {
      if (index > 0) append(', ')
      const cells = rows.map((row) => row[name])
      if (type !== 'json' && type !== 'jsonb') return hole(cells, `::${type}[]`)
      append('string_to_array(')
      // Nothing is the empty text, which no JSON is; join writes nulls so.
      hole(cells.join(separator), `, E'\\x1e', '')${type === 'jsonb' ? '::jsonb[]' : ''}`)
    })
    append(`) as given (${lists.map(({ as }) => as).join(', ')})`)
    return { parts, values }
  }
}
