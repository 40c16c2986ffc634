/** Unflushed writes: visible at once, durable when `flushed` resolves, mostly by the flush of a later commit. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { createTestDatabase } from '../../../test/support/postgres.ts'
import { until } from '../../../test/support/until.ts'
import { createLog } from '../kernel/index.ts'
import { createDatabase, sql } from './index.ts'

const database = await createTestDatabase()
// The server of the tests runs with synchronous_commit=off.
const admin = createDatabase({ url: database.url, connectionsMax: 1, log: createLog('silent') })
const name = new URL(database.url).pathname.slice(1)
await admin.pool.query(`alter role current_user in database ${name} set synchronous_commit = 'on'`)
await admin.close()
const db = createDatabase({ url: database.url, connectionsMax: 4, log: createLog('silent') })
await db.run(sql`create table public.numbers (n integer primary key)`)
after(async () => {
  await db.close()
  await database.drop()
})

const insert = (n: number) => sql`insert into public.numbers values (${n})`
/** Reads the positions up to which the log is written and flushed. */
const log = async () => {
  const row = await db.row<{ written: string; flushed: string }>(sql`
    select pg_current_wal_insert_lsn() - '0/0' as written, pg_current_wal_flush_lsn() - '0/0' as flushed`)
  assert.ok(row)
  return { written: BigInt(row.written), flushed: BigInt(row.flushed) }
}

test('an unflushed write is visible to other connections at once', async () => {
  await db.unflushed.run(insert(1))
  assert.equal((await db.rows(sql`select n from public.numbers where n = 1`)).length, 1)
})

test('callers that wait for unflushed writes share one flush', async () => {
  await Promise.all([2, 3, 4].map((n) => db.unflushed.run(insert(n))))
  const { written } = await log()
  const mark = db.unflushed.mark()
  await Promise.all([1, 2, 3].map(() => db.unflushed.flushed(mark)))
  assert.ok((await log()).flushed >= written)
})

test('the commit of a transaction that writes makes earlier unflushed writes durable, without another flush', async () => {
  let n = 100
  // Other files write to the log of the server, too.
  await until('the wait writes nothing', async () => {
    await db.unflushed.run(insert(n++))
    const { written } = await log()
    const mark = db.unflushed.mark()
    await db.transaction(async (tx) => tx.later(insert(n++)))
    assert.ok((await log()).flushed >= written)
    const before = await log()
    await db.unflushed.flushed(mark)
    return (await log()).written === before.written
  })
})

test('a transaction that wrote nothing or was rolled back does not make unflushed writes durable', async () => {
  await db.unflushed.run(insert(7))
  const mark = db.unflushed.mark()
  await db.transaction((tx) => tx.rows(sql`select n from public.numbers`))
  await assert.rejects(db.transaction(async (tx) => tx.later(insert(7))))
  await db.transaction(async (tx) => tx.later(sql`update public.numbers set n = n where n = -1`))
  const { written } = await log()
  await db.unflushed.flushed(mark)
  const now = await log()
  assert.ok(now.written > written, 'the wait writes a record')
  assert.ok(now.flushed >= written)
})
