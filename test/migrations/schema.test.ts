/**
 * The baseline creates the schema of the version before it, and a database of that version can be used without a
 * change.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { liveSchema } from '../../scripts/generate/live-schema.ts'
import { generateSchema } from '../../scripts/generate/database.ts'
import { createLog } from '../../service/src/kernel/index.ts'
import { lastBaselineNumber, isBaseline } from '../../service/src/postgres/migrate.ts'
import {
  createDatabase,
  createSchemaCheck,
  migrate,
  MigrationError,
  readMigrations,
  requireMigrated,
} from '../../service/src/postgres/index.ts'
import { createEmptyDatabase } from '../support/empty.ts'
import { createTestDatabase, oldestMissing, startOldestServer, type TestDatabase } from '../support/postgres.ts'
import { type Pool, readCatalog } from './catalog.ts'
import { appliedBefore, createVersionBefore, recorded } from './version-before.ts'

/**
 * SHA-256 of the catalogue that the 179 migrations before the baseline created, on PostgreSQL 15 and 18 and with the
 * Citus texts.
 */
const catalogBefore = 'e9b8aa58437e86ff9ac52ca58fa680e7632ab9ddf7edb0e2e10b9ca2a427dd72'
const folder = fileURLToPath(new URL('../../service/migrations', import.meta.url))
const baseline = (await readMigrations()).filter(({ number }) => isBaseline(number)).map(({ name }) => name)

const digestOf = (lines: readonly string[]): string => createHash('sha256').update(lines.join('\n')).digest('hex')

async function withDatabase<T>({ url, drop }: TestDatabase, work: (pool: Pool) => Promise<T>): Promise<T> {
  const db = createDatabase({ url, connectionsMax: 4, log: createLog('silent') })
  try {
    return await work(db.pool)
  } finally {
    await db.close()
    await drop()
  }
}

const appliedIn = async (pool: Pool) =>
  (await pool.query<{ row: string }>('select (m)::text as row from public.schema_migrations m order by number')).rows

test('the baseline creates the schema of the earlier migrations, and no row', async () => {
  await withDatabase(await createEmptyDatabase(), async (pool) => {
    assert.deepEqual(await migrate(pool, { upTo: lastBaselineNumber }), baseline)
    assert.equal(digestOf(await readCatalog(pool)), catalogBefore)
    await pool.query('alter table payouts.payouts alter column rail drop not null')
    assert.notEqual(digestOf(await readCatalog(pool)), catalogBefore)
  })
})

test('PostgreSQL 15 gets the same schema as the newest version', { skip: oldestMissing }, async () => {
  const server = await startOldestServer()
  try {
    await withDatabase(await createTestDatabase(server.templateUrl), async (pool) => {
      const { rows } = await pool.query<{ server_version: string }>('show server_version')
      assert.match(rows[0]?.server_version ?? '', /^15\./)
      assert.equal(await generateSchema(pool), await liveSchema())
    })
  } finally {
    await server.stop()
  }
})

test('migrating a database of the previous version records the baseline once and changes nothing else', async () => {
  await withDatabase(await createEmptyDatabase(), async (pool) => {
    await createVersionBefore(pool)
    await pool.query(recorded)
    const [catalog, rows] = [await readCatalog(pool), await appliedIn(pool)]
    await assert.rejects(requireMigrated(pool), /lacks migration 0301-functions\.sql: run the role `migrate` first/)
    const done = await Promise.all([1, 2, 3].map(() => migrate(pool, { upTo: lastBaselineNumber })))
    assert.deepEqual(done.flat(), baseline)
    assert.deepEqual(await readCatalog(pool), catalog)
    // A process of the version before reads its own rows.
    assert.deepEqual((await appliedIn(pool)).slice(0, rows.length), rows)
    assert.equal((await appliedIn(pool)).length, rows.length + baseline.length)
    await migrate(pool)
    assert.equal((await createSchemaCheck(pool)()).problem, undefined)
    await requireMigrated(pool)
    assert.deepEqual(await migrate(pool), [])
  })
})

test('databases with the Citus texts of migrations, the first text of 0046, or both can be migrated', async () => {
  for (const texts of [{ citus: true }, { earlier: true }, { citus: true, earlier: true }])
    await withDatabase(await createEmptyDatabase(), async (pool) => {
      await createVersionBefore(pool, appliedBefore(texts))
      assert.deepEqual(await migrate(pool, { upTo: lastBaselineNumber }), baseline)
    })
})

test('a migration after the baseline is applied to a database of the previous version', async (context) => {
  const later = await mkdtemp(join(tmpdir(), 'partner-payments-later-'))
  context.after(() => rm(later, { recursive: true }))
  await cp(folder, later, { recursive: true })
  await writeFile(join(later, '9000-later.sql'), 'create table public.later (id integer)')
  await withDatabase(await createEmptyDatabase(), async (pool) => {
    await createVersionBefore(pool)
    const done = await migrate(pool, { folder: later })
    assert.deepEqual([done.slice(0, baseline.length), done.at(-1)], [baseline, '9000-later.sql'])
    await pool.query('select from public.later')
  })
})

test('another set of migrations is refused with the version to start first, and nothing is changed', async () => {
  const all = appliedBefore()
  const changed = all.map(([number, name, checksum]) => [number, name, number === 11 ? 'x' : checksum] as const)
  const variants = {
    'one in the middle is missing': all.filter(([number]) => number !== 150),
    'the last one is missing': all.slice(0, -1),
    'a contract step is missing': all.filter(([, name]) => name !== '0263-contract-extension-events.sql'),
    'the first one only': all.slice(0, 1),
    'another text': changed,
    'one more': [...all, [299, '0299-own.sql', 'x'] as const],
  }
  await withDatabase(await createEmptyDatabase(), async (pool) => {
    await createVersionBefore(pool)
    const catalog = await readCatalog(pool)
    for (const [title, rows] of Object.entries(variants)) {
      await pool.query('delete from public.schema_migrations')
      for (const row of rows)
        await pool.query(`insert into public.schema_migrations values ($1, $2, $3, '2026-01-01Z')`, [...row])
      const before = await appliedIn(pool)
      const isRefused = (error: unknown) =>
        error instanceof MigrationError && /start commit 69df0e16 with MIGRATE_CONTRACT=on/.test(error.message)
      await assert.rejects(migrate(pool), isRefused, title)
      assert.deepEqual(await appliedIn(pool), before, title)
      assert.deepEqual(await readCatalog(pool), catalog, title)
    }
  })
})
