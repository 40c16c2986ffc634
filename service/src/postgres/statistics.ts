/**
 * Keeps statistics up to date while tables grow. Connections plan a statement once. A lookup that was planned on an empty table
 * reads all rows of a partner (3 ms instead of 0.3 ms at 7,000 payouts) until `analyze` causes a new plan. Autovacuum runs only
 * once a minute.
 */
import { type Log, present } from '../kernel/index.ts'
import type { Database } from './database.ts'
import { sql } from './sql.ts'
import type { Tx } from './tx.ts'

/**
 * Minimum number of changed rows for which a table is analysed, because every plan is fast in smaller tables. Larger
 * tables are analysed each time that they have doubled.
 */
const rowsMin = 500
const tablesMax = 10

type Grown = { readonly schema: string; readonly name: string }

/**
 * Analyses grown tables and returns their number. Skips tables that another process is analysing. Does not use the view
 * `pg_stat_user_tables`, which would also add up the counts of all indexes.
 */
export async function analyseGrownTables(db: Pick<Database, 'rows' | 'pool'>, log: Log): Promise<number> {
  const grown = await db.rows<Grown>(sql`/* postgres.analyseGrownTables */
    select namespace.nspname as schema, class.relname as name
    from pg_catalog.pg_class class join pg_catalog.pg_namespace namespace on namespace.oid = class.relnamespace
    where class.relkind = 'r' and namespace.nspname !~ '^pg_' and namespace.nspname <> 'information_schema'
      and pg_catalog.pg_stat_get_mod_since_analyze(class.oid) > ${rowsMin} + greatest(class.reltuples, 0)
    order by pg_catalog.pg_stat_get_mod_since_analyze(class.oid) desc limit ${tablesMax}`)
  for (const { schema, name } of grown) {
    // The names come from the catalogue; an identifier cannot be a parameter.
    await db.pool.query(`analyze (skip_locked) "${schema}"."${name}"`)
    log.debug({ table: `${schema}.${name}` }, 'table analysed')
  }
  return grown.length
}

/**
 * Reads the start of the oldest client transaction, by the server's clock. The writes of every transaction that began before it are visible
 * to the next statement, or were rolled back. Includes this statement and transactions that wait for a replica to confirm their commit.
 * Excludes pg_dump, which only reads and may take hours.
 */
export async function oldestTransactionStart(tx: Tx): Promise<Date> {
  const row = await tx.row<{ readonly startedAt: Date }>(sql`/* postgres.oldestTransactionStart */
    select min(xact_start) as started_at from pg_stat_activity
    where datname = current_database() and backend_type = 'client backend' and application_name <> 'pg_dump'`)
  return present(row?.startedAt, 'no transaction in pg_stat_activity, not even the own one')
}
