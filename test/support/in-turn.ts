/** Concurrent calls in a known order: each is started behind a lock, when the earlier one waits for it. */
import { type Database, sql, type Tx } from '../../service/src/postgres/index.ts'
import { until } from './until.ts'

/**
 * Starts each call after the earlier one waits for a lock or has ended, then releases what `lock` has locked. Returns how the calls
 * ended. Waits of other connections of the database count, so nothing else may work on it.
 */
export async function inTurn(
  db: Database,
  lock: (tx: Tx) => Promise<unknown>,
  calls: readonly (() => Promise<unknown>)[],
): Promise<readonly PromiseSettledResult<unknown>[]> {
  const waiting = async () => {
    const row = await db.row<{ readonly count: bigint }>(
      sql`select count(*) as count from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
    )
    return Number(row?.count)
  }
  const begun: Promise<unknown>[] = []
  let settled = 0
  await db.transaction(async (tx) => {
    await lock(tx)
    for (const [index, call] of calls.entries()) {
      const count = () => void (settled += 1)
      const running = call()
      running.then(count, count)
      begun.push(running)
      await until(`call ${index + 1} waits or has ended`, async () => settled + (await waiting()) > index)
    }
  })
  return Promise.allSettled(begun)
}
