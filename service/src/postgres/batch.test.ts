/** Batches on a real database: under load, after failures, and by partner on a sharded database. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { createTestDatabase } from '../../../test/support/postgres.ts'
import { Refusal } from '../kernel/api/index.ts'
import { createLog } from '../kernel/index.ts'
import { createBatcher, createDatabase, ofPartners, sql, toStatement, type Tx, withoutTransaction } from './index.ts'

const database = await createTestDatabase()
const db = createDatabase({ url: database.url, connectionsMax: 4, log: createLog('silent') })
await db.run(sql`create table public.numbers (n integer primary key)`)
after(async () => {
  await db.close()
  await database.drop()
})

const onePartner = () => 'one partner'
const partnerOf = (call: number) => (call % 2 === 0 ? 'even' : 'odd')
const insertAll = (sizes: number[]) => async (tx: Tx, calls: readonly number[]) => {
  sizes.push(calls.length)
  await tx.run(sql`insert into public.numbers select * from unnest(${calls}::integer[])`)
  return calls.map((call) => (call < 0 ? new Refusal('not_found') : call * 2))
}
const stored = async () =>
  (await db.rows<{ n: number }>(sql`select n from public.numbers order by n`)).map(({ n }) => n)

test('waiting calls share a transaction, and each gets its own answer', async () => {
  const sizes: number[] = []
  const double = createBatcher({ db, work: insertAll(sizes), callsMax: 16, batchesMax: 1, partnerOf: onePartner })
  const answers = await Promise.all(Array.from({ length: 40 }, (_, index) => double(index + 100)))
  assert.deepEqual(
    answers,
    Array.from({ length: 40 }, (_, index) => (index + 100) * 2),
  )
  assert.deepEqual(sizes, [16, 16, 8])
  assert.equal((await stored()).filter((n) => n >= 100 && n < 140).length, 40)
})

test('a refusal rejects only its own call', async () => {
  const work = createBatcher({ db, work: insertAll([]), callsMax: 16, batchesMax: 1, partnerOf: onePartner })
  const [good, bad] = await Promise.allSettled([work(200), work(-200)])
  assert.equal(good.status, 'fulfilled')
  assert.ok(bad.status === 'rejected' && bad.reason instanceof Refusal)
})

test('a call that breaks its batch fails alone, and the other calls run exactly once', async () => {
  const sizes: number[] = []
  const work = createBatcher({ db, work: insertAll(sizes), callsMax: 16, batchesMax: 1, partnerOf: onePartner })
  await work(300)
  const outcomes = await Promise.allSettled([301, 302, 300, 303].map((n) => work(n)))
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'rejected', 'fulfilled'],
  )
  assert.deepEqual(
    (await stored()).filter((n) => n >= 300 && n < 310),
    [300, 301, 302, 303],
  )
  // Call 300 runs twice alone: the transaction that took its row may have committed in between.
  assert.deepEqual(sizes, [1, 4, 1, 1, 1, 1, 1])
})

/** Runs calls of several partners at once, one batch at a time. Returns the batches. */
async function batchesOf(calls: readonly string[], callsMax: number): Promise<readonly string[]> {
  const batches: string[] = []
  const work = createBatcher<string, string>({
    db: withoutTransaction(db),
    work: async (_tx, batch) => {
      batches.push(batch.join(' '))
      return batch
    },
    callsMax,
    batchesMax: 1,
    partnerOf: (call) => call.slice(0, 1),
  })
  assert.deepEqual(await Promise.all(calls.map((call) => work(call))), calls)
  return batches
}

test('a call does not wait for many calls of another partner, and the calls of a partner keep their order', async () => {
  const calls = ['a1', 'a2', 'a3', 'a4', 'a5', 'a6', 'a7', 'b1', 'c1', 'c2', 'c3']
  assert.deepEqual(await batchesOf(calls, 4), ['a1 a2 b1 c1', 'a3 a4 c2 c3', 'a5 a6 a7'])
})

test('partners take turns if there are more of them than a batch has calls', async () => {
  assert.deepEqual(await batchesOf(['a1', 'a2', 'b1', 'b2', 'c1', 'c2'], 2), ['a1 b1', 'a2 c1', 'b2 c2'])
})

test('on a sharded database a batch has calls of one partner, and the calls of every partner run', async () => {
  const batches: number[][] = []
  const work = createBatcher<number, number>({
    db: { ...db, sharded: true },
    work: async (_tx, calls) => {
      batches.push([...calls])
      return calls
    },
    callsMax: 2,
    batchesMax: 1,
    partnerOf,
  })
  await Promise.all([1, 2, 3, 4, 5, 6].map((n) => work(n)))
  const ofPartner = (partnerId: string) => batches.filter(([first = 0]) => partnerOf(first) === partnerId)
  assert.deepEqual(
    [ofPartner('odd'), ofPartner('even')],
    [
      [[1, 3], [5]],
      [[2, 4], [6]],
    ],
  )
})

test('on a sharded database the batches of 20 partners run at the same time', async () => {
  let running = 0
  const allRun = Promise.withResolvers<void>()
  const work = createBatcher<number, number>({
    db: withoutTransaction({ ...db, sharded: true }),
    work: async (_tx, calls) => {
      running += 1
      if (running === 20) allRun.resolve()
      // No batch ends before all have begun.
      await allRun.promise
      return calls
    },
    callsMax: 8,
    batchesMax: 1,
    partnerOf: String,
  })
  const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => work(index)))
  assert.equal(answers.length, 20)
})

test('on a sharded database at most 32 batches run at once, and waiting partners run all their calls in one batch', async () => {
  const batches: string[] = []
  let running = 0
  let most = 0
  const work = createBatcher<readonly [string, number], number>({
    db: withoutTransaction({ ...db, sharded: true }),
    work: async (_tx, calls) => {
      running += 1
      most = Math.max(most, running)
      batches.push(calls[0]?.[0] ?? '')
      await new Promise((resolve) => setImmediate(resolve))
      running -= 1
      return calls.map(([, number]) => number)
    },
    callsMax: 8,
    batchesMax: 2,
    partnerOf: ([partnerId]) => partnerId,
  })
  const calls = Array.from({ length: 300 }, (_, index) => [`partner ${index % 100}`, index] as const)
  assert.deepEqual(
    await Promise.all(calls.map((call) => work(call))),
    calls.map(([, number]) => number),
  )
  assert.equal(most, 32)
  assert.equal(new Set(batches).size, 100)
  assert.equal(batches.length, 100)
})

test('the partner condition of a batch compares with a value for one partner, and with a list for several', () => {
  assert.equal(toStatement(ofPartners(['a', 'a'])).text, 'partner_id = $1')
  assert.equal(toStatement(ofPartners(['a', 'b'])).text, 'partner_id = any($1::uuid[])')
})

test('a lock of one partner delays only the calls of that partner', async () => {
  const impatient = createDatabase({
    url: database.url,
    connectionsMax: 4,
    log: createLog('silent'),
    lockTimeoutMs: 300,
  })
  const free = Promise.withResolvers<void>()
  const locked = Promise.withResolvers<void>()
  try {
    await db.run(sql`insert into public.numbers values (401), (402)`)
    const holder = db.transaction(async (tx) => {
      await tx.rows(sql`select n from public.numbers where n = 401 for update`)
      locked.resolve()
      await free.promise
    })
    await locked.promise
    const batches: number[] = []
    const work = createBatcher<number, number>({
      db: impatient,
      work: async (tx, calls) => {
        batches.push(calls.length)
        for (const row of new Set(calls.map((call) => (call % 2 === 0 ? 402 : 401))))
          await tx.rows(sql`select n from public.numbers where n = ${row} for update`)
        return calls
      },
      callsMax: 16,
      batchesMax: 1,
      partnerOf,
    })
    const blocked = Promise.allSettled([1, 3, 5, 7].map((call) => work(call)))
    assert.deepEqual(await Promise.all([2, 4].map((call) => work(call))), [2, 4])
    const late = Promise.allSettled([9, 11].map((call) => work(call)))
    assert.equal(await work(6), 6, 'other batches run while the partner waits for its lock')
    assert.deepEqual(batches, [6, 4, 2, 1])
    assert.deepEqual(
      (await blocked).map(({ status }) => status),
      ['rejected', 'rejected', 'rejected', 'rejected'],
    )
    free.resolve()
    await holder
    assert.deepEqual(
      (await late).map(({ status }) => status),
      ['fulfilled', 'fulfilled'],
    )
    assert.deepEqual(batches, [6, 4, 2, 1, 2], 'one batch waits for the lock for all calls of the partner')
  } finally {
    free.resolve()
    await impatient.close()
  }
})

test('a batch reads while the previous batch writes, and batches that await earlier ones write in order', async () => {
  const seen: string[] = []
  const first = Promise.withResolvers<void>()
  const work = createBatcher<number, number, number>({
    db,
    read: async (tx, calls) => {
      seen.push(`read ${calls.join()}`)
      if (calls[0] === 2) first.resolve()
      return (await tx.rows(sql`select n from public.numbers where n = any(${calls}::integer[])`)).length
    },
    work: async (tx, calls, found, position) => {
      await position?.earlierEnded
      // The first batch ends only after the second has read, so that the two must run at the same time.
      if (calls[0] === 1) await first.promise
      seen.push(`write ${calls.join()}`)
      tx.later(sql`insert into public.numbers select 1400 + n from unnest(${calls}::integer[]) as n`)
      return calls.map(() => found)
    },
    callsMax: 1,
    batchesMax: 2,
    partnerOf: onePartner,
  })
  assert.deepEqual(await Promise.all([work(1), work(2), work(3)]), [0, 0, 0])
  assert.deepEqual(
    seen.filter((what) => what.startsWith('write')),
    ['write 1', 'write 2', 'write 3'],
  )
  assert.deepEqual(seen.slice(0, 2), ['read 1', 'read 2'])
})

test('a failed deferred write rolls back its batch, and the other calls are retried', async () => {
  const work = createBatcher({
    db,
    work: async (tx: Tx, calls: readonly number[]) => {
      tx.later(sql`insert into public.numbers select * from unnest(${calls}::integer[])`)
      return calls.map(() => 'written')
    },
    callsMax: 8,
    batchesMax: 1,
    partnerOf: onePartner,
  })
  await work(500)
  const outcomes = await Promise.allSettled([501, 500, 502].map((n) => work(n)))
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
  assert.deepEqual(
    (await stored()).filter((n) => n >= 500 && n < 510),
    [500, 501, 502],
  )
})

test('without a transaction each statement of a batch commits separately', async () => {
  const work = createBatcher<number, number>({
    db: withoutTransaction(db),
    work: async (tx, calls) => {
      await tx.run(sql`insert into public.numbers select * from unnest(${calls}::integer[])`)
      if (calls.includes(601)) throw new Error('after the first statement')
      return calls
    },
    callsMax: 8,
    batchesMax: 1,
    partnerOf: onePartner,
  })
  assert.equal(await work(600), 600)
  await assert.rejects(work(601), /after the first statement/)
  assert.deepEqual(
    (await stored()).filter((n) => n >= 600 && n < 610),
    [600, 601],
  )
})
