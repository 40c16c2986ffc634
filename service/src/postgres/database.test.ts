import assert from 'node:assert/strict'
import { after, mock, test } from 'node:test'
import { createTestDatabase } from '../../../test/support/postgres.ts'
import { untilEnd } from '../../../test/support/fixture.ts'
import { Refusal, Unreachable } from '../kernel/api/index.ts'
import { AssertionFailure, createLog } from '../kernel/index.ts'
import { createDatabase } from './database.ts'
import { sqlState, sqlStateOf } from './errors.ts'
import { sql } from './sql.ts'
import type { Tx } from './tx.ts'

const log = createLog('silent')
const { url, drop } = await createTestDatabase()
const db = untilEnd(createDatabase({ url, connectionsMax: 4, log, lockTimeoutMs: 500 }))
await db.pool.query('create table public.things (id integer primary key, text text)')
after(() => drop())

const count = async () => (await db.row<{ count: bigint }>(sql`select count(*) as count from public.things`))?.count

test('rows have camelCase names; int8 is a bigint, a time a Date in UTC, json and dates are text', async () => {
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

test('work that throws is rolled back, and the caller gets its error unchanged', async () => {
  const refusal = new Refusal('not_found')
  const failing = db.transaction(async (tx) => {
    assert.equal(await tx.run(sql`insert into public.things values (1, 'a'), (2, 'b')`), 2)
    throw refusal
  })
  await assert.rejects(failing, (error) => error === refusal)
  assert.equal(await count(), 0n)
})

test('on a sharded database each transaction sends its lock timeout to the shards and ignores planOnce', async () => {
  const settings = sql`select current_setting('citus.propagate_set_commands') as propagated,
    current_setting('lock_timeout') as waits, current_setting('plan_cache_mode') as plans`
  const sharded = createDatabase({ url, connectionsMax: 1, log, lockTimeoutMs: 500, sharded: true })
  const read = (tx: Tx) => tx.row(settings)
  assert.deepEqual(
    [await sharded.transaction(read, { planOnce: true }), await sharded.transaction(read, { lockTimeoutMs: 70 })],
    [
      { propagated: 'local', waits: '500ms', plans: 'auto' },
      { propagated: 'local', waits: '70ms', plans: 'auto' },
    ],
  )
  await sharded.close()
})

test('the settings of a transaction apply only to that transaction', async () => {
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

test('statements that are sent with begin are part of the transaction and are rolled back with it', async () => {
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

test('if begin fails but the write sent with it succeeds, the outcome is reported as unknown', async () => {
  const insert = (tx: Tx) => tx.run(sql`insert into public.things values (6, 'f')`)
  // A syntax error, so that the server does not begin a transaction.
  const lockTimeoutMs = '; no such words' as unknown as number
  const unreached = () => assert.fail('work needs a transaction')
  await assert.rejects(db.transaction(unreached, { lockTimeoutMs, before: insert }), Unreachable)
  await assert.rejects(
    db.transaction(unreached, { lockTimeoutMs }),
    (error) => sqlStateOf(error) !== undefined && !(error instanceof Unreachable),
  )
  assert.equal(await count(), 1n)
  await db.run(sql`delete from public.things`)
})

test('other connections see the writes of a transaction only after its commit', async () => {
  await db.transaction(async (tx) => {
    await tx.run(sql`insert into public.things values (3, 'c')`)
    assert.equal(await count(), 0n)
  })
  assert.equal(await count(), 1n)
  await db.run(sql`delete from public.things`)
})

test('the victim of a deadlock is retried, and both transactions commit', async () => {
  await db.run(sql`insert into public.things values (1, ''), (2, '')`)
  // The server looks for deadlocks after one second. The setting applies to new connections.
  const name = new URL(url).pathname.slice(1)
  await db.pool.query(`alter role current_user in database ${name} set deadlock_timeout = '20ms'`)
  const crossed = createDatabase({ url, connectionsMax: 2, log })
  const bothHold = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const
  const oneCommitted = Promise.withResolvers<void>()
  let tries = 0
  const update = async (mine: 0 | 1, ids: readonly [number, number]) => {
    let isRetry = false
    await crossed.transaction(async (tx) => {
      tries += 1
      // Otherwise the retry could lock its first row before the other transaction wakes up, and deadlock again.
      if (isRetry) await oneCommitted.promise
      isRetry = true
      await tx.run(sql`update public.things set text = text || 'x' where id = ${ids[0]}`)
      bothHold[mine].resolve()
      await Promise.all(bothHold.map(({ promise }) => promise))
      await tx.run(sql`update public.things set text = text || 'x' where id = ${ids[1]}`)
    })
    oneCommitted.resolve()
  }
  await Promise.all([update(0, [1, 2]), update(1, [2, 1])])
  await crossed.close()
  assert.equal(tries, 3)
  const texts = await db.rows<{ text: string }>(sql`select text from public.things`)
  assert.deepEqual(new Set(texts.map(({ text }) => text)), new Set(['xx']))
  await db.run(sql`delete from public.things`)
})

test('a lock timeout has its own SQLSTATE, and the connection remains usable', async () => {
  await db.run(sql`insert into public.things values (1, '')`)
  await db.transaction(async (tx) => {
    await tx.run(sql`select from public.things for update`)
    await assert.rejects(
      db.transaction((other) => other.run(sql`delete from public.things`)),
      (error) => sqlStateOf(error) === sqlState.lockNotAvailable,
    )
  })
  await db.run(sql`delete from public.things`)
})

test('a connection that is lost within a transaction is Unreachable, and the pool remains usable', async () => {
  const dying = db.transaction(async (tx) => {
    await tx.run(sql`insert into public.things values (7, '')`)
    const self = await tx.row<{ pid: number }>(sql`select pg_backend_pid() as pid`)
    await db.run(sql`select pg_terminate_backend(${self?.pid})`)
    await tx.run(sql`insert into public.things values (8, '')`)
  })
  await assert.rejects(dying, Unreachable)
  assert.equal(await count(), 0n)
})

test('a server that does not listen is Unreachable', async () => {
  const away = Object.assign(new URL(url), { port: '1', hostname: '127.0.0.1' }).href
  const gone = createDatabase({ url: away, connectionsMax: 1, log })
  await assert.rejects(gone.run(sql`select 1`), Unreachable)
  await assert.rejects(
    gone.transaction((tx) => tx.run(sql`select 1`)),
    Unreachable,
  )
  await gone.close()
})

test('a statement that exceeds its time limit is a downstream_timeout', async () => {
  const hasty = createDatabase({ url, connectionsMax: 1, log, queryTimeoutMs: 50 })
  await assert.rejects(
    hasty.run(sql`select pg_sleep(5)`),
    (error) => error instanceof Unreachable && error.code === 'downstream_timeout',
  )
  await hasty.close()
})

test('a callback after a commit runs exactly once, and not after a rollback', async () => {
  const calls: string[] = []
  const hint = () => void calls.push('hint')
  await db.transaction(async (tx) => {
    tx.later(sql`insert into public.things values (9, 'i')`)
    tx.afterCommit(hint)
    tx.afterCommit(hint)
    await tx.row(sql`select 1 as one`)
    assert.deepEqual(calls, [])
  })
  assert.deepEqual([calls, await count()], [['hint'], 1n])
  const failing = db.transaction((tx) => {
    tx.afterCommit(hint)
    return Promise.reject(new Refusal('not_found'))
  })
  await assert.rejects(failing, Refusal)
  assert.deepEqual(calls, ['hint'])
  await db.run(sql`delete from public.things`)
})

test('a hint that throws does not fail the committed transaction', async () => {
  const committed = await db.transaction(async (tx) => {
    tx.afterCommit(() => {
      throw new Error('no listener')
    })
    return tx.run(sql`insert into public.things values (10, 'j')`)
  })
  assert.deepEqual([committed, await count()], [1, 1n])
  await db.run(sql`delete from public.things`)
})

test('a queued write that affects an unexpected number of rows rolls the transaction back', async () => {
  const change = (tx: Tx, rowsExpected: number) =>
    tx.later(sql`update public.things set text = 'changed' where id = 12`, rowsExpected)
  await db.run(sql`insert into public.things values (12, 'l')`)
  for (const rowsExpected of [0, 2]) {
    // Still queued when the work ends, and already sent.
    for (const work of [async () => undefined, (tx: Tx) => tx.row(sql`select 1 as one`)])
      await assert.rejects(
        db.transaction(async (tx) => {
          change(tx, rowsExpected)
          await work(tx)
        }),
        AssertionFailure,
      )
  }
  const text = async () => (await db.row<{ text: string }>(sql`select text from public.things where id = 12`))?.text
  assert.equal(await text(), 'l')
  await db.transaction(async (tx) => change(tx, 1))
  assert.equal(await text(), 'changed')
  await db.run(sql`delete from public.things`)
})

test('a write that fails before one with an expected number of rows is reported as the cause', async () => {
  const failing = db.transaction(async (tx) => {
    tx.later(sql`insert into public.things values (null)`)
    tx.later(sql`delete from public.things where id = 12`, 0)
  })
  await assert.rejects(failing, (error) => sqlStateOf(error) === '23502')
})

test('queued writes and hints are refused outside a transaction', () => {
  assert.throws(() => db.later(sql`select 1`), AssertionFailure)
  assert.throws(() => db.afterCommit(() => undefined), AssertionFailure)
})

test('queued writes and the commit are one write to the socket, as are begin and the statements sent with it', async () => {
  const single = createDatabase({ url, connectionsMax: 1, log })
  const client = await single.pool.connect()
  const { stream } = client.connection
  // A stream calls it for a single chunk; corked chunks are written by `_writev`.
  const writeOne = mock.method(stream, '_write')
  client.release()
  await single.transaction(
    async (tx) => {
      tx.later(sql`insert into public.things values (11, 'k')`)
      tx.later(sql`delete from public.things where id = 11`)
    },
    { before: (tx) => tx.row(sql`select 2 as two`) },
  )
  assert.equal(writeOne.mock.callCount(), 0)
  await single.close()
})
