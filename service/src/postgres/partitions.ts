/**
 * Tables in weekly partitions by a UUID version 7: weeks are made ahead of time and dropped as a whole. Both take a lock on
 * the table that stops everybody, so neither waits long for it: what does not succeed now does the next time.
 */
import { assert, dayMs, firstIdOf, nilId } from '../kernel/index.ts'
import type { Database } from './database.ts'
import { sqlState, stateOf } from './errors.ts'
import { unprepared, type Sql } from './sql.ts'
import type { Tx } from './tx.ts'

const weekMs = 7 * dayMs
/** Monday, 5 January 1970, 00:00 UTC. */
const firstMondayMs = 4 * dayMs
const lockTimeoutMs = 300

const monday = (moment: Date): Date =>
  new Date(Math.floor((moment.getTime() - firstMondayMs) / weekMs) * weekMs + firstMondayMs)

/** Names come from migrations, never from outside; a name cannot be a parameter. */
function statement(text: string): Sql {
  return unprepared({ parts: [text], values: [] })
}
const checkedName = (name: string): string => {
  assert(/^[a-z]+\.[a-z_0-9]+$/.test(name), 'a table is named with its schema')
  return name
}

export type Week = {
  readonly name: string
  /** Its first id, and the first id behind it. */
  readonly from: string
  readonly to: string
}

const boundOf = (text: string | undefined) => (text === undefined || text === 'MINVALUE' ? nilId : text.slice(1, -1))

/** The weeks of a table, oldest first, without the default partition. */
export async function weeksOf(tx: Tx, table: string): Promise<readonly Week[]> {
  const rows = await tx.rows<{ name: string; bound: string }>(
    statement(`
      select c.oid::regclass::text as name, pg_get_expr(c.relpartbound, c.oid) as bound
      from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where i.inhparent = '${checkedName(table)}'::regclass`),
  )
  const weeks = rows.flatMap(({ name, bound }) => {
    const [, from, to] = /^FOR VALUES FROM \((.+?)\) TO \((.+?)\)$/.exec(bound) ?? []
    return to === undefined ? [] : [{ name, from: boundOf(from), to: boundOf(to) }]
  })
  return weeks.toSorted((a, b) => (a.from < b.from ? -1 : 1))
}

/**
 * Conditions that mend themselves: a lock that was not had; rows of the week in the default partition already; another
 * process that makes the same week (its row, its table or its type is met, by the moment).
 */
const passing = new Set<string | undefined>([
  ...[sqlState.lockNotAvailable, sqlState.checkViolation, sqlState.uniqueViolation],
  ...['42P07', '42710'],
])

/** Whether it could be done now. */
async function now(work: Promise<unknown>): Promise<boolean> {
  try {
    await work
    return true
  } catch (error) {
    if (passing.has(stateOf(error))) return false
    throw error
  }
}

/** Makes the weeks from the one of `moment` to `weeksAhead` later that are not there. Answers how many it made. */
export async function ensureWeeks(db: Database, table: string, moment: Date, weeksAhead: number): Promise<number> {
  const there = await weeksOf(db, table)
  const first = monday(moment).getTime()
  let made = 0
  for (let week = 0; week <= weeksAhead; week += 1) {
    const [from, to] = [0, 1].map((later) => firstIdOf(new Date(first + (week + later) * weekMs))) as [string, string]
    if (there.some((known) => known.from < to && from < known.to)) continue
    const day = new Date(first + week * weekMs).toISOString().slice(0, 10).replaceAll('-', '')
    const create = statement(
      `create table if not exists ${checkedName(table)}_${day} partition of ${table} for values from ('${from}') to ('${to}')`,
    )
    if (await now(db.transaction((tx) => tx.run(create), { lockTimeoutMs }))) made += 1
  }
  return made
}

/**
 * Drops a week; `mayGo` is asked under the lock, when nobody writes to the table, and may write with it. False: it was not
 * dropped now.
 */
export async function dropWeek(
  db: Database,
  table: string,
  week: Week,
  mayGo: (tx: Tx) => Promise<boolean>,
): Promise<boolean> {
  let dropped = false
  const work = async (tx: Tx) => {
    dropped = false
    await tx.run(statement(`lock table ${checkedName(table)} in access exclusive mode`))
    // Another process may have been faster.
    const isThere = (await weeksOf(tx, table)).some(({ name }) => name === week.name)
    if (!isThere || !(await mayGo(tx))) return
    await tx.run(statement(`drop table ${checkedName(week.name)}`))
    dropped = true
  }
  return (await now(db.transaction(work, { lockTimeoutMs }))) && dropped
}

/** Deletes up to `rowsMax` rows of the default partition before an id. Answers how many. */
export function deleteDefault(
  tx: Tx,
  { table, column, before, rowsMax }: { table: string; column: string; before: string; rowsMax: number },
): Promise<number> {
  const name = `${checkedName(table)}_default`
  assert(/^[a-z_]+$/.test(column) && /^[0-9a-f-]{36}$/.test(before), 'a column and an id')
  return tx.run(
    statement(`delete from ${name} where ctid = any(array(
      select ctid from ${name} where ${column} < '${before}' limit ${Math.trunc(rowsMax)}))`),
  )
}
