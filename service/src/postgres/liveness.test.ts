/** Dead connections are found long before the time-outs of the driver (15 s). */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { createTestDatabase } from '../../../test/support/postgres.ts'
import { startTcpProxy } from '../../../test/support/tcp-proxy.ts'
import { until } from '../../../test/support/until.ts'
import { Unreachable } from '../kernel/api/index.ts'
import { createLog, secondMs } from '../kernel/index.ts'
import { createDatabase } from './database.ts'
import { sql } from './sql.ts'

const database = await createTestDatabase()
const wire = await startTcpProxy(Number(new URL(database.url).port))
const url = Object.assign(new URL(database.url), { port: String(wire.port) }).href
const connectionsMax = 4
const driverTimeoutMs = 15 * secondMs
const db = createDatabase({ url, connectionsMax, log: createLog('silent') })
await db.run(sql`create table public.counters (id integer primary key, count integer)`)
await db.run(sql`insert into public.counters values (1, 0)`)
after(async () => {
  await db.close()
  await wire.close()
  await database.drop()
})

const isUnreachable = (error: unknown) => error instanceof Unreachable && error.code === 'downstream_unreachable'
const one = sql`select 1 as one`
const increment = sql`update public.counters set count = count + 1 where id = 1`

/** Fails if the work took as long as the time-outs of the driver. */
async function soon<T>(what: string, work: Promise<T>): Promise<T> {
  const startedMs = performance.now()
  const result = await work
  const tookMs = performance.now() - startedMs
  assert.ok(tookMs < driverTimeoutMs, `${what} took ${Math.round(tookMs)} ms`)
  return result
}

/** Leaves `connectionsMax` idle connections in the pool. */
const fillPool = () => Promise.all(Array.from({ length: connectionsMax }, () => db.row(sql`select pg_sleep(0.1)`)))

test('a statement on a lost connection fails soon, and the other idle connections are closed', async () => {
  await fillPool()
  wire.strand()
  await soon('the failure', assert.rejects(db.row(one), isUnreachable))
  for (let count = 0; count < connectionsMax; count += 1) await db.row(one)
})

test('the locks of a lost transaction are released soon', async () => {
  const lost = db.transaction(async (tx) => {
    await tx.run(increment)
    wire.strand()
    await tx.run(increment)
  })
  await soon('the failure', assert.rejects(lost, isUnreachable))
  await soon('the next update', db.run(increment))
  assert.equal((await db.row<{ count: number }>(sql`select count from public.counters`))?.count, 1)
})

test('a statement that the server is executing is not interrupted, however slow', async () => {
  const row = await db.row<{ slept: boolean }>(sql`select pg_sleep(3) is not null as slept`)
  assert.equal(row?.slept, true)
})

test('a connection attempt without an answer is abandoned soon after the server recovers', async () => {
  const empty = createDatabase({ url, connectionsMax: 1, log: createLog('silent'), connectTimeoutMs: driverTimeoutMs })
  wire.hold()
  const open = wire.open()
  const attempt = assert.rejects(empty.row(one), isUnreachable)
  await until('the attempt has reached the proxy', () => wire.open() > open)
  wire.strand()
  await soon('the failure', attempt)
  assert.ok(await empty.row(one))
  await empty.close()
})
