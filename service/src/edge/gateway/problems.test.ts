import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTestDatabase } from '../../../../test/support/postgres.ts'
import { createLog } from '../../kernel/index.ts'
import { createDatabase, sql } from '../../postgres/index.ts'
import { toProblem } from './problems.ts'

test('400 when PostgreSQL cannot represent a value of the request (SQLSTATE class 22)', async () => {
  const { url, drop } = await createTestDatabase()
  const log = createLog('silent')
  const db = createDatabase({ url, connectionsMax: 1, log })
  const statements = [
    sql`select ${'2016-12-31T23:59:60.999Z'}::timestamptz`,
    sql`select ${'10000-01-01T00:00:00Z'}::text::timestamptz at time zone 'x'`,
    sql`select ${'not a uuid'}::uuid`,
    sql`select ${'99999999999'}::int`,
  ]
  for (const statement of statements) {
    const error: unknown = await db.rows(statement).then(
      () => assert.fail('the statement fails'),
      (thrown: unknown) => thrown,
    )
    const { status, body } = toProblem(error, { requestId: 'request', instance: '/v1/x', log })
    const { code, errors } = JSON.parse(body) as { readonly code: string; readonly errors?: unknown }
    assert.deepEqual({ status, code, errors }, { status: 400, code: 'validation_failed', errors: undefined })
  }
  const bug: unknown = await db.rows(sql`select nothing_of_this_name`).catch((thrown: unknown) => thrown)
  assert.equal(toProblem(bug, { requestId: 'request', instance: '/v1/x', log }).status, 500)
  await db.close()
  await drop()
})
