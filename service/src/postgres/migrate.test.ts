import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import { createEmptyDatabase } from '../../../test/support/empty.ts'
import { until } from '../../../test/support/until.ts'
import { createLog } from '../kernel/index.ts'
import { createDatabase, type Database } from './database.ts'
import { migrate, MigrationError, readMigrations } from './migrate.ts'

const log = createLog('silent')
let url: string
let drop: () => Promise<void>
let db: Database
let folder: string
beforeEach(async () => {
  ;({ url, drop } = await createEmptyDatabase())
  db = createDatabase({ url, connectionsMax: 8, log })
  folder = await mkdtemp(join(tmpdir(), 'partner-payments-migrate-'))
  await write('0001-one.sql', 'create table public.one (id integer)')
  await write('0002-two.sql', 'create table public.two (id integer); insert into public.two values (1)')
})
afterEach(async () => {
  await db.close()
  await drop()
  await rm(folder, { recursive: true })
})

const write = (name: string, text: string) => writeFile(join(folder, name), text)
const run = (options = {}) => migrate(db.pool, { folder, ...options })
const names = async () =>
  (await db.pool.query<{ name: string }>('select name from public.schema_migrations order by number')).rows.map(
    ({ name }) => name,
  )
const failsWith = (text: RegExp) => (error: unknown) => error instanceof MigrationError && text.test(error.message)

test('missing migrations are applied in order, once; other files are ignored', async () => {
  await write('README.md', 'no migration')
  await write('3-short.sql', 'select no_such_function()')
  assert.deepEqual(await run(), ['0001-one.sql', '0002-two.sql'])
  assert.deepEqual(await run(), [])
  await write('0003-three.sql', 'alter table public.one add column text text')
  assert.deepEqual(await run(), ['0003-three.sql'])
  assert.deepEqual(await names(), ['0001-one.sql', '0002-two.sql', '0003-three.sql'])
})

test('migrations can be applied up to a number and continued later', async () => {
  assert.deepEqual(await run({ upTo: 1 }), ['0001-one.sql'])
  assert.deepEqual(await run(), ['0002-two.sql'])
})

test('when many processes start at once, one of them applies each migration', async () => {
  const databases = Array.from({ length: 12 }, () => createDatabase({ url, connectionsMax: 1, log }))
  const applied = await Promise.all(databases.map(({ pool }) => migrate(pool, { folder })))
  await Promise.all(databases.map((one) => one.close()))
  assert.deepEqual(applied.flat().toSorted(), ['0001-one.sql', '0002-two.sql'])
  assert.equal((await db.pool.query('select from public.two')).rowCount, 1)
})

test('a migration that was changed after it was applied is refused by name', async () => {
  await run()
  await write('0001-one.sql', 'create table public.one (id bigint)')
  await assert.rejects(run(), failsWith(/0001-one\.sql was changed/))
})

test('a database with a newer migration is refused, and the error names the migration', async () => {
  await write('0003-three.sql', 'select 1')
  await run()
  await rm(join(folder, '0003-three.sql'))
  await assert.rejects(run(), failsWith(/0003-three\.sql.*newer version/))
})

test('a migration that fails half-way is rolled back, earlier ones stay, and the next run continues', async () => {
  await write('0003-three.sql', 'create table public.three (id integer); select no_such_function()')
  await assert.rejects(run(), failsWith(/0003-three\.sql failed.*no_such_function/))
  assert.deepEqual(await names(), ['0001-one.sql', '0002-two.sql'])
  await write('0003-three.sql', 'create table public.three (id integer)')
  assert.deepEqual(await run(), ['0003-three.sql'])
})

test('when a process is lost during a migration, the next one applies it completely', async () => {
  await run()
  await write('0003-three.sql', 'create table public.three (id integer); select pg_sleep(30)')
  const dying = createDatabase({ url, connectionsMax: 1, log })
  const died = assert.rejects(migrate(dying.pool, { folder }))
  const sleeping =
    'select pg_terminate_backend(pid) as ended from pg_stat_activity where wait_event = $1 and datname = current_database()'
  await until('the migration sleeps', async () => (await db.pool.query(sleeping, ['PgSleep'])).rowCount === 1)
  await died
  await dying.close()
  assert.deepEqual(await names(), ['0001-one.sql', '0002-two.sql'])
  await write('0003-three.sql', 'create table public.three (id integer)')
  assert.deepEqual(await run(), ['0003-three.sql'])
})

test('the migrations of the service are numbered without gaps and apply to an empty database', async () => {
  const own = await readMigrations()
  assert.deepEqual(
    own.map(({ number }) => number),
    own.map((_migration, index) => index + 1),
  )
  assert.equal((await migrate(db.pool)).length, own.length)
})
