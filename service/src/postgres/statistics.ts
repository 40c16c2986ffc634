/**
 * Statistics that keep up with growth. A statement is planned once a connection; planned on an empty table, a look-up by
 * a key reads every row of a partner once there are many (3 ms instead of 0.3 ms at 7,000 payouts, and rising), until the
 * table is analysed, which has every connection plan anew. The server's own autovacuum looks once a minute.
 */
import type { Log } from '../kernel/index.ts'
import type { Database } from './database.ts'
import { sql } from './sql.ts'

/** Below this a plan matters to nobody; above it a table is analysed whenever it has doubled. */
const rowsMin = 500
const tablesMax = 10

type Grown = { readonly schema: string; readonly name: string }

/** Answers how many tables were analysed. Several may do it at once: one that is being analysed is left out. */
export async function analyseWhatHasGrown(db: Pick<Database, 'rows' | 'pool'>, log: Log): Promise<number> {
  const grown = await db.rows<Grown>(sql`
    select s.schemaname as schema, s.relname as name
    from pg_catalog.pg_stat_user_tables s join pg_catalog.pg_class c on c.oid = s.relid
    where s.n_mod_since_analyze > ${rowsMin} + greatest(c.reltuples, 0)
    order by s.n_mod_since_analyze desc limit ${tablesMax}`)
  for (const { schema, name } of grown) {
    // Names of our own tables, from the catalogue: an identifier cannot be a parameter.
    await db.pool.query(`analyze (skip_locked) "${schema}"."${name}"`)
    log.debug({ table: `${schema}.${name}` }, 'analysed')
  }
  return grown.length
}
