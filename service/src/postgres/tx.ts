/**
 * Sends statements and converts rows: plain objects with camelCase names; int8 as bigint, timestamptz as Date, json and
 * jsonb as text, because a JSON number must not become a float.
 */
import pg from 'pg'
import { assert } from '../kernel/index.ts'
import { classify } from './errors.ts'
import { type Sql, toStatement } from './sql.ts'

type Row = Readonly<Record<string, unknown>>
/** Runs statements, each in its own transaction (`Database`) or all in one transaction (`Database.transaction`). */
export type Tx = {
  /** The database is sharded by partner: a statement names one partner, or is a scan across all partners. */
  readonly sharded: boolean
  readonly rows: <T extends object = Row>(statement: Sql) => Promise<readonly T[]>
  /** Returns the first row. Undefined: there is none. */
  readonly row: <T extends object = Row>(statement: Sql) => Promise<T | undefined>
  /** Returns the number of affected rows. */
  readonly run: (statement: Sql) => Promise<number>
  /**
   * Queues a write without a result, which is sent with the next statement or the commit. The transaction fails if the write fails or
   * does not affect `rowsExpected` rows. Only within a transaction.
   */
  readonly later: (statement: Sql, rowsExpected?: number) => void
  /**
   * Registers a hint that runs once after the commit, even if it is registered several times. A hint is lost if the
   * process ends before it runs, so the work must also be found without it. Only within a transaction.
   */
  readonly afterCommit: (hint: Hint) => void
}
export type Hint = () => void

const types = new pg.TypeOverrides()
types.setTypeParser(20, (text) => BigInt(text))
types.setTypeParser(114, (text) => text)
types.setTypeParser(3802, (text) => text)
types.setTypeParser(1082, (text) => text)
// Also for bigint[], because batches return arrays.
types.setTypeParser(1016, (text) => text.slice(1, -1).split(',').filter(Boolean).map(BigInt))

const camelNames = new Map<string, string>()
function camel(name: string): string {
  let mapped = camelNames.get(name)
  if (mapped === undefined) {
    mapped = name.replace(/_([a-z0-9])/g, (_all, letter: string) => letter.toUpperCase())
    camelNames.set(name, mapped)
  }
  return mapped
}

/** Sends one statement, on a connection from the pool or on that of a transaction. */
export type Send = (config: pg.QueryArrayConfig) => Promise<pg.QueryArrayResult>

async function send(
  target: Send,
  statement: Sql,
  ran?: (text: string) => void,
): Promise<{ rows: readonly Row[]; count: number }> {
  try {
    const { name, text, values } = toStatement(statement)
    const result = await target({ name, text, values: values.map(literal), rowMode: 'array', types })
    if (result.command !== 'SELECT' && (result.rowCount ?? 0) > 0) ran?.(text)
    const fields = result.fields.map((field) => camel(field.name))
    const rows = result.rows.map((cells) => {
      const row: Record<string, unknown> = {}
      cells.forEach((cell, index) => {
        row[fields[index] as string] = cell
      })
      return row
    })
    return { rows, count: result.rowCount ?? 0 }
  } catch (error) {
    throw classify(error)
  }
}

type WithinTransaction = Pick<Tx, 'sharded' | 'later' | 'afterCommit'> & {
  /** Called when a statement has changed rows. */
  readonly changed?: (text: string) => void
}

export function createTx(target: Send, { sharded, later, afterCommit, changed }: WithinTransaction): Tx {
  return {
    sharded,
    rows: async <T extends object>(statement: Sql) => (await send(target, statement, changed)).rows as readonly T[],
    row: async <T extends object>(statement: Sql) => (await send(target, statement, changed)).rows[0] as T | undefined,
    run: async (statement) => (await send(target, statement, changed)).count,
    later,
    afterCommit,
  }
}

export const outsideTransaction = (sharded: boolean, changed?: (text: string) => void): WithinTransaction => ({
  sharded,
  ...(changed ? { changed } : {}),
  later: () => assert(false, 'a queued write needs a transaction'),
  afterCommit: () => assert(false, 'a hint after the commit needs a transaction'),
})

/**
 * Sends all output of `write` in one system call instead of one per statement. With TLS, `connection.stream` changes to the TLS socket,
 * so it is read at each call.
 */
export function inOneWrite<T>({ connection: { stream } }: pg.PoolClient, write: () => T): T {
  stream.cork()
  try {
    return write()
  } finally {
    stream.uncork()
  }
}

/** A connection of the pool. `liveness.ts` watches its statements. */
export type Connection = {
  readonly client: pg.PoolClient
  readonly send: Send
  /** Sends a statement of the transaction itself: `begin`, `commit`, `rollback`. */
  readonly run: (text: string) => Promise<pg.QueryResult>
  readonly release: (broken: boolean) => void
}
export type Connect = () => Promise<Connection>

const firstLine = ({ parts: [first = ''] }: Sql): string => first.split('\n', 1)[0] ?? ''

type QueuedWrite = { readonly statement: Sql; readonly rowsExpected: number | undefined }
export type SentWrite = QueuedWrite & { readonly result: Promise<{ readonly count: number }> }

/**
 * Sends the statements of one transaction. `sent` holds the results of queued writes, which must be checked before the
 * commit. `changes` holds the texts of the statements that changed rows.
 */
export function createPipeline({ client, send: sendOn, run }: Connection, sharded: boolean) {
  let queued: QueuedWrite[] = []
  const sent: SentWrite[] = []
  const hints = new Set<Hint>()
  const changes = new Set<string>()
  const changed = (text: string) => void changes.add(text)
  const sendQueued = () => {
    const sending = queued
    queued = []
    for (const write of sending) {
      const result = send(sendOn, write.statement, changed)
      // The commit checks the result. If an earlier statement has failed, no caller reads it.
      result.catch(() => undefined)
      sent.push({ ...write, result })
    }
  }
  const afterQueued = <T>(sendNext: () => T): T =>
    queued.length === 0
      ? sendNext()
      : inOneWrite(client, () => {
          sendQueued()
          return sendNext()
        })
  const direct = createTx(sendOn, {
    sharded,
    later: (statement, rowsExpected) => void queued.push({ statement, rowsExpected }),
    afterCommit: (hint) => void hints.add(hint),
    changed,
  })
  const tx: Tx = {
    ...direct,
    rows: <T extends object>(statement: Sql) => afterQueued(() => direct.rows<T>(statement)),
    row: <T extends object>(statement: Sql) => afterQueued(() => direct.row<T>(statement)),
    run: (statement) => afterQueued(() => direct.run(statement)),
  }
  /**
   * Checks the row counts of queued writes before the commit is sent. The answers have usually arrived with that of a later
   * statement. Only a write that is still queued costs a round trip.
   */
  const checkRows = async (): Promise<void> => {
    if (queued.some(({ rowsExpected }) => rowsExpected !== undefined)) inOneWrite(client, sendQueued)
    for (const { statement, rowsExpected, result } of sent) {
      if (rowsExpected === undefined) continue
      const { count } = await result
      assert(count === rowsExpected, `${firstLine(statement)} wrote ${count} rows instead of ${rowsExpected}`)
    }
  }
  return { tx, sent, hints, changes, checkRows, commit: () => afterQueued(() => run('commit')) }
}

// Writes arrays and times as PostgreSQL literals. Batches are arrays, and the driver's own conversion took 5% of the CPU
// time of a busy process. This conversion searches a text before it rewrites it, and writes a Date as its ISO text.

/** Quotes a text. Most texts need no escapes. JSON has many quotes and rarely a backslash. */
function quoted(text: string): string {
  const withSlashes = text.includes('\\') ? text.replace(/\\/g, '\\\\') : text
  return `"${withSlashes.includes('"') ? withSlashes.replace(/"/g, '\\"') : withSlashes}"`
}

let lastTime: Date | undefined
let lastTimeText = ''

/**
 * Formats a Date as ISO text. Caches the last one, which the rows of a batch mostly share, because `toISOString` is
 * slow.
 */
function timeText(time: Date): string {
  if (time !== lastTime) {
    lastTime = time
    lastTimeText = time.toISOString()
  }
  return lastTimeText
}

function element(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return quoted(value)
    case 'number':
    case 'bigint':
    case 'boolean':
      return `${value}`
    default:
      if (value === null || value === undefined) return 'NULL'
      if (value instanceof Date) return `"${timeText(value)}"`
      if (Array.isArray(value)) return arrayLiteral(value)
      if (ArrayBuffer.isView(value))
        return `"\\\\x${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex')}"`
      throw new TypeError('an element of an array must be a text, number, boolean, time, bytes, array or null')
  }
}

function arrayLiteral(values: readonly unknown[]): string {
  let text = '{'
  for (let at = 0; at < values.length; at += 1) text += at === 0 ? element(values[at]) : `,${element(values[at])}`
  return `${text}}`
}

/** Converts arrays and times to literals for the driver, which converts the other types itself. */
export function literal(value: unknown): unknown {
  if (Array.isArray(value)) return arrayLiteral(value)
  return value instanceof Date ? timeText(value) : value
}
