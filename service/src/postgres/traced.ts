/** A database whose transactions and single statements are spans of the active trace. */
import type { Tracing } from '../kernel/index.ts'
import type { Database } from './database.ts'
import type { Sql } from './sql.ts'

/** The name that a statement begins with: `payouts.insertPayouts` of its leading comment, or its first word. */
function nameOf({ parts }: Sql): string {
  const text = parts[0] ?? ''
  return /^\/\* ([\w.-]+) \*\//.exec(text)?.[1] ?? /\w+/.exec(text)?.[0] ?? 'statement'
}

const attributes = { 'db.system.name': 'postgresql' } as const

export function tracedDatabase(db: Database, tracing: Tracing): Database {
  const traced = <T>(name: string, work: () => Promise<T>) => tracing.span({ name, kind: 'client', attributes }, work)
  return {
    ...db,
    rows: (statement) => traced(nameOf(statement), () => db.rows(statement)),
    row: (statement) => traced(nameOf(statement), () => db.row(statement)),
    run: (statement) => traced(nameOf(statement), () => db.run(statement)),
    transaction: (work, options) => traced('transaction', () => db.transaction(work, options)),
  }
}
