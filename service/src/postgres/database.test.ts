import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createTestDatabase } from '../../../test/support/postgres.ts'
import { Refusal, Unreachable } from '../api/index.ts'
import { createLog } from '../kernel/index.ts'
import { createDatabase, type Database } from './database.ts'
import { sqlState, stateOf } from './errors.ts'
import { sql } from './sql.ts'
import type { Tx } from './tx.ts'

const log = createLog('silent')
let url: string
let drop: () => Promise<void>
let db: Database
before(async () => {
  ;({ url, drop } = await createTestDatabase())
  db = createDatabase({ url, connectionsMax: 4, log, lockTimeoutMs: 500 })
  await db.pool.query('create table public.things (id integer primary key, text text)')
})
after(async () => {
  await db.close()
  await drop()
})

const count = async () => (await db.row<{ count: bigint }>(sql`select count(*) as count from public.things`))?.count

test('rows come back camelCased; int8 as bigint, times as Date in UTC, json and dates as text', async () => {
  const row = await db.row(sql`
    select 9007199254740993::bigint as big_one, '2026-01-01T00:00:00.123Z'::timestamptz as at_time,
      '{"amount":1.10}'::json as some_json, '{"a": 1.10}'::jsonb as other_json, '2026-02-03'::date as a_day,
      array[1, 9007199254740993]::bigint[] as many_big, null::text as none`)
  assert.deepEqual(row, {
    bigOne: 9007199254740993n,
    atTime: new Date('2026-01-01T00:00:00.123Z'),
    someJson: '{"amount":1.10}',
    otherJson: '{"a": 1.10}',
    aDay: '2026-02-03',
    manyBig: [1n, 9007199254740993n],
    none: null,
  })
  assert.equal(await db.row(sql`select 1 as one where false`), undefined)
  assert.deepEqual(await db.rows(sql`select 1 as one where false`), [])
})

test('what throws rolls back, and its error comes through as it was', async () => {
  const refusal = new Refusal('not_found')
  const failing = db.transaction(async (tx) => {
    assert.equal(await tx.run(sql`insert into public.things values (1, 'a'), (2, 'b')`), 2)
    throw refusal
  })
  await assert.rejects(failing, (error) => error === refusal)
  assert.equal(await count(), 0n)
})

test('what is set for a transaction is set for that one alone', async () => {
  const settings = sql`select current_setting('enable_seqscan') as scans, current_setting('lock_timeout') as waits,
    current_setting('plan_cache_mode') as plans`
  const single = createDatabase({ url, connectionsMax: 1, log, lockTimeoutMs: 500 })
  const within = await single.transaction((tx) => tx.row(settings), {
    byIndex: true,
    planOnce: true,
    lockTimeoutMs: 70,
  })
  const behind = await single.transaction((tx) => tx.row(settings))
  await single.close()
  assert.deepEqual(
    [within, behind],
    [
      { scans: 'off', waits: '70ms', plans: 'force_generic_plan' },
      { scans: 'on', waits: '500ms', plans: 'auto' },
    ],
  )
})

test('what travels with begin is within the transaction: it goes back with it', async () => {
  const insert = (tx: Tx) => tx.run(sql`insert into public.things values (5, 'e')`)
  const failing = db.transaction(
    (_tx, inserted) => {
      assert.equal(inserted, 1)
      return Promise.reject(new Refusal('not_found'))
    },
    { before: insert },
  )
  await assert.rejects(failing, Refusal)
  assert.equal(await count(), 0n)
})

test('where begin fails and what travels with it does not, the outcome is unknown: it is not said to have failed', async () => {
  const insert = (tx: Tx) => tx.run(sql`insert into public.things values (6, 'f')`)
  // The server understands nothing of it, and so begins nothing.
  const lockTimeoutMs = '; no such words' as unknown as number
  const unreached = () => assert.fail('work needs a transaction')
  await assert.rejects(db.transaction(unreached, { lockTimeoutMs, before: insert }), Unreachable)
  await assert.rejects(
    db.transaction(unreached, { lockTimeoutMs }),
    (error) => stateOf(error) !== undefined && !(error instanceof Unreachable),
  )
  assert.equal(await count(), 1n)
  await db.run(sql`delete from public.things`)
})

test('a transaction is alone until it commits', async () => {
  await db.transaction(async (tx) => {
    await tx.run(sql`insert into public.things values (3, 'c')`)
    assert.equal(await count(), 0n)
  })
  assert.equal(await count(), 1n)
  await db.run(sql`delete from public.things`)
})

test('the victim of a deadlock is tried again: both come through', async () => {
  await db.run(sql`insert into public.things values (1, ''), (2, '')`)
  // The server looks for deadlocks after a second, unless it is told otherwise before the connection is made.
  const name = new URL(url).pathname.slice(1)
  await db.pool.query(`alter role current_user in database ${name} set deadlock_timeout = '20ms'`)
  const crossed = createDatabase({ url, connectionsMax: 2, log })
  const meeting = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()] as const
  let tries = 0
  const crossing = (mine: 0 | 1) =>
    crossed.transaction(async (tx) => {
      tries += 1
      const ids = mine === 0 ? [1, 2] : [2, 1]
      await tx.run(sql`update public.things set text = text || 'x' where id = ${ids[0]}`)
      meeting[mine].resolve(undefined)
      await meeting[mine === 0 ? 1 : 0].promise
      await tx.run(sql`update public.things set text = text || 'x' where id = ${ids[1]}`)
    })
  await Promise.all([crossing(0), crossing(1)])
  await crossed.close()
  assert.equal(tries, 3)
  const texts = await db.rows<{ text: string }>(sql`select text from public.things`)
  assert.deepEqual(new Set(texts.map(({ text }) => text)), new Set(['xx']))
  await db.run(sql`delete from public.things`)
})

test('a lock that does not come in time is an error of its own, and the connection lives on', async () => {
  await db.run(sql`insert into public.things values (1, '')`)
  await db.transaction(async (tx) => {
    await tx.run(sql`select from public.things for update`)
    await assert.rejects(
      db.transaction((other) => other.run(sql`delete from public.things`)),
      (error) => stateOf(error) === sqlState.lockNotAvailable,
    )
  })
  await db.run(sql`delete from public.things`)
})

test('a connection that dies under a transaction is Unreachable, and the pool goes on', async () => {
  const dying = db.transaction(async (tx) => {
    await tx.run(sql`insert into public.things values (7, '')`)
    const self = await tx.row<{ pid: number }>(sql`select pg_backend_pid() as pid`)
    await db.run(sql`select pg_terminate_backend(${self?.pid})`)
    await tx.run(sql`insert into public.things values (8, '')`)
  })
  await assert.rejects(dying, Unreachable)
  assert.equal(await count(), 0n)
})

test('a server that is not there is Unreachable', async () => {
  const away = Object.assign(new URL(url), { port: '1', hostname: '127.0.0.1' }).href
  const gone = createDatabase({ url: away, connectionsMax: 1, log })
  await assert.rejects(gone.run(sql`select 1`), Unreachable)
  await assert.rejects(
    gone.transaction((tx) => tx.run(sql`select 1`)),
    Unreachable,
  )
  await gone.close()
})

test('a statement that does not end in time is a time-out', async () => {
  const hasty = createDatabase({ url, connectionsMax: 1, log, queryTimeoutMs: 50 })
  await assert.rejects(
    hasty.run(sql`select pg_sleep(5)`),
    (error) => error instanceof Unreachable && error.code === 'downstream_timeout',
  )
  await hasty.close()
})
