/**
 * Tests as on a sharded database (`npm run test:sharded`), on plain PostgreSQL. Sharding by Citus sends a statement to one
 * shard if the planner restricts each table to one `partner_id`. It refuses most others. So each statement is planned once
 * more after the test, and the plan is checked for what Citus would look for.
 */
import assert from 'node:assert/strict'
import type pg from 'pg'
import { type Database, type Sql, toStatement, type Tx } from '../../service/src/postgres/index.ts'
import { readFiles } from '../tidy/source.ts'
import { readTables, stable } from '../tidy/sql-rules.ts'
import { literal } from '../../service/src/postgres/tx.ts'

export const testsSharded = process.env['TEST_SHARDED'] === 'on'

type Plan = Readonly<Record<string, unknown>> & { readonly Plans?: readonly Plan[] }
const text = (plan: Plan, name: string): string => (typeof plan[name] === 'string' ? plan[name] : '')

const replicated = readTables(readFiles('.sql', 'service/migrations')).filter(({ spread }) => spread === 'replicate')
/** The same on every node. */
const notSharded = new Set(replicated.map(({ name }) => name))
const unsharded = new Set(['public', 'pg_catalog', ''])

const namesPartner = /\bpartner_id = '[0-9a-f-]{36}'::uuid/

const joinsByPartner = /\bpartner_id = \w+\.partner_id\b/
const conditionsOf = (node: Plan): string =>
  ['Index Cond', 'Recheck Cond', 'Filter'].map((name) => text(node, name)).join(' ')

function nodesOf(plan: Plan): readonly Plan[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)]
}

function faultsOfScan(nodes: readonly Plan[]): readonly string[] {
  const refused = new Set(['Recursive Union', 'LockRows', 'ModifyTable', 'Function Scan'])
  return nodes.flatMap((node) => {
    if (refused.has(text(node, 'Node Type')))
      return [`a scan over all partners has the node ${text(node, 'Node Type')}`]
    if (
      text(node, 'Parent Relationship') === 'SubPlan' &&
      !nodesOf(node).some((each) => joinsByPartner.test(conditionsOf(each)))
    )
      return ['a scan over all partners has a subquery that does not join by partner_id']
    return []
  })
}

/** Faults that Citus refuses in a write on any shard. */
function faultsOfWrite(nodes: readonly Plan[]): readonly string[] {
  const write = nodes.find((node) => /^(?:Insert|Update|Delete)$/.test(text(node, 'Operation')))
  if (write === undefined) return []
  if (text(write, 'Operation') === 'Insert') {
    const source = write.Plans?.find((node) => text(node, 'Parent Relationship') === 'Outer') ?? {}
    const isValues =
      text(source, 'Node Type') === 'Values Scan' ||
      (text(source, 'Node Type') === 'Result' && !('One-Time Filter' in source))
    const hasSubquery = nodes.some((node) => /^(?:InitPlan|SubPlan)$/.test(text(node, 'Parent Relationship')))
    return isValues && hasSubquery ? ['an insert of values has a subquery'] : []
  }
  const own = nodes.map(({ Plans: _plans, ...node }) => node)
  const found = stable.exec(JSON.stringify(own).replaceAll(/'(?:[^']|'')*'/g, "''"))
  return found === null ? [] : [`a write has a STABLE function or cast: ${found[0]}`]
}

function faultsOfStatement(nodes: readonly Plan[]): readonly string[] {
  const scans = nodes.flatMap((node): readonly string[] => {
    const type = text(node, 'Node Type')
    const source = node.Plans?.map((child) => nodesOf(child)).flat() ?? []
    if (text(node, 'Operation') === 'Insert' && source.some((each) => text(each, 'Node Type') === 'Function Scan'))
      return ['an insert takes its rows from a function']
    const table = `${text(node, 'Schema')}.${text(node, 'Relation Name')}`
    if (type === 'ModifyTable' || unsharded.has(text(node, 'Schema')) || notSharded.has(table)) return []
    return namesPartner.test(conditionsOf(node)) ? [] : [`${type} of ${table} is not restricted to one partner`]
  })
  return [...faultsOfWrite(nodes), ...scans]
}

async function faultsOf(client: pg.PoolClient, statement: Sql): Promise<readonly string[]> {
  const { text: sql, values } = toStatement(statement)
  // A statement begins with its name in a comment.
  if (!/^\s*(?:\/\*[^*]*\*\/\s*)?(?:select|insert|update|delete|with|\()/i.test(sql)) return []
  const result = await client.query<{ 'QUERY PLAN': readonly { readonly Plan: Plan }[] }>(
    `explain (verbose, format json) ${sql}`,
    values.map(literal),
  )
  const nodes = nodesOf(result.rows[0]?.['QUERY PLAN'][0]?.Plan ?? {})
  const faults = statement.scan ? faultsOfScan(nodes) : faultsOfStatement(nodes)
  return faults.map((fault) => `${fault}: ${sql.replaceAll(/\s+/g, ' ').trim().slice(0, 300)}`)
}

/** The statements of the tests themselves do not matter. The frames: `note`, the wrapper, its caller. */
const isOfService = (stack = ''): boolean => {
  const caller = stack.split('\n')[3] ?? ''
  return caller.includes('/service/src/') && !caller.includes('.test.ts')
}

/** `verify` throws if a statement that the tests sent would not run on a sharded database. */
export function checkSharding(db: Database): { readonly db: Database; readonly verify: () => Promise<void> } {
  const seen = new Map<string, Sql>()
  const note = (statement: Sql) => {
    const { text: sql } = toStatement(statement)
    if (isOfService(new Error().stack) && !seen.has(sql)) seen.set(sql, statement)
    return statement
  }
  const watch = (tx: Tx): Tx => ({
    ...tx,
    rows: (statement) => tx.rows(note(statement)),
    row: (statement) => tx.row(note(statement)),
    run: (statement) => tx.run(note(statement)),
    later: (statement, rowsExpected) => tx.later(note(statement), rowsExpected),
  })
  const watched: Database = {
    ...db,
    ...watch(db),
    transaction: (work, { before, ...limits } = {}) =>
      db.transaction((tx, read) => work(watch(tx), read), {
        ...limits,
        ...(before ? { before: (tx: Tx) => before(watch(tx)) } : {}),
      }),
  }
  const verify = async () => {
    const client = await db.pool.connect()
    try {
      // Small tables are read whole, whatever their indexes: the plans must not depend on their size.
      await client.query('set enable_seqscan = off')
      const faults: string[] = []
      for (const statement of seen.values()) faults.push(...(await faultsOf(client, statement)))
      assert.deepEqual(faults, [])
    } finally {
      client.release(true)
    }
  }
  return { db: watched, verify }
}
