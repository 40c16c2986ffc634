/** The generated schema page shows the whole schema, and equal schemas have equal pages. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLog } from '../../service/src/kernel/index.ts'
import { createDatabase, type Database, migrate } from '../../service/src/postgres/index.ts'
import { generateSchema } from '../../scripts/generate/database.ts'
import { createTestDatabase } from '../support/postgres.ts'

type Pool = Database['pool']

async function withPool<T>(work: (pool: Pool) => Promise<T>): Promise<T> {
  const { url, drop } = await createTestDatabase()
  const db = createDatabase({ url, connectionsMax: 1, log: createLog('silent') })
  try {
    await migrate(db.pool)
    return await work(db.pool)
  } finally {
    await db.close()
    await drop()
  }
}

test('the schema page lists columns, keys, checks and indexes of every table', async () => {
  const page = await withPool(generateSchema)
  for (const line of [
    '### ledger.transfers',
    '| `amount` | bigint | not null |  |',
    '- `accounts_pkey: PRIMARY KEY (partner_id, id)`',
    '- `deposits_key: UNIQUE (partner_id, operation, idempotency_key)`',
    '- `transfers_reserve_ends_once: unique (partner_id, reserve_id) WHERE (reserve_id IS NOT NULL)`',
    '- `nonces_expiry: (partner_id, expires_at)`',
  ])
    assert.ok(page.split('\n').includes(line), `${line} in\n${page}`)
  assert.ok(!page.includes('schema_migrations'))
  assert.ok(!/not_null/.test(page), 'the column tables already show not null')
})

test('two databases with the same schema have the same schema page', async () => {
  const [first, second] = [await withPool(generateSchema), await withPool(generateSchema)]
  assert.equal(first, second)
})

test('a schema change changes the schema page, but a new row does not', async () => {
  await withPool(async (pool) => {
    const before = await generateSchema(pool)
    await pool.query("insert into access.partners values (gen_random_uuid(), 'One', '2026-01-01Z')")
    assert.equal(await generateSchema(pool), before)
    await pool.query("alter table access.partners add column note text default 'a|b'")
    const after = await generateSchema(pool)
    assert.ok(after.includes("| `note` | text |  | `'a\\|b'::text` |"), after)
  })
})

test('the schema page of a database without tables is refused', async () => {
  await withPool(async (pool) => {
    const { rows } = await pool.query<{ name: string }>(
      "select nspname as name from pg_namespace where nspname !~ '^pg_' and nspname <> 'information_schema'",
    )
    for (const { name } of rows) await pool.query(`drop schema ${name} cascade`)
    await assert.rejects(generateSchema(pool), /no tables/)
  })
})
