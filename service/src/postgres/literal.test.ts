/** Elements of arrays are read back unchanged. */
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

const readBack = async <T>(list: readonly T[], type: string) => {
  const statement = {
    parts: ['select element from unnest(', `::${type}[]) with ordinality as list (element, nth) order by nth`],
    values: [list],
  }
  return (await db.rows<{ element: T }>(statement)).map(({ element }) => element)
}

test('texts with any characters are quoted as literals', async () => {
  const text = fc.string({ unit: 'grapheme' }).filter((each) => !each.includes('\u0000') && each.isWellFormed())
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(text, fc.constant(null), fc.constantFrom('NULL', '', '{}', '"', '\\', ', '))),
      async (list) => {
        assert.deepEqual(await readBack(list, 'text'), list)
      },
    ),
    { numRuns: 200 },
  )
})

test('integers, booleans, times and bytes are written as literals', async () => {
  assert.deepEqual(await readBack([1n, -(2n ** 63n), null], 'bigint'), [1n, -(2n ** 63n), null])
  assert.deepEqual(await readBack([1, -7, null], 'integer'), [1, -7, null])
  assert.deepEqual(await readBack([true, false, null], 'boolean'), [true, false, null])
  const times = [new Date('2026-11-21T12:34:56.789Z'), new Date(0), null]
  assert.deepEqual(await readBack(times, 'timestamptz'), times)
  const bytes = [Buffer.from([0, 92, 34, 255]), Buffer.alloc(0), null]
  assert.deepEqual(await readBack(bytes, 'bytea'), bytes)
  const [row] = await db.rows<{ time: Date }>(sql`select ${times[0]}::timestamptz as time`)
  assert.deepEqual(row?.time, times[0])
})

test('an empty array is written as a literal', async () => assert.deepEqual(await readBack([], 'text'), []))
