/** Connections that are lost between two statements, idle within a transaction, read only, or abandoned. */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { createTestDatabase } from '../../../test/support/postgres.ts'
import { until } from '../../../test/support/until.ts'
import { Unreachable } from '../kernel/api/index.ts'
import { createLog } from '../kernel/index.ts'
import { createDatabase } from './database.ts'
import { migrate } from './migrate.ts'
import { sql } from './sql.ts'

const database = await createTestDatabase()
const log = createLog('silent')
const open = () => createDatabase({ url: database.url, connectionsMax: 2, log })
const db = open()
const admin = open()
after(async () => {
  await db.close()
  await admin.close()
  await database.drop()
})

const lock = sql`select 1 as one from pg_advisory_xact_lock(1)`
const backend = sql`select pg_backend_pid() as pid`

test('a connection that is lost between two statements fails its transaction, not the process', async () => {
  const lost = db.transaction(async (tx) => {
    const pid = (await tx.row<{ pid: number }>(backend))?.pid ?? 0
    await admin.rows(sql`select pg_terminate_backend(${pid}::integer)`)
    await until('the server has closed the connection', async () => {
      const left = await admin.rows(sql`select 1 from pg_stat_activity where pid = ${pid}::integer`)
      return left.length === 0
    })
    // The driver receives the end of the connection between two statements.
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
    await tx.row(backend)
  })
  await assert.rejects(lost, (error) => error instanceof Unreachable && error.code === 'downstream_unreachable')
  assert.ok(await db.row(backend), 'the next statement gets a new connection')
})

test('the server ends a transaction that is idle too long and releases its locks', async () => {
  const frozen = createDatabase({ url: database.url, connectionsMax: 1, log, idleInTransactionMsMax: 200 })
  const thaw = Promise.withResolvers<void>()
  try {
    const holds = Promise.withResolvers<void>()
    const held = frozen.transaction(async (tx) => {
      await tx.row(lock)
      holds.resolve()
      await thaw.promise
      await tx.row(backend)
    })
    held.catch(() => undefined)
    await holds.promise
    // If the server did not end the frozen transaction, the lock timeout would refuse this statement (55P03).
    assert.ok(await db.row(lock))
    thaw.resolve()
    await assert.rejects(held, (error) => error instanceof Unreachable)
    assert.ok(await frozen.row(backend), 'the next statement gets a new connection')
  } finally {
    thaw.resolve()
    await frozen.close()
  }
})

test('after a write is refused as read only, the pool replaces its idle connections and later writes succeed', async () => {
  const name = new URL(database.url).pathname.slice(1)
  const setReadOnly = (value: 'on' | 'off') =>
    admin.pool.query(`alter role current_user in database ${name} set default_transaction_read_only = '${value}'`)
  await setReadOnly('on')
  const demoted = createDatabase({ url: database.url, connectionsMax: 3, log })
  try {
    // Each transaction waits for the other two, so that each has its own connection.
    const connected = [1, 2, 3].map(() => Promise.withResolvers<void>())
    const read = (at: number) =>
      demoted.transaction(async (tx) => {
        await tx.row(backend)
        connected[at]?.resolve()
        await Promise.all(connected.map(({ promise }) => promise))
      })
    await Promise.all([read(0), read(1), read(2)])
    await setReadOnly('off')
    const write = () => demoted.transaction((tx) => tx.run(sql`create table if not exists public.written ()`))
    await assert.rejects(write(), (error) => error instanceof Unreachable && error.code === 'storage_unavailable')
    for (let count = 0; count < 3; count += 1) await write()
  } finally {
    await setReadOnly('off')
    await demoted.close()
  }
})

test('the server ends a statement that the driver has abandoned', async () => {
  const impatient = createDatabase({ url: database.url, connectionsMax: 1, log, queryTimeoutMs: 200 })
  try {
    const sleep = sql`select pg_sleep(${60}::integer)`
    await assert.rejects(impatient.row(sleep), (error) => {
      return error instanceof Unreachable && error.code === 'downstream_timeout'
    })
    await until('the server has ended the statement', async () => {
      const left = await admin.rows(sql`
        select 1 from pg_stat_activity where state = 'active' and query like '%pg_sleep%' and pid <> pg_backend_pid()`)
      return left.length === 0
    })
  } finally {
    await impatient.close()
  }
})

test('a migration may exceed the time limits of requests, and other processes wait for it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'partner-payments-migrations-'))
  const impatient = createDatabase({
    url: database.url,
    connectionsMax: 2,
    log,
    queryTimeoutMs: 100,
    lockTimeoutMs: 100,
  })
  try {
    await writeFile(join(folder, '9999-slow.sql'), 'select pg_sleep(2); create table public.slow ();')
    const upTo = { folder, upTo: 9999 }
    const applied = await Promise.all([migrate(impatient.pool, upTo), migrate(impatient.pool, upTo)])
    assert.deepEqual(applied.flat(), ['9999-slow.sql'])
  } finally {
    await impatient.close()
    await rm(folder, { recursive: true, force: true })
  }
})
