/** Whatever goes out as an element of a list comes back as it was. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { createTestDatabase } from '../../../test/support/postgres.ts'
import { createLog } from '../kernel/index.ts'
import { createDatabase, sql } from './index.ts'

const database = await createTestDatabase()
const db = createDatabase({ url: database.url, connectionsMax: 1, log: createLog('silent') })
after(async () => {
  await db.close()
  await database.drop()
})

const back = async <T>(list: readonly T[], type: string) => {
  const statement = {
    parts: ['select x from unnest(', `::${type}[]) with ordinality as l (x, n) order by n`],
    values: [list],
  }
  return (await db.rows<{ x: T }>(statement)).map(({ x }) => x)
}

test('texts, whatever is in them', async () => {
  const text = fc.string({ unit: 'grapheme' }).filter((each) => !each.includes('\u0000') && each.isWellFormed())
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(text, fc.constant(null), fc.constantFrom('NULL', '', '{}', '"', '\\', ', '))),
      async (list) => {
        assert.deepEqual(await back(list, 'text'), list)
      },
    ),
    { numRuns: 200 },
  )
})

test('whole numbers, truths, times and bytes', async () => {
  assert.deepEqual(await back([1n, -(2n ** 63n), null], 'bigint'), [1n, -(2n ** 63n), null])
  assert.deepEqual(await back([1, -7, null], 'integer'), [1, -7, null])
  assert.deepEqual(await back([true, false, null], 'boolean'), [true, false, null])
  const times = [new Date('2026-11-21T12:34:56.789Z'), new Date(0), null]
  assert.deepEqual(await back(times, 'timestamptz'), times)
  const bytes = [Buffer.from([0, 92, 34, 255]), Buffer.alloc(0), null]
  assert.deepEqual(await back(bytes, 'bytea'), bytes)
  const [row] = await db.rows<{ x: Date }>(sql`select ${times[0]}::timestamptz as x`)
  assert.deepEqual(row?.x, times[0])
})

test('an empty list is an empty list', async () => assert.deepEqual(await back([], 'text'), []))
