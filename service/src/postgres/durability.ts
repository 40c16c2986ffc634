/**
 * Writes that do not wait for the disk, and when they are durable. PostgreSQL flushes its log in order, so a durable
 * commit after such a write makes the write durable as well: the request pays for one flush instead of two. A request
 * without a durable commit waits for `flushed` before it answers.
 */
import { sql, type Sql } from './sql.ts'
import type { Tx } from './tx.ts'

/** The number of unflushed writes so far. */
export type Mark = number

export type Unflushed = Tx & {
  /** Marks all unflushed writes of this process so far. */
  readonly mark: () => Mark
  /** Resolves when the marked writes are durable: at once if a durable commit has followed them. */
  readonly flushed: (mark: Mark) => Promise<void>
}

export type Durability = {
  readonly unflushed: Unflushed
  readonly mark: () => Mark
  /** Reports that a durable commit which began after `mark` was taken has ended. */
  readonly flushedUpTo: (mark: Mark) => void
}

/** Writes a record to the log that belongs to no table, because a commit that has written nothing flushes nothing. */
export const flushStatement = sql`/* postgres.flushedUpTo */ select pg_logical_emit_message(true, 'partner-payments', 'flush')`

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
      // One flush serves all callers that wait. Callers that come after it has begun share the next one.
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
    ...tx,
    rows: <T extends object>(statement: Sql) => counted(tx.rows<T>(statement)),
    row: <T extends object>(statement: Sql) => counted(tx.row<T>(statement)),
    run: (statement) => counted(tx.run(statement)),

    mark,
    flushed,
  }
  return { unflushed, mark, flushedUpTo }
}
