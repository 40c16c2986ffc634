/**
 * Writes that do not wait for the disk, and when they are on it. The log of PostgreSQL is flushed in its order: a
 * transaction that commits durably after such a write makes the write durable with it, so that a request which ends in a
 * durable commit pays for one flush, not for two. Whoever answers without one of its own waits for `flushed`.
 */
import { sql, type Sql } from './sql.ts'
import type { Tx } from './tx.ts'

/** What has been written without waiting; later ones are larger. */
export type Mark = number

export type Unflushed = Tx & {
  /** Names all that this process has written so far. */
  readonly mark: () => Mark
  /** Resolves when what the mark names is on the disk: at once where a later durable commit has taken it along. */
  readonly flushed: (mark: Mark) => Promise<void>
}

export type Durability = {
  readonly unflushed: Unflushed
  readonly mark: () => Mark
  /** A durable commit that began when `mark` was taken has ended. */
  readonly flushedUpTo: (mark: Mark) => void
}

/** A record in the log that no table knows: a commit that has written nothing flushes nothing. */
export const writeAnything = sql`select pg_logical_emit_message(true, 'partner-payments', 'flush')`

export function createDurability(deps: { readonly unflushed: Tx; readonly flush: () => Promise<unknown> }): Durability {
  let written: Mark = 0
  let durable: Mark = 0
  let flushing: Promise<void> | undefined
  const mark = () => written
  const flushedUpTo = (upTo: Mark) => {
    durable = Math.max(durable, upTo)
  }
  const flushOnce = async () => {
    const upTo = written
    await deps.flush()
    flushedUpTo(upTo)
  }
  const flushed = async (upTo: Mark) => {
    while (durable < upTo) {
      // One flush serves all who wait; whoever came after it began takes part in the next.
      flushing ??= flushOnce().finally(() => {
        flushing = undefined
      })
      await flushing
    }
  }
  const counted = async <T>(sending: Promise<T>): Promise<T> => {
    const answer = await sending
    written += 1
    return answer
  }
  const tx = deps.unflushed
  const unflushed: Unflushed = {
    rows: <T extends object>(statement: Sql) => counted(tx.rows<T>(statement)),
    row: <T extends object>(statement: Sql) => counted(tx.row<T>(statement)),
    run: (statement) => counted(tx.run(statement)),
    later: tx.later,
    mark,
    flushed,
  }
  return { unflushed, mark, flushedUpTo }
}
