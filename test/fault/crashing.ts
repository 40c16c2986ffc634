/**
 * A process that dies by SIGKILL at a chosen point: the points are counted, at each boundary of a commit and wherever
 * else `point` is called. The signal comes from the process itself, so that the boundary is exact.
 */
import type { Database, Sql } from '../../service/src/postgres/index.ts'

const writes = (statement: Sql) => /^\s*(?:insert|update|delete)\b/i.test(statement.parts[0] ?? '')

/** `diesAt` 0 never comes. */
export function createFate(diesAt: number) {
  let passed = 0
  const point = () => {
    passed += 1
    if (passed === diesAt) process.kill(process.pid, 'SIGKILL')
  }

  /** Before and after each commit: of a transaction, and of a statement that writes on its own. Reads change nothing. */
  const wrapDatabase = (db: Database): Database => {
    const alone = async <T>(statement: Sql, send: (statement: Sql) => Promise<T>): Promise<T> => {
      if (!writes(statement)) return send(statement)
      point()
      const result = await send(statement)
      point()
      return result
    }
    return {
      ...db,
      rows: <T extends object>(statement: Sql) => alone(statement, db.rows<T>),
      row: <T extends object>(statement: Sql) => alone(statement, db.row<T>),
      run: (statement) => alone(statement, db.run),
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
