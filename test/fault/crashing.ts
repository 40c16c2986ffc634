/**
 * Crash points of a child process: before and after each commit, and wherever the child calls `point`. The process kills
 * itself with SIGKILL at the chosen point, so that the boundary is exact.
 */
import type { Database, Sql } from '../../service/src/postgres/index.ts'

const writes = (statement: Sql) => /^\s*(?:insert|update|delete)\b/i.test(statement.parts[0] ?? '')

/** `crashAt` counts from 1; 0 never crashes. */
export function createCrashPoints(crashAt: number) {
  let passed = 0
  const point = () => {
    passed += 1
    if (passed === crashAt) process.kill(process.pid, 'SIGKILL')
  }

  /** Adds a point before and after each commit: of a transaction, and of a single statement that writes. */
  const wrapDatabase = (db: Database): Database => {
    const single = async <T>(statement: Sql, send: (statement: Sql) => Promise<T>): Promise<T> => {
      if (!writes(statement)) return send(statement)
      point()
      const result = await send(statement)
      point()
      return result
    }
    return {
      ...db,
      rows: <T extends object>(statement: Sql) => single(statement, db.rows<T>),
      row: <T extends object>(statement: Sql) => single(statement, db.row<T>),
      run: (statement) => single(statement, db.run),
      transaction: async (work, options) => {
        const result = await db.transaction(async (tx, read) => {
          const done = await work(tx, read)
          point()
          return done
        }, options)
        point()
        return result
      },
    }
  }
  return { point, wrapDatabase, passed: () => passed }
}
