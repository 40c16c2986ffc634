/** The `sql` tag: turns placeholders into numbered parameters, composes fragments and refuses `undefined`. */
import { createHash } from 'node:crypto'
import { assert } from '../kernel/index.ts'

export type Sql = {
  readonly parts: readonly string[]
  readonly values: readonly unknown[]
  /** True: PostgreSQL parses and plans the statement at each execution instead of once per connection. */
  readonly unprepared?: true
  /** Set if the statement reads the rows of all partners. */
  readonly scan?: Scan
}
/** `ofPartner`: creates the same statement for one partner. Absent: the rows of one partner cannot be read alone. */
export type Scan = { readonly reason: string; readonly ofPartner?: (partnerId: string) => Sql }
export type Statement = { readonly name: string; readonly text: string; readonly values: readonly unknown[] }

const isSql = (value: unknown): value is Sql =>
  typeof value === 'object' && value !== null && 'parts' in value && 'values' in value

/** Creates a statement. A placeholder is a parameter or another `sql` fragment. */
export function sql(strings: TemplateStringsArray, ...holes: readonly unknown[]): Sql {
  const parts: string[] = [strings[0] ?? '']
  const values: unknown[] = []
  const append = (text: string) => {
    parts[parts.length - 1] += text
  }
  holes.forEach((hole, index) => {
    assert(hole !== undefined, 'undefined in a statement: write null')
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
  return holes.some((hole) => isSql(hole) && hole.unprepared) ? { parts, values, unprepared: true } : { parts, values }
}

export const noSql: Sql = { parts: [''], values: [] }

/**
 * Creates a condition on `partner_id` for the partners of a batch. For one partner it compares with a constant, by
 * which a sharded database finds the shard. Batches of several partners occur only if the database is not sharded.
 */
export function ofPartners(partnerIds: readonly string[], column: Sql = sql`partner_id`): Sql {
  const [first, ...others] = new Set(partnerIds)
  assert(first !== undefined, 'a batch without partners')
  return others.length === 0 ? sql`${column} = ${first}` : sql`${column} = any(${[first, ...others]}::uuid[])`
}

/** Returns the values of one column of `rows`, for `unnest`: `columnValues(rows)('name')`. */
export const columnValues =
  <Row>(rows: readonly Row[]) =>
  <K extends keyof Row>(name: K): Row[K][] =>
    rows.map((row) => row[name])

/**
 * Creates a condition for a statement that joins the rows of a batch by `partner_id`. For one partner it compares with
 * a constant, by which a sharded database finds the shard. Otherwise it is `true`, because the join is the condition.
 */
export function ofOnePartner(partnerIds: readonly string[], column: Sql = sql`partner_id`): Sql {
  const [first, ...others] = new Set(partnerIds)
  return first !== undefined && others.length === 0 ? sql`${column} = ${first}` : sql`true`
}

/**
 * Marks a statement on a queue or on the rows of a batch as planned at each execution. A prepared statement would
 * keep a plan from its first five executions, when a full scan of a nearly empty table was cheapest.
 */
export const unprepared = (statement: Sql): Sql => ({ ...statement, unprepared: true })

/**
 * Marks a statement that reads the rows of all partners. On a sharded database it runs on every shard, and fails if one
 * shard does not answer. `npm run docs` lists these statements with their reasons; `test/tidy` refuses a statement that
 * has neither a condition on the partner nor this mark.
 */
export const acrossPartners = (reason: string, statement: Sql): Sql => ({ ...statement, scan: { reason } })

/** Creates the partner condition of a due-work scan: `true`, or a comparison with one partner. */
export type PartnerCondition = (column?: Sql) => Sql

/**
 * Marks a due-work scan. If a shard does not answer, `Database.rows` reads partner by partner, so that the partners of the
 * other shards are served (`createScan`).
 */
export function dueWork(reason: string, statement: (whose: PartnerCondition) => Sql): Sql {
  const ofPartner = (partnerId: string) => statement((column = sql`partner_id`) => sql`${column} = ${partnerId}`)
  return { ...statement(() => sql`true`), scan: { reason, ofPartner } }
}

const names = new Map<string, string>()

/** Returns the text with `$n`, and a name derived from the text, so that each connection prepares it once. Unprepared: no name. */
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
