/** The list of audit records: plans on many rows, and filters against the plain definition. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { RecordKind } from '@partner-payments/wire'
import { untilEnd } from '../../../test/support/fixture.ts'
import { createTestDatabase } from '../../../test/support/postgres.ts'
import { createLog, newId, nilId } from '../kernel/index.ts'
import { createDatabase, type Sql, sql, toStatement, type Tx } from '../postgres/index.ts'
import { listRecords, creationRecord, type RecordFilter } from './store.ts'

const rows = 40_000
const partnerId = newId()
const database = await createTestDatabase()
const { drop } = database
const db = untilEnd(createDatabase({ url: database.url, connectionsMax: 2, log: createLog('silent') }))
after(() => drop())

/** Nearly all records are reads by one key. One person does every thousandth, and another person did a single one. */
const kindOf = (number: number): RecordKind => (number % 1000 === 0 ? 'Act' : number % 1000 === 1 ? 'Request' : 'Read')
const actionOf = (number: number) => (kindOf(number) === 'Read' ? 'getCustomer' : 'createBeneficiary')
const actorOf = (number: number) => (number === 77 ? 'rare' : number % 1000 === 0 ? 'ann' : 'key')
const idOf = (number: number) => `0198e000-0000-7000-8000-${number.toString(16).padStart(12, '0')}`
const all = Array.from({ length: rows }, (_, index) => index + 1)

await db.run(sql`
  insert into audit.records (partner_id, id, content)
  select ${partnerId}::uuid, ('0198e000-0000-7000-8000-' || lpad(to_hex(number), 12, '0'))::uuid,
    json_build_object('id', number, 'details', json_build_object('made', number % 1000 = 0))::text
  from generate_series(1, ${rows}::integer) as series (number)`)
await db.run(sql`
  insert into audit.acts (partner_id, record_id, kind, action, actor_id)
  select ${partnerId}::uuid, ('0198e000-0000-7000-8000-' || lpad(to_hex(number), 12, '0'))::uuid,
    case number % 1000 when 0 then 'Act' when 1 then 'Request' else 'Read' end,
    case when number % 1000 < 2 then 'createBeneficiary' else 'getCustomer' end,
    case when number = 77 then 'rare' when number % 1000 = 0 then 'ann' else 'key' end
  from generate_series(1, ${rows}::integer) as series (number)`)
await db.run(sql`
  insert into audit.things (partner_id, thing, record_id)
  select ${partnerId}::uuid, 'b' || number / 1000, ('0198e000-0000-7000-8000-' || lpad(to_hex(number), 12, '0'))::uuid
  from generate_series(1000, ${rows}::integer, 1000) as series (number)`)
await db.run(sql`
  insert into audit.things (partner_id, thing, record_id)
  select ${partnerId}::uuid, 'x' || number, ('0198e000-0000-7000-8000-' || lpad(to_hex(number), 12, '0'))::uuid
  from generate_series(1, ${rows}::integer) as series (number)`)
await db.run(sql`
  insert into audit.subjects (partner_id, subject, record_id)
  select ${partnerId}::uuid, 'c' || number % 2, ('0198e000-0000-7000-8000-' || lpad(to_hex(number), 12, '0'))::uuid
  from generate_series(1, ${rows}::integer) as series (number) where number % 1000 > 1`)
for (const table of ['records', 'acts', 'things', 'subjects']) await db.pool.query(`analyze audit.${table}`)

const none: RecordFilter = { kind: null, actorId: null, action: null, thing: null }
const filters: readonly Partial<RecordFilter>[] = [
  {},
  { kind: 'Act' },
  { kind: 'Read' },
  { kind: 'Request' },
  { actorId: 'ann' },
  { actorId: 'key' },
  { actorId: 'rare' },
  { actorId: 'absent' },
  { action: 'createBeneficiary' },
  { action: 'getCustomer' },
  { kind: 'Act', actorId: 'ann' },
  { kind: 'Act', actorId: 'rare' },
  { kind: 'Act', actorId: 'key' },
  { kind: 'Act', action: 'createBeneficiary' },
  { actorId: 'key', action: 'createBeneficiary' },
  { actorId: 'rare', action: 'createBeneficiary' },
  { kind: 'Act', actorId: 'ann', action: 'createBeneficiary' },
  { thing: 'b7' },
  { thing: 'b7', kind: 'Act', actorId: 'ann' },
  { thing: 'b7', actorId: 'key' },
  { thing: 'absent' },
  { thing: 'c1', kind: 'Read' },
]

/** Counts the rows that the plan reads, including those that it discards. */
async function rowsRead(list: (tx: Tx) => Promise<unknown>): Promise<number> {
  const statements: Sql[] = []
  const keep = (statement: Sql) => (statements.push(statement), Promise.resolve([]))
  await list({ ...db, rows: keep, row: keep } as unknown as Tx)
  const { text, values } = toStatement(statements[0] ?? sql``)
  const plan = await db.pool.query<Record<'QUERY PLAN', string>>(`explain (analyze) ${text}`, [...values])
  return plan.rows
    .map((row) => row['QUERY PLAN'])
    .reduce((sum, line) => {
      const discarded = Number(/Rows Removed by \w+(?: \w+)?: (\d+)/.exec(line)?.[1] ?? 0)
      const [, each = '0', loops = '1'] = /Scan.*actual time=\S+ rows=([\d.]+) loops=(\d+)/.exec(line) ?? []
      return sum + discarded + Number(each) * Number(loops)
    }, 0)
}

for (const filter of filters)
  test(`a page filtered by ${JSON.stringify(filter)} reads few rows and contains the matching records, newest first`, async () => {
    for (const before of [null, idOf(20_500)]) {
      const range = { from: nilId, before }
      const read = await rowsRead((tx) => listRecords(tx, partnerId, range, { ...none, ...filter }, 26))
      assert.ok(read < 300, `${read} rows`)
      const found = await listRecords(db, partnerId, range, { ...none, ...filter }, 26)
      const { kind, actorId, action, thing } = { ...none, ...filter }
      const isAbout = (number: number) =>
        thing === null ||
        (kind === 'Read'
          ? kindOf(number) === 'Read' && thing === `c${number % 2}`
          : number % 1000 === 0 && thing === `b${number / 1000}`)
      const expected = all
        .filter((number) => before === null || number < 20_500)
        .filter((number) => kind === null || kindOf(number) === kind)
        .filter((number) => actorId === null || actorOf(number) === actorId)
        .filter((number) => action === null || actionOf(number) === action)
        .filter(isAbout)
        .toReversed()
        .slice(0, 26)
      assert.deepEqual(
        found.map(({ id }) => id),
        expected.map(idOf),
      )
    }
  })

test('an index finds the creation record of an object', async () => {
  assert.ok((await rowsRead((tx) => creationRecord(tx, partnerId, 'b7'))) < 20)
  assert.equal((await creationRecord(db, partnerId, 'b7'))?.id, idOf(7000))
  assert.equal(await creationRecord(db, partnerId, 'absent'), undefined)
})
