import assert from 'node:assert/strict'
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import { createEmptyDatabase } from '../../../test/support/empty.ts'
import { until } from '../../../test/support/until.ts'
import { createLog } from '../kernel/index.ts'
import { createDatabase, type Database } from './database.ts'
import { createSchemaCheck, migrate, MigrationError, readMigrations, requireMigrated, statementsOf } from './migrate.ts'

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

test('missing migrations are applied in order and exactly once, and other files are ignored', async () => {
  await write('README.md', 'no migration')
  await write('3-short.sql', 'select no_such_function()')
  assert.deepEqual(await run(), ['0001-one.sql', '0002-two.sql'])
  assert.deepEqual(await run(), [])
  await write('0003-three.sql', 'alter table public.one add column text text')
  assert.deepEqual(await run(), ['0003-three.sql'])
  assert.deepEqual(await names(), ['0001-one.sql', '0002-two.sql', '0003-three.sql'])
})

test('migrations can be applied up to a number, and the rest later', async () => {
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

test('a migration that was changed after it was applied is refused, with its name', async () => {
  await run()
  await write('0001-one.sql', 'create table public.one (id bigint)')
  await assert.rejects(run(), failsWith(/0001-one\.sql was changed/))
})

test('a version starts on a newer database until a contract migration, which the error states, is applied', async () => {
  await write('0003-three.sql', 'select 1')
  await write('0004-contract-four.sql', 'drop table public.one')
  const startsEarlier = async () => {
    const earlier = join(folder, 'earlier')
    await mkdir(earlier, { recursive: true })
    for (const name of ['0001-one.sql', '0002-two.sql']) await copyFile(join(folder, name), join(earlier, name))
    assert.deepEqual(await run({ folder: earlier }), [])
    await requireMigrated(db.pool, earlier)
  }
  await run({ contract: false })
  await startsEarlier()
  await run()
  await assert.rejects(startsEarlier(), failsWith(/0004-contract-four\.sql.*newer version/))
})

test('a migration that fails half-way is rolled back, earlier migrations are kept, and the next run continues', async () => {
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

test('the migrations of the service are in ascending order and apply to an empty database', async () => {
  const own = await readMigrations()
  const numbers = own.map(({ number }) => number)
  assert.deepEqual(
    numbers,
    [...new Set(numbers)].toSorted((a, b) => a - b),
  )
  assert.equal((await migrate(db.pool)).length, own.length)
})

test('a migration that waits for a lock does not block other transactions, and is retried', async () => {
  await run()
  await write('0003-three.sql', 'alter table public.one add column text text')
  const holder = await db.pool.connect()
  await holder.query('begin; select * from public.one')
  const migrating = run({ lockTimeoutMs: 50, retryPauseMs: 20 })
  const waiting = "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
  const waits = async () => ((await db.pool.query(waiting)).rowCount ?? 0) > 0
  await until('the migration waits for the lock', waits)
  await until('it gives way', async () => !(await waits()))
  await until('it waits again', waits)
  await holder.query('commit')
  holder.release()
  assert.deepEqual(await migrating, ['0003-three.sql'])
  await write('0004-four.sql', 'drop table public.two')
  const other = await db.pool.connect()
  await other.query('begin; select * from public.two')
  await assert.rejects(
    run({ lockTimeoutMs: 10, retryPauseMs: 1, triesMax: 3 }),
    failsWith(/0004-four\.sql failed.*lock/),
  )
  await other.query('commit')
  other.release()
})

test('contract migrations are applied only on request, and no role requires them', async () => {
  await write('0003-contract-two.sql', 'drop table public.two')
  await write('0004-four.sql', 'create table public.four (id integer)')
  assert.deepEqual(await run({ contract: false }), ['0001-one.sql', '0002-two.sql', '0004-four.sql'])
  assert.deepEqual(await createSchemaCheck(db.pool, folder)(), { version: 4, problem: undefined })
  await requireMigrated(db.pool, folder)
  assert.deepEqual(await run(), ['0003-contract-two.sql'])
  await write('0005-five.sql', 'create table public.five (id integer)')
  assert.deepEqual(await createSchemaCheck(db.pool, folder)(), {
    version: 4,
    problem: 'the database lacks migration 0005-five.sql',
  })
})

test('the text of a migration is split into its statements', () => {
  const text = `-- one; two
    create table a (b text default 'x;''y'); select "c;d" from e; -- last
    create function f() returns void language plpgsql as $$ begin select 1; -- in
    end $$;`
  assert.deepEqual(
    statementsOf(text).map((statement) => statement.replaceAll(/\s+/g, ' ')),
    [
      "create table a (b text default 'x;''y')",
      'select "c;d" from e',
      'create function f() returns void language plpgsql as $$ begin select 1; -- in end $$',
    ],
  )
})
