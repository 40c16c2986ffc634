/** Writes that do not wait for the disk: seen at once, durable before anything is answered, mostly for free. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { createTestDatabase } from '../../../test/support/postgres.ts'
import { createLog } from '../kernel/index.ts'
import { createDatabase, sql } from './index.ts'

const database = await createTestDatabase()
// The server of the tests waits for no disk unless it is told to.
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
/** How far the log is written, and how far it is on the disk. */
const log = async () => {
  const row = await db.row<{ written: string; flushed: string }>(sql`
    select pg_current_wal_insert_lsn() - '0/0' as written, pg_current_wal_flush_lsn() - '0/0' as flushed`)
  assert.ok(row)
  return { written: BigInt(row.written), flushed: BigInt(row.flushed) }
}

test('what is written without waiting is there for others at once', async () => {
  await db.unflushed.run(insert(1))
  assert.equal((await db.rows(sql`select n from public.numbers where n = 1`)).length, 1)
})

test('waiting for it puts it on the disk, once for all who wait', async () => {
  await Promise.all([2, 3, 4].map((n) => db.unflushed.run(insert(n))))
  const { written } = await log()
  const mark = db.unflushed.mark()
  await Promise.all([1, 2, 3].map(() => db.unflushed.flushed(mark)))
  assert.ok((await log()).flushed >= written)
})

test('a transaction that writes takes it along: nobody waits any more', async () => {
  await db.unflushed.run(insert(5))
  const { written } = await log()
  const mark = db.unflushed.mark()
  await db.transaction(async (tx) => tx.later(insert(6)))
  assert.ok((await log()).flushed >= written)
  const before = await log()
  await db.unflushed.flushed(mark)
  assert.equal((await log()).written, before.written, 'nothing was written to make it durable')
})

test('a transaction that wrote nothing, or was rolled back, takes nothing along', async () => {
  await db.unflushed.run(insert(7))
  const mark = db.unflushed.mark()
  await db.transaction((tx) => tx.rows(sql`select n from public.numbers`))
  await assert.rejects(db.transaction(async (tx) => tx.later(insert(7))))
  await db.transaction(async (tx) => tx.later(sql`update public.numbers set n = n where n = -1`))
  const { written } = await log()
  await db.unflushed.flushed(mark)
  const now = await log()
  assert.ok(now.written > written, 'something had to be written to make it durable')
  assert.ok(now.flushed >= written)
})
