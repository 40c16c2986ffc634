/** The time before which every transaction has ended, so that its writes are visible to the next statement. */
import { present } from '../kernel/index.ts'
import { sql } from './sql.ts'
import type { Tx } from './tx.ts'

/**
 * The start of the oldest transaction of a client of this database, by the clock of the server. The statement itself is one.
 * A transaction that waits for its replica to confirm its commit is one as well. pg_dump only reads, and may take hours.
 */
export async function oldestTransactionStart(tx: Tx): Promise<Date> {
  const row = await tx.row<{ readonly startedAt: Date }>(sql`/* postgres.oldestTransactionStart */
    select min(xact_start) as started_at from pg_stat_activity
    where datname = current_database() and backend_type = 'client backend' and application_name <> 'pg_dump'`)
  return present(row?.startedAt, 'the transaction of the statement itself has a start')
}
