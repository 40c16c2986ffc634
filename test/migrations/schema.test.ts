/** The schema is the same on the oldest PostgreSQL, and where an earlier text of a migration was applied. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { generateSchema } from '../../scripts/generate/database.ts'
import { liveSchema } from '../../scripts/generate/live-schema.ts'
import { createLog } from '../../service/src/kernel/index.ts'
import { createDatabase, type Database, migrate, readMigrations } from '../../service/src/postgres/index.ts'
import { createEmptyDatabase } from '../support/empty.ts'
import { createTestDatabase, oldestMissing, startOldestServer, type TestDatabase } from '../support/postgres.ts'

const page = await liveSchema()

async function withDatabase<T>({ url, drop }: TestDatabase, work: (db: Database) => Promise<T>): Promise<T> {
  const db = createDatabase({ url, connectionsMax: 1, log: createLog('silent') })
  try {
    return await work(db)
  } finally {
    await db.close()
    await drop()
  }
}

test('PostgreSQL 15 gets the same schema from the migrations as the newest', { skip: oldestMissing }, async () => {
  const server = await startOldestServer()
  try {
    await withDatabase(await createTestDatabase(server.templateUrl), async ({ pool }) => {
      const { rows } = await pool.query<{ server_version: string }>('show server_version')
      assert.match(rows[0]?.server_version ?? '', /^15\./)
      assert.equal(await generateSchema(pool), page)
    })
  } finally {
    await server.stop()
  }
})

/** The texts that PostgreSQL 15 refuses, by what the texts of now say instead. */
const earlierTexts: Readonly<Record<string, (text: string) => string>> = {
  '0046-reports.sql': (text) =>
    text
      .replace(/^-- Earlier text: .*\n.*\n/m, '')
      .replace('bytes bytea not null', 'bytes bytea storage external not null')
      .replace(/^alter table reports\.chunks .*\n/m, ''),
}

test('a database that has applied an earlier text goes on, with the same schema', async (context) => {
  const folder = await mkdtemp(join(tmpdir(), 'partner-payments-earlier-'))
  context.after(() => rm(folder, { recursive: true }))
  await cp(fileURLToPath(new URL('../../service/migrations', import.meta.url)), folder, { recursive: true })
  const changed = (await readMigrations()).filter(({ earlier }) => earlier.length > 0)
  assert.deepEqual(
    changed.map(({ name }) => name),
    Object.keys(earlierTexts),
  )
  for (const { name, text, earlier } of changed) {
    const old = earlierTexts[name]?.(text) ?? ''
    assert.deepEqual(earlier, [createHash('sha256').update(old).digest('hex')], name)
    await writeFile(join(folder, name), old)
  }
  await withDatabase(await createEmptyDatabase(), async ({ pool }) => {
    const { rows } = await pool.query<{ version: number }>(
      "select current_setting('server_version_num')::integer as version",
    )
    // `npm run test:versions` runs this on 15 as well.
    if (Number(rows[0]?.version) < 160_000) return assert.rejects(migrate(pool, { folder }), /0046.*syntax error/)
    await migrate(pool, { folder })
    assert.deepEqual(await migrate(pool), [])
    assert.equal(await generateSchema(pool), page)
  })
})
