/** Erasure of declared columns, and of records by their age, on a real database. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { createTestDatabase } from '../../../test/support/postgres.ts'
import { untilEnd } from '../../../test/support/fixture.ts'
import { createLog, dayMs, firstIdOf, newId, nilId } from '../kernel/index.ts'
import { createDatabase, eraseExpiredRecords, erasePersonal, type RetainedTable, sql } from './index.ts'
const database = await createTestDatabase()
const db = untilEnd(createDatabase({ url: database.url, connectionsMax: 2, log: createLog('silent') }))
await db.run(sql`create schema kept`)
await db.run(sql`create table kept.letters (partner_id uuid not null, id uuid not null, name text not null,
    note text, party jsonb, ended_at timestamptz, primary key (partner_id, id))`)
after(() => database.drop())

const start = Date.parse('2020-01-01T00:00:00Z')
let letter = 0
const personal = { table: 'kept.letters', by: 'id', erased: { name: '', note: null, party: '{}' } } as const

/** Creates letters of a new partner, a day apart, which end after this number of days. Null: not ended. */
async function letters(...ended: readonly (number | null)[]) {
  const partnerId = newId()
  const rows = ended.map((days) => ({
    id: firstIdOf(new Date(start + (letter += dayMs))),
    endedAt: days === null ? null : new Date(start + days * dayMs),
  }))
  for (const { id, endedAt } of rows)
    await db.run(sql`insert into kept.letters (partner_id, id, name, note, party, ended_at)
      values (${partnerId}, ${id}, 'Ada', 'to Ada', '{"name":"Ada"}', ${endedAt})`)
  const read = () =>
    db.rows<{ name: string; note: string | null; party: unknown }>(
      sql`select name, note, party::text as party from kept.letters where partner_id = ${partnerId} order by id`,
    )
  return { partnerId, ids: rows.map(({ id }) => id), read }
}

const whole = { name: 'Ada', note: 'to Ada', party: '{"name": "Ada"}' }
const erased = { name: '', note: null, party: '{}' }

test('an erasure clears the declared columns in rows of one partner, and does not write erased rows again', async () => {
  const [mine, other] = [await letters(1, 1), await letters(1)]
  assert.equal(await erasePersonal(db, personal, mine.partnerId, [...mine.ids.slice(1), ...other.ids]), 1)
  assert.deepEqual(await mine.read(), [whole, erased])
  assert.deepEqual(await other.read(), [whole])
  assert.equal(await erasePersonal(db, personal, mine.partnerId, mine.ids), 1)
  assert.equal(await erasePersonal(db, personal, mine.partnerId, mine.ids), 0)
  assert.equal(await erasePersonal(db, personal, mine.partnerId, []), 0)
})

const page = { afterId: nilId, beforeId: newId(), endedBefore: new Date(start + 100 * dayMs), rowsMax: 2 }
const isOver: RetainedTable['isOver'] = ({ endedBefore }) => sql`ended_at < ${endedBefore}`

test('the records of a page whose retention has ended are erased, and the page is returned in order', async () => {
  const { partnerId, ids, read } = await letters(null, 50, 50)
  const kept: RetainedTable = { table: 'kept.letters', isOver, personal: [personal] }
  const looked = await db.transaction((tx) => eraseExpiredRecords(tx, kept, { ...page, partnerId }))
  assert.deepEqual(
    looked.map((row) => [row.id, row.isOver]),
    [
      [ids[0], false],
      [ids[1], true],
    ],
  )
  assert.deepEqual(await read(), [whole, erased, whole])
})

test('a record is deleted if its table declares no columns', async () => {
  const { partnerId, read } = await letters(50, 150)
  await db.transaction((tx) => eraseExpiredRecords(tx, { table: 'kept.letters', isOver }, { ...page, partnerId }))
  assert.deepEqual(await read(), [whole])
})

test('an invalid table name in a declaration is refused', async () => {
  const bad = { ...personal, table: 'kept.letters; drop table kept.letters' }
  await assert.rejects(erasePersonal(db, bad, newId(), [newId()]), /invalid name in a declaration/)
})
