/**
 * How statements go out and rows come back: plain objects with camelCase names; int8 as bigint, timestamptz as Date, json
 * and jsonb as text (an exact decimal must not meet a float). What may be sent together leaves in one piece.
 */
import type { Socket } from 'node:net'
import pg from 'pg'
import { assert } from '../kernel/index.ts'
import { classify } from './errors.ts'
import { literal } from './literal.ts'
import { type Sql, toStatement } from './sql.ts'

export type Row = Readonly<Record<string, unknown>>
/** What a statement can be sent through: the pool (its own transaction) or a transaction under way. */
export type Tx = {
  readonly rows: <T extends object = Row>(statement: Sql) => Promise<readonly T[]>
  /** The only row, or undefined. */
  readonly row: <T extends object = Row>(statement: Sql) => Promise<T | undefined>
  /** How many rows the statement touched. */
  readonly run: (statement: Sql) => Promise<number>
  /**
   * Sends a write that nobody waits for, in its turn: the commit goes out right behind, and where the write fails the
   * whole transaction does. Within a transaction only.
   */
  readonly later: (statement: Sql) => void
}
const types = new pg.TypeOverrides()
types.setTypeParser(20, (text) => BigInt(text))
types.setTypeParser(114, (text) => text)
types.setTypeParser(3802, (text) => text)
types.setTypeParser(1082, (text) => text)
// bigint[] too: batches come back as arrays.
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

type Queryable = Pick<pg.Pool | pg.PoolClient, 'query'>

async function send(target: Queryable, statement: Sql): Promise<{ rows: readonly Row[]; count: number }> {
  try {
    const { name, text, values } = toStatement(statement)
    const result = await target.query({ name, text, values: values.map(literal), rowMode: 'array', types })
    const fields = result.fields.map((field) => camel(field.name))
    const rows = (result.rows as unknown[][]).map((cells) => {
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

export function createTx(target: Queryable, later: Tx['later']): Tx {
  return {
    rows: async <T extends object>(statement: Sql) => (await send(target, statement)).rows as readonly T[],
    row: async <T extends object>(statement: Sql) => (await send(target, statement)).rows[0] as T | undefined,
    run: async (statement) => (await send(target, statement)).count,
    later,
  }
}

export const outsideTransaction = () => assert(false, 'outside a transaction nothing is sent for later')

/** All that `send` writes goes out at once: a system call for a batch of statements, not for each. */
export function together<T>(client: pg.PoolClient, send: () => T): T {
  const { stream } = (client as unknown as { readonly connection: { readonly stream: Socket } }).connection
  stream.cork()
  try {
    return send()
  } finally {
    stream.uncork()
  }
}

/** What is sent later leaves with the next statement that is waited for, in front of it, or with the commit. */
export function createLater(client: pg.PoolClient) {
  let held: Sql[] = []
  const sent: Promise<{ readonly count: number }>[] = []
  const leave = () => {
    const leaving = held
    held = []
    for (const statement of leaving) {
      const sending = send(client, statement)
      // Heard at the commit, or not at all where something else has failed before.
      sending.catch(() => undefined)
      sent.push(sending)
    }
  }
  const behind = <T>(sendNext: () => T): T =>
    held.length === 0
      ? sendNext()
      : together(client, () => {
          leave()
          return sendNext()
        })
  const direct = createTx(client, (statement) => void held.push(statement))
  const tx: Tx = {
    rows: <T extends object>(statement: Sql) => behind(() => direct.rows<T>(statement)),
    row: <T extends object>(statement: Sql) => behind(() => direct.row<T>(statement)),
    run: (statement) => behind(() => direct.run(statement)),
    later: direct.later,
  }
  return { tx, sent, commit: () => behind(() => client.query('commit')) }
}
