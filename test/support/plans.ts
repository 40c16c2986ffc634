/** Reads the plans of statements on many rows. */
import { type Database, type Sql, sql, toStatement, type Tx } from '../../service/src/postgres/index.ts'

/** How many rows the plan of a list reads, and discards or sorts away. */
export async function discardedRows(db: Database, list: (tx: Tx) => Promise<unknown>): Promise<number> {
  const statements: Sql[] = []
  const tx = { ...db, rows: (statement: Sql) => (statements.push(statement), Promise.resolve([])) } as unknown as Tx
  await list(tx)
  const { text, values } = toStatement(statements[0] ?? sql``)
  const plan = await db.pool.query<Record<'QUERY PLAN', string>>(`explain (analyze) ${text}`, [...values])
  const lines = plan.rows.map((row) => row['QUERY PLAN'])
  const discarded = lines.map((line) => Number(/Rows Removed by \w+(?: \w+)?: (\d+)/.exec(line)?.[1] ?? 0))
  const read = lines.map((line) => Number(/Scan.*actual time=\S+ rows=([\d.]+)/.exec(line)?.[1] ?? 0))
  return [...discarded, ...read].reduce((sum, count) => sum + count, 0)
}
