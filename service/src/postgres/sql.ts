/** SQL is written as SQL: a tag that turns holes into numbered parameters, composes fragments and refuses `undefined`. */
import { createHash } from 'node:crypto'
import { assert } from '../kernel/index.ts'

export type Sql = { readonly parts: readonly string[]; readonly values: readonly unknown[] }
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
export function ofPartners(partnerIds: readonly string[]): Sql {
  const [first, ...others] = new Set(partnerIds)
  assert(first !== undefined, 'a batch is of somebody')
  return others.length === 0 ? sql`partner_id = ${first}` : sql`partner_id = any(${[first, ...others]}::uuid[])`
}

/** The columns of rows, for `unnest`: `columnOf(rows)('name')`. */
export const columnOf =
  <Row>(rows: readonly Row[]) =>
  <K extends keyof Row>(name: K): Row[K][] =>
    rows.map((row) => row[name])

const names = new Map<string, string>()

/** The text with `$n`, and a name that is the same for the same text, so that each connection prepares it once. */
export function toStatement({ parts, values }: Sql): Statement {
  const text = parts.reduce((before, part, index) => `${before}$${index}${part}`)
  let name = names.get(text)
  if (name === undefined) {
    name = createHash('sha256').update(text).digest('base64url').slice(0, 24)
    names.set(text, name)
  }
  return { name, text, values }
}
