import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { createTestDatabase } from '../../../test/support/postgres.ts'
import { until } from '../../../test/support/until.ts'
import { createLog, Unreachable } from '../kernel/index.ts'
import { createDatabase } from './database.ts'
import { sql } from './sql.ts'

const database = await createTestDatabase()
const open = () => createDatabase({ url: database.url, connectionsMax: 2, log: createLog('silent') })
const db = open()
const admin = open()
after(async () => {
  await db.close()
  await admin.close()
  await database.drop()
})

const backend = sql`select pg_backend_pid() as pid`

test('a connection lost between two statements of a transaction fails the transaction, not the process', async () => {
  const lost = db.transaction(async (tx) => {
    const pid = (await tx.row<{ pid: number }>(backend))?.pid ?? 0
    await admin.rows(sql`select pg_terminate_backend(${pid}::integer)`)
    await until('the server has ended it', async () => {
      const left = await admin.rows(sql`select 1 from pg_stat_activity where pid = ${pid}::integer`)
      return left.length === 0
    })
    // The driver learns of it while no statement of ours is under way.
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
    await tx.row(backend)
  })
  await assert.rejects(lost, (error) => error instanceof Unreachable && error.code === 'downstream_unreachable')
  assert.ok(await db.row(backend), 'the next one has a new connection')
})
