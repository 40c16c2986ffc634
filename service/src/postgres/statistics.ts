/**
 * Keeps statistics up to date while tables grow. Connections plan a statement once. A lookup by key that was planned on an
 * empty table reads all rows of a partner (3 ms instead of 0.3 ms at 7,000 payouts), until `analyze` makes connections plan
 * it again. Autovacuum runs once a minute only.
 */
import { type Log, present } from '../kernel/index.ts'
import type { Database } from './database.ts'
import { sql } from './sql.ts'
import type { Tx } from './tx.ts'

/**
 * Smallest table that is analysed. In smaller ones every plan is fast; larger ones are analysed whenever they have
 * doubled.
 */
const rowsMin = 500
const tablesMax = 10

type Grown = { readonly schema: string; readonly name: string }

/**
 * Returns how many tables were analysed. Processes may run it concurrently: each skips tables that another one analyses. The view
 * `pg_stat_user_tables` would also add up the counts of all indexes.
 */
export async function analyseWhatHasGrown(db: Pick<Database, 'rows' | 'pool'>, log: Log): Promise<number> {
  const grown = await db.rows<Grown>(sql`/* postgres.analyseWhatHasGrown */
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
 * The start of the oldest transaction of a client, by the clock of the server: the writes of every transaction that began before it
 * are visible to the next statement, or were rolled back. The statement itself is one.
 * A transaction that waits for its replica to confirm its commit is one as well. pg_dump only reads, and may take hours.
 */
export async function oldestTransactionStart(tx: Tx): Promise<Date> {
  const row = await tx.row<{ readonly startedAt: Date }>(sql`/* postgres.oldestTransactionStart */
    select min(xact_start) as started_at from pg_stat_activity
    where datname = current_database() and backend_type = 'client backend' and application_name <> 'pg_dump'`)
  return present(row?.startedAt, 'no transaction in pg_stat_activity, not even the own one')
}
