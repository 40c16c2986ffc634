/** The rows of a batch, sent to PostgreSQL and read back. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createTestDatabase, type TestDatabase } from '../../../test/support/postgres.ts'
import { createLog } from '../kernel/index.ts'
import { createDatabase, type Database } from './database.ts'
import { givenBy } from './given.ts'
import { toStatement } from './sql.ts'

type TestRow = {
  readonly partnerId: string
  readonly id: string
  readonly amount: bigint
  readonly tries: number
  readonly note: string | null
  readonly at: Date
  readonly json: string | null
  readonly steps: string
}

const given = givenBy<TestRow>(
  {
    partnerId: 'uuid',
    id: 'uuid',
    amount: 'bigint',
    tries: 'integer',
    note: 'text',
    at: 'timestamptz',
    json: 'json',
    steps: 'jsonb',
  },
  [['partnerId', 'at'], ['note'], ['json', 'steps']],
)

let database: TestDatabase
let db: Database
before(async () => {
  database = await createTestDatabase()
  db = createDatabase({ url: database.url, connectionsMax: 2, log: createLog('silent') })
})
after(async () => {
  await db.close()
  await database.drop()
})

const id = (last: number) => `00000000-0000-4000-8000-${String(last).padStart(12, '0')}`
const at = new Date('2026-01-01T00:00:00.123Z')
/** `JSON.stringify` escapes every control character, the separator too. */
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

test('each group is sent once when all rows agree on it', () => {
  const sentFor = (rows: readonly TestRow[]) => toStatement(given(rows)).values
  assert.deepEqual(sentFor([row(1), row(2)]).slice(0, 2), [id(0), null])
  assert.deepEqual(sentFor([row(1), row(2, { partnerId: id(9) })]).slice(0, 3), [null, nasty, '[{"a": "\\u001f"}]'])
  const other = row(2, { partnerId: id(9), note: '', json: '1' })
  assert.deepEqual(sentFor([row(1), other])[0], [id(0), id(9)])
  assert.equal(toStatement(given([row(1), row(2)])).text, toStatement(given([row(3), row(4), row(5)])).text)
})
