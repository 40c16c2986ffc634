/** The rows of a batch are sent to PostgreSQL and read back. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { createTestDatabase } from '../../../test/support/postgres.ts'
import { untilEnd } from '../../../test/support/fixture.ts'
import { createLog } from '../kernel/index.ts'
import { createDatabase } from './database.ts'
import { unnestSource, insertBy, type RowOf, rowPlaceholder, rowsPerInsertMax } from './given.ts'
import { sql, toStatement } from './sql.ts'

const rowTypes = {
  partnerId: 'uuid',
  id: 'uuid',
  amount: 'bigint',
  tries: 'integer',
  note: 'text?',
  at: 'timestamptz',
  json: 'json?',
  steps: 'jsonb',
} as const
type TestRow = RowOf<typeof rowTypes>

const given = unnestSource<TestRow>(rowTypes, [['partnerId', 'at'], ['note'], ['json', 'steps']])
const database = await createTestDatabase()
const db = untilEnd(createDatabase({ url: database.url, connectionsMax: 1, log: createLog('silent') }))
after(() => database.drop())

const id = (last: number) => `00000000-0000-4000-8000-${String(last).padStart(12, '0')}`
const at = new Date('2026-01-01T00:00:00.123Z')
/** `JSON.stringify` escapes every control character, including the separator. */
const nasty = JSON.stringify({ text: '"\\,{}\u001e\n\u2028NULL' })
const row = (last: number, more: Partial<TestRow> = {}): TestRow => ({
  partnerId: id(0),
  id: id(last),
  amount: 9_007_199_254_740_993n,
  tries: 3,
  note: null,
  at,
  json: nasty,
  steps: '[{"a": "\\u001f"}]',
  ...more,
})

const cases: Readonly<Record<string, readonly TestRow[]>> = {
  'one row': [row(1)],
  'one row with nulls': [row(1, { json: null })],
  'rows that share every group': [row(1), row(2), row(3)],
  'rows that share no group': [
    row(1),
    row(2, { partnerId: id(9), at: new Date(0), note: '', json: null, steps: '[]' }),
    row(3, { note: 'NULL', json: '"x"' }),
  ],
  'null in the first and last row': [row(1, { json: null }), row(2, { json: '{}' }), row(3, { json: null })],
  'one column of a group differs': [row(1), row(2, { at: new Date(1) })],
  'equal times in two Date objects': [row(1), row(2, { at: new Date(at) })],
}

for (const [what, rows] of Object.entries(cases))
  test(`${what}: PostgreSQL returns each row unchanged`, async () => {
    assert.deepEqual(await db.rows(given(rows)), rows)
  })

test('a group of columns is sent once if its values are equal in all rows', () => {
  const sentFor = (rows: readonly TestRow[]) => toStatement(given(rows)).values
  assert.deepEqual(sentFor([row(1), row(2)]).slice(0, 2), [id(0), null])
  assert.deepEqual(sentFor([row(1), row(2, { partnerId: id(9) })]).slice(0, 3), [null, nasty, '[{"a": "\\u001f"}]'])
  const other = row(2, { partnerId: id(9), note: '', json: '1' })
  assert.deepEqual(sentFor([row(1), other])[0], [id(0), id(9)])
  assert.equal(toStatement(given([row(1), row(2)])).text, toStatement(given([row(3), row(4), row(5)])).text)
})

const types = { partnerId: 'uuid', id: 'uuid', note: 'text', at: 'timestamptz', steps: 'jsonb' } as const
type InsertedRow = Pick<TestRow, 'partnerId' | 'id' | 'note' | 'at' | 'steps'>
const inserted = insertBy<InsertedRow>(types, [['partnerId', 'at']], ['id'])

for (const sharded of [false, true])
  test(`rows are inserted in their order, ${sharded ? 'as values on a sharded database' : 'from arrays'}`, async () => {
    await db.run(sql`create temporary table target (partner_id uuid, id uuid primary key, note text, at timestamptz,
      steps jsonb, place integer generated always as identity)`)
    const rows = [3, 1, 2].map((last) => row(last, { note: last === 2 ? null : "it's" }))
    const insert = (some: readonly InsertedRow[]) =>
      db.rows<{ readonly id: string }>(sql`
        insert into target (partner_id, id, note, at, steps) ${inserted({ sharded }, some)}
        on conflict (id) do nothing returning id`)
    assert.deepEqual(
      (await insert(rows)).map((found) => found.id),
      [1, 2, 3].map(id),
    )
    assert.equal((await insert([row(1), row(4)])).length, 1)
    const stored = await db.rows<InsertedRow>(sql`select partner_id, id, note, at, steps from target order by place`)
    assert.deepEqual(
      stored.slice(0, 3),
      rows
        .map(({ partnerId, id: own, note, at: moment, steps }) => ({ partnerId, id: own, note, at: moment, steps }))
        .toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    )
    await db.run(sql`drop table target`)
  })

const marking = insertBy<InsertedRow>(types, [['partnerId', 'at'], ['steps']], ['id'], { steps: 'id' })
const marked = JSON.stringify([{ record: rowPlaceholder }])

for (const sharded of [false, true])
  test(`a placeholder is replaced by a column of its row, ${sharded ? 'in values' : 'from arrays'}`, async () => {
    for (const others of [marked, JSON.stringify([{ record: 'own' }])]) {
      const rows = [row(1, { steps: marked }), row(2, { steps: others })]
      const found = await db.rows<{ readonly steps: string }>(
        sql`select steps from (${marking({ sharded }, rows)}) as rows (partner_id, id, note, at, steps) order by id`,
      )
      const expected = [id(1), others === marked ? id(2) : 'own'].map((record) => [{ record }])
      assert.deepEqual(
        found.map(({ steps }): unknown => JSON.parse(steps)),
        expected,
      )
    }
  })

test('a text with placeholders is sent only once if it is equal in all rows', () => {
  const rows = [row(1, { steps: marked }), row(2, { steps: marked })]
  const { values } = toStatement(marking({ sharded: false }, rows))
  assert.equal(values.filter((value) => value === marked).length, 1)
})

test('an insert on a sharded database lists every row, and is not prepared', () => {
  const { name, text } = toStatement(sql`insert into target ${inserted({ sharded: true }, [row(1), row(2)])}`)
  const values = '::uuid, $2::uuid, $3::text, $4::timestamptz, $5::jsonb'
  assert.ok(text.startsWith(`insert into target values ($1${values}), ($6`), text)
  assert.equal(name, '')
  assert.equal(rowsPerInsertMax(types), 13_107)
})
