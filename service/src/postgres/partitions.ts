/**
 * Tables that are partitioned by week, by a UUID version 7. Partitions are created ahead of time and dropped as a
 * whole. Both lock the table exclusively, so they wait only briefly for the lock, and the next run retries.
 */
import { assert, dayMs, firstIdOf, nilId, type RowKey } from '../kernel/index.ts'
import type { Database } from './database.ts'
import { sqlState, sqlStateOf } from './errors.ts'
import { acrossPartners, unprepared, type Sql } from './sql.ts'
import type { Tx } from './tx.ts'

const weekMs = 7 * dayMs
/** Monday, 5 January 1970, 00:00 UTC: the first start of a week. */
const firstMondayMs = 4 * dayMs
const lockTimeoutMs = 300

const monday = (moment: Date): Date =>
  new Date(Math.floor((moment.getTime() - firstMondayMs) / weekMs) * weekMs + firstMondayMs)

/**
 * Creates a statement from text, because names of tables and columns cannot be parameters. They come from migrations,
 * never from requests.
 */
function statement(text: string): Sql {
  return unprepared({ parts: [text], values: [] })
}
const checkTableName = (name: string): string => {
  assert(/^[a-z]+\.[a-z_0-9]+$/.test(name), `invalid table name, expected schema.table: ${name}`)
  return name
}

export type WeekPartition = {
  readonly name: string
  readonly from: string
  /** The first id of the next week. */
  readonly to: string
}

const partitionBound = (text: string | undefined) =>
  text === undefined || text === 'MINVALUE' ? nilId : text.slice(1, -1)

/** Lists the weekly partitions of a table, oldest first, without the default partition. */
export async function listWeeks(tx: Tx, table: string): Promise<readonly WeekPartition[]> {
  const rows = await tx.rows<{ name: string; bound: string }>(
    statement(`
      select part.oid::regclass::text as name, pg_get_expr(part.relpartbound, part.oid) as bound
      from pg_inherits inheritance join pg_class part on part.oid = inheritance.inhrelid
      where inheritance.inhparent = '${checkTableName(table)}'::regclass`),
  )
  const weeks = rows.flatMap(({ name, bound }) => {
    const [, from, to] = /^FOR VALUES FROM \((.+?)\) TO \((.+?)\)$/.exec(bound) ?? []
    return to === undefined ? [] : [{ name, from: partitionBound(from), to: partitionBound(to) }]
  })
  return weeks.toSorted((a, b) => (a.from < b.from ? -1 : 1))
}

/**
 * Errors after which the next run can succeed: a lock timeout; rows of the week in the default partition; another process
 * that creates the same week (23505, 42P07 or 42710, depending on how far it is).
 */
const transientStates = new Set<string | undefined>([
  sqlState.lockNotAvailable,
  sqlState.checkViolation,
  sqlState.uniqueViolation,
  '42P07',
  '42710',
])

/** Returns false if `work` fails with a transient error. */
async function succeedsNow(work: Promise<unknown>): Promise<boolean> {
  try {
    await work
    return true
  } catch (error) {
    if (transientStates.has(sqlStateOf(error))) return false
    throw error
  }
}

/** Creates the missing weeks from `moment` to `weeksAhead` weeks later. Returns the number of created weeks. */
export async function ensureWeeks(db: Database, table: string, moment: Date, weeksAhead: number): Promise<number> {
  const existing = await listWeeks(db, table)
  const first = monday(moment).getTime()
  let created = 0
  for (let week = 0; week <= weeksAhead; week += 1) {
    const [from, to] = [0, 1].map((later) => firstIdOf(new Date(first + (week + later) * weekMs))) as [string, string]
    if (existing.some((known) => known.from < to && from < known.to)) continue
    const day = new Date(first + week * weekMs).toISOString().slice(0, 10).replaceAll('-', '')
    const create = statement(
      `create table if not exists ${checkTableName(table)}_${day} partition of ${table} for values from ('${from}') to ('${to}')`,
    )
    if (await succeedsNow(db.transaction((tx) => tx.run(create), { lockTimeoutMs }))) created += 1
  }
  return created
}

/**
 * Drops a week. `mayDrop` runs under the lock, when no other transaction writes to the table, and may write in the same
 * transaction. Returns whether the week was dropped.
 */
export async function dropWeek(
  db: Database,
  table: string,
  week: WeekPartition,
  mayDrop: (tx: Tx) => Promise<boolean>,
): Promise<boolean> {
  let dropped = false
  const work = async (tx: Tx) => {
    dropped = false
    // Uses one connection per node: Citus refuses to drop a table that the transaction has read on several connections.
    if (tx.sharded) await tx.run(statement("set local citus.multi_shard_modify_mode = 'sequential'"))
    await tx.run(statement(`lock table ${checkTableName(table)} in access exclusive mode`))
    // Another process may have dropped the week before this one had the lock.
    const exists = (await listWeeks(tx, table)).some(({ name }) => name === week.name)
    if (!exists || !(await mayDrop(tx))) return
    await tx.run(statement(`drop table ${checkTableName(week.name)}`))
    dropped = true
  }
  return (await succeedsNow(db.transaction(work, { lockTimeoutMs }))) && dropped
}

/**
 * Deletes about `rowsMax` rows with smaller ids than `before` from the default partition, partner by partner. Returns
 * the number of deleted rows.
 */
export async function deleteDefault(
  tx: Tx,
  { table, column, before, rowsMax }: { table: string; column: string; before: string; rowsMax: number },
): Promise<number> {
  const name = `${checkTableName(table)}_default`
  assert(/^[a-z_]+$/.test(column) && /^[0-9a-f-]{36}$/.test(before), `invalid column or id: ${column}, ${before}`)
  const found = await tx.rows<RowKey>(
    acrossPartners(
      'finds old rows in a default partition, without a lock',
      statement(
        `select partner_id, ${column} as id from ${name} where ${column} < '${before}' limit ${Math.trunc(rowsMax)}`,
      ),
    ),
  )
  let deleted = 0
  for (const [partnerId, rows] of Map.groupBy(found, (row) => row.partnerId)) {
    const ids = rows.map(({ id }) => id)
    deleted += await tx.run(
      unprepared({
        parts: [`delete from ${table} where partner_id = `, ` and ${column} = any(`, '::uuid[])'],
        values: [partnerId, ids],
      }),
    )
  }
  return deleted
}
