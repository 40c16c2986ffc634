/** The batcher on a real database: together under load, alone in failure, apart by partner where that is asked. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { createTestDatabase } from '../../../test/support/postgres.ts'
import { createLog, Refusal } from '../kernel/index.ts'
import { createBatcher, createDatabase, ofPartners, sql, toStatement, type Tx } from './index.ts'

const database = await createTestDatabase()
const db = createDatabase({ url: database.url, connectionsMax: 4, log: createLog('silent') })
await db.run(sql`create table public.numbers (n integer primary key)`)
after(async () => {
  await db.close()
  await database.drop()
})

const insertAll = (sizes: number[]) => async (tx: Tx, calls: readonly number[]) => {
  sizes.push(calls.length)
  await tx.run(sql`insert into public.numbers select * from unnest(${calls}::integer[])`)
  return calls.map((call) => (call < 0 ? new Refusal('not_found') : call * 2))
}
const stored = async () =>
  (await db.rows<{ n: number }>(sql`select n from public.numbers order by n`)).map(({ n }) => n)

test('calls that wait share a transaction, and each gets its own answer', async () => {
  const sizes: number[] = []
  const double = createBatcher({ db, work: insertAll(sizes), callsMax: 16, batchesMax: 1 })
  const answers = await Promise.all(Array.from({ length: 40 }, (_, index) => double(index + 100)))
  assert.deepEqual(
    answers,
    Array.from({ length: 40 }, (_, index) => (index + 100) * 2),
  )
  assert.deepEqual(sizes, [16, 16, 8])
  assert.equal((await stored()).filter((n) => n >= 100 && n < 140).length, 40)
})

test('a refusal is the answer of its call alone', async () => {
  const work = createBatcher({ db, work: insertAll([]), callsMax: 16, batchesMax: 1 })
  const [good, bad] = await Promise.allSettled([work(200), work(-200)])
  assert.equal(good.status, 'fulfilled')
  assert.ok(bad.status === 'rejected' && bad.reason instanceof Refusal)
})

test('a poisoned call fails alone: the rest of its batch is carried out, once', async () => {
  const sizes: number[] = []
  const work = createBatcher({ db, work: insertAll(sizes), callsMax: 16, batchesMax: 1 })
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
  assert.deepEqual(sizes, [1, 4, 1, 1, 1, 1])
})

test('where partners are told apart, a batch is of one, and everybody has a turn', async () => {
  const batches: number[][] = []
  const work = createBatcher<number, number>({
    db,
    work: async (_tx, calls) => {
      batches.push([...calls])
      return calls
    },
    callsMax: 2,
    batchesMax: 1,
    partnerOf: (call) => (call % 2 === 0 ? 'even' : 'odd'),
  })
  await Promise.all([1, 2, 3, 4, 5, 6].map((n) => work(n)))
  assert.deepEqual(batches, [[1, 3], [2, 4], [5], [6]])
})

test('a batch of one partner names it as a value, of several as a list', () => {
  assert.equal(toStatement(ofPartners(['a', 'a'])).text, 'partner_id = $1')
  assert.equal(toStatement(ofPartners(['a', 'b'])).text, 'partner_id = any($1::uuid[])')
})
