/** Names of tables and columns as fragments of SQL, for statements whose table is a declaration. */
import { assert } from '../kernel/index.ts'
import { noSql, type Sql, sql } from './sql.ts'

const nameForm = /^[a-z_][a-z0-9_]*(?:\.[a-z_][a-z0-9_]*)?$/

/** A name as a fragment. Only names of declarations, never input. */
export function named(name: string): Sql {
  assert(nameForm.test(name), 'a declared name is lower case and needs no quotes')
  return { parts: [name], values: [] }
}

export const listed = (fragments: readonly Sql[], separator = sql`, `): Sql =>
  fragments.reduce((list, fragment, index) => (index === 0 ? fragment : sql`${list}${separator}${fragment}`), noSql)
