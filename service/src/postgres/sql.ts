/** SQL is written as SQL: a tag that turns holes into numbered parameters, composes fragments and refuses `undefined`. */
import { createHash } from 'node:crypto'
import { assert } from '../kernel/index.ts'

export type Sql = {
  readonly parts: readonly string[]
  readonly values: readonly unknown[]
  /** Planned anew each time. */
  readonly unprepared?: true
}
export type Statement = { readonly name: string; readonly text: string; readonly values: readonly unknown[] }

const isSql = (value: unknown): value is Sql =>
  typeof value === 'object' && value !== null && 'parts' in value && 'values' in value

/** A hole is a parameter, or another `sql` fragment. */
export function sql(strings: TemplateStringsArray, ...holes: readonly unknown[]): Sql {
  const parts: string[] = [strings[0] ?? '']
  const values: unknown[] = []
  const append = (text: string) => {
    parts[parts.length - 1] += text
  }
  holes.forEach((hole, index) => {
    assert(hole !== undefined, 'undefined in a statement: say null')
    if (isSql(hole)) {
      append(hole.parts[0] ?? '')
      hole.values.forEach((value, at) => {
        values.push(value)
        parts.push(hole.parts[at + 1] ?? '')
      })
    } else {
      values.push(hole)
      parts.push('')
    }
    append(strings[index + 1] ?? '')
  })
  return { parts, values }
}

export const noSql: Sql = { parts: [''], values: [] }

/**
 * Whose rows a batch means, as a condition on `partner_id`. A batch of one partner says so literally, which is what a
 * database that is sharded by partner needs to find the shard; only a database that holds everybody is asked for many.
 */
export function ofPartners(partnerIds: readonly string[], column: Sql = sql`partner_id`): Sql {
  const [first, ...others] = new Set(partnerIds)
  assert(first !== undefined, 'a batch is of somebody')
  return others.length === 0 ? sql`${column} = ${first}` : sql`${column} = any(${[first, ...others]}::uuid[])`
}

/** The columns of rows, for `unnest`: `columnOf(rows)('name')`. */
export const columnOf =
  <Row>(rows: readonly Row[]) =>
  <K extends keyof Row>(name: K): Row[K][] =>
    rows.map((row) => row[name])

/** Where a batch of several is joined to the list of its rows, the join says whose; a batch of one says it literally, too. */
export function ofOnePartner(partnerIds: readonly string[], column: Sql = sql`partner_id`): Sql {
  const [first, ...others] = new Set(partnerIds)
  return first !== undefined && others.length === 0 ? sql`${column} = ${first}` : sql`true`
}

/**
 * A statement on a queue or on the rows of a batch: planned each time for what is there then. Prepared once, it would keep the plan of
 * the first five times, when the table was perhaps empty and reading all of it was the cheapest way.
 */
export const unprepared = (statement: Sql): Sql => ({ ...statement, unprepared: true })

const names = new Map<string, string>()

/** The text with `$n`, and a name that is the same for the same text, so that each connection prepares it once. No name: prepared anew. */
export function toStatement({ parts, values, unprepared }: Sql): Statement {
  const text = parts.reduce((before, part, index) => `${before}$${index}${part}`)
  if (unprepared) return { name: '', text, values }
  let name = names.get(text)
  if (name === undefined) {
    name = createHash('sha256').update(text).digest('base64url').slice(0, 24)
    names.set(text, name)
  }
  return { name, text, values }
}
