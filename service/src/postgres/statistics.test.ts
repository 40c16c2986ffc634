/** Tables that have grown are analysed, so that statements are planned for their current size. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { createTestDatabase } from '../../../test/support/postgres.ts'
import { until } from '../../../test/support/until.ts'
import { createLog } from '../kernel/index.ts'
import { analyseGrownTables, createDatabase, sql } from './index.ts'

const database = await createTestDatabase()
const log = createLog('silent')
const db = createDatabase({ url: database.url, connectionsMax: 1, log })
after(async () => {
  await db.close()
  await database.drop()
})

const knownRows = async () => {
  const row = await db.row<{ rows: number }>(sql`
    select reltuples::integer as rows from pg_class where oid = 'public.grown'::regclass`)
  return row?.rows ?? 0
}

test('a table is analysed when it has doubled, and not again before it doubles again', async () => {
  // Autovacuum may look at the table first, and nothing is left to analyse.
  await db.run(sql`create table public.grown (n integer primary key) with (autovacuum_enabled = off)`)
  await analyseGrownTables(db, log)
  await db.run(sql`insert into public.grown select generate_series(1, 5000)`)
  // The server counts changed rows some time after the transaction.
  await until(
    'the table is analysed',
    async () => (await analyseGrownTables(db, log)) > 0 && (await knownRows()) === 5000,
  )
  await db.run(sql`insert into public.grown select generate_series(5001, 5400)`)
  assert.equal(await analyseGrownTables(db, log), 0)
  assert.equal(await knownRows(), 5000)
})
