/** What an `insert` selects from the rows of a batch, read back from PostgreSQL. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createTestDatabase, type TestDatabase } from '../../../test/support/postgres.ts'
import { createLog } from '../kernel/index.ts'
import { createDatabase, type Database } from './database.ts'
import { givenBy } from './given.ts'
import { toStatement } from './sql.ts'

type Thing = {
  readonly partnerId: string
  readonly id: string
  readonly amount: bigint
  readonly tries: number
  readonly note: string | null
  readonly at: Date
  readonly told: string | null
  readonly steps: string
}

const given = givenBy<Thing>(
  {
    partnerId: 'uuid',
    id: 'uuid',
    amount: 'bigint',
    tries: 'integer',
    note: 'text',
    at: 'timestamptz',
    told: 'json',
    steps: 'jsonb',
  },
  [['partnerId', 'at'], ['note'], ['told', 'steps']],
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
/** As `JSON.stringify` writes it: every control character escaped, the separator too. */
const nasty = JSON.stringify({ text: '"\\,{}\u001e\n\u2028NULL' })
const thing = (last: number, more: Partial<Thing> = {}): Thing => ({
  partnerId: id(0),
  id: id(last),
  amount: 9_007_199_254_740_993n,
  tries: 3,
  note: null,
  at,
  told: nasty,
  steps: '[{"a": "\\u001f"}]',
  ...more,
})

const cases: Readonly<Record<string, readonly Thing[]>> = {
  'one row': [thing(1)],
  'one row of nothing': [thing(1, { told: null })],
  'rows that have everything in common': [thing(1), thing(2), thing(3)],
  'rows that have nothing in common': [
    thing(1),
    thing(2, { partnerId: id(9), at: new Date(0), note: '', told: null, steps: '[]' }),
    thing(3, { note: 'NULL', told: '"x"' }),
  ],
  'nothing at first and at last': [thing(1, { told: null }), thing(2, { told: '{}' }), thing(3, { told: null })],
  'one of a group differs': [thing(1), thing(2, { at: new Date(1) })],
  'the same time in two objects': [thing(1), thing(2, { at: new Date(at) })],
}

for (const [what, rows] of Object.entries(cases))
  test(`${what}: each row comes back as it was given`, async () => {
    assert.deepEqual(await db.rows(given(rows)), rows)
  })

test('what is the same in all rows travels once, and each group for itself', () => {
  const sentFor = (rows: readonly Thing[]) => toStatement(given(rows)).values
  assert.deepEqual(sentFor([thing(1), thing(2)]).slice(0, 2), [id(0), null])
  assert.deepEqual(sentFor([thing(1), thing(2, { partnerId: id(9) })]).slice(0, 3), [null, nasty, '[{"a": "\\u001f"}]'])
  const other = thing(2, { partnerId: id(9), note: '', told: '1' })
  assert.deepEqual(sentFor([thing(1), other])[0], [id(0), id(9)])
  assert.equal(toStatement(given([thing(1), thing(2)])).text, toStatement(given([thing(3), thing(4), thing(5)])).text)
})
