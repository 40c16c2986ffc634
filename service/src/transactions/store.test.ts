/** The list on enough rows to show a missing index: PostgreSQL's plan counts the rows that it reads and discards. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createTestDatabase } from '../../../test/support/postgres.ts'
import { createLog, newId, nilId } from '../kernel/index.ts'
import { createDatabase, type Database, type Sql, sql, toStatement, type Tx } from '../postgres/index.ts'
import { referencesWith } from './rules.ts'
import { listTransactions, noFilter, type TransactionFilter, transactionsChanged, withdrawalsLike } from './store.ts'

const rows = 20_000
const partnerId = newId()
const beneficiaryId = '0198f000-0000-7000-8000-000000000000'
let db: Database
let drop: () => Promise<void>
before(async () => {
  const database = await createTestDatabase()
  ;({ drop } = database)
  db = createDatabase({ url: database.url, connectionsMax: 2, log: createLog('silent') })
  const start = new Date('2026-01-01T00:00:00Z')
  await db.run(sql`insert into access.partners (id, name, created_at) values (${partnerId}, 'Many', ${start})`)
  await db.run(sql`
    insert into transactions.transactions (partner_id, id, reference, amount, currency, category, direction, method,
      party_type, type, status, beneficiary_id, idempotency_key, end_to_end_id, user_reference, rail, timeline, created_at,
      updated_at)
    select ${partnerId}::uuid, ('0198e000-0000-7000-8000-' || lpad(to_hex(number), 12, '0'))::uuid, 'r' || number, number, 'EUR',
      'Withdrawal', 'Outward', 'Fiat', 'Partner', 'PartnerWithdraw', 'Completed',
      case when number = 7 then ${beneficiaryId}::uuid else '0198f000-0000-7000-8000-000000000001'::uuid end,
      'k' || number, 'e' || number, case when number % 100 = 0 then 'own' || number when number % 4 = 1 then 'Rent' else 'u' || number end, 'Sepa', '[]'::jsonb, ${start}::timestamptz + number * interval '1 second',
      ${start}::timestamptz + number * interval '1 second'
    from generate_series(1, ${rows}::integer) as series (number)`)
  await db.pool.query('analyze transactions.transactions')
})
after(async () => {
  await db.close()
  await drop()
})

const none = noFilter
const time = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second))

/** How many rows the plan of a list reads, and discards or sorts away. */
async function discardedRows(list: (tx: Tx) => Promise<unknown>): Promise<number> {
  const statements: Sql[] = []
  const tx = { ...db, rows: (statement: Sql) => (statements.push(statement), Promise.resolve([])) } as unknown as Tx
  await list(tx)
  const { text, values } = toStatement(statements[0] ?? sql``)
  const plan = await db.pool.query<Record<'QUERY PLAN', string>>(`explain (analyze) ${text}`, [...values])
  const lines = plan.rows.map((row) => row['QUERY PLAN'])
  const discarded = lines.map((line) => Number(/Rows Removed by \w+(?: \w+)?: (\d+)/.exec(line)?.[1] ?? 0))
  const read = lines.map((line) => Number(/Scan.*actual time=\S+ rows=([\d.]+)/.exec(line)?.[1] ?? 0))
  return [...discarded, ...read].reduce((sum, count) => sum + count, 0)
}
const positionOf = (number: number) => `0198e000-0000-7000-8000-${number.toString(16).padStart(12, '0')}`

const filters: readonly Partial<TransactionFilter>[] = [
  { category: 'Conversion' },
  { status: 'Pending' },
  { beneficiaryId },
  { customerId: newId() },
  { idempotencyKey: 'k7' },
  { createdTo: time(5) },
  { createdTo: time(rows / 2) },
  { createdFrom: time(10), createdTo: time(20) },
  { createdFrom: time(rows + 10) },
  { type: 'Conversion' },
  { rail: 'Swift' },
  { endToEndId: 'e7' },
  { userReference: 'u7' },
  { userReference: 'r7' },
  { userReference: 'Rent' },
  { userReference: 'absent' },
  { references: referencesWith('u1') },
  { references: referencesWith('Ren') },
  { references: referencesWith('Ren'), userReference: 'Rent' },
  { currency: 'GBP' },
  { currency: 'EUR', amountMin: 5n, amountMax: 9n },
  { currency: 'EUR', amountMin: 5n },
  { currency: 'EUR', amountMax: 9n },
  { currency: 'EUR', amountMin: 7n, amountMax: 7n },
  { references: referencesWith('r1') },
  { references: referencesWith('r1999') },
  { references: referencesWith('absent') },
  { references: referencesWith('r1'), createdTo: time(2_000) },
]
const asText = (filter: object) =>
  JSON.stringify(filter, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value))
for (const filter of filters)
  for (const afterId of [null, positionOf(1_500)])
    test(`a page by ${asText(filter)} ${afterId ? 'behind a cursor' : 'from the start'} reads few rows`, async () => {
      const list = (tx: Tx) => listTransactions(tx, partnerId, { ...none, ...filter }, afterId, 26)
      assert.ok((await discardedRows(list)) < 200)
    })

test('a page of changes reads few rows, from any position', async () => {
  for (const second of [0, 10, rows / 2, rows - 5, rows + 10]) {
    const page = { after: { updatedAt: time(second), id: nilId }, before: time(rows) }
    assert.ok((await discardedRows((tx) => transactionsChanged(tx, partnerId, none, page, 26))) < 200)
  }
})

/** Every page of a list, and the references of all of them. */
async function pagesOf(filter: TransactionFilter): Promise<readonly string[]> {
  const seen: string[] = []
  for (let afterId: string | null = null; ;) {
    const page = await listTransactions(db, partnerId, filter, afterId, 26)
    seen.push(...page.map(({ reference }) => reference))
    afterId = page.at(-1)?.id ?? null
    if (page.length < 26) return seen
  }
}

test('pages of a filter by time follow one another', async () => {
  const seen = await pagesOf({ ...none, createdFrom: time(10), createdTo: time(110) })
  assert.deepEqual(
    seen,
    Array.from({ length: 100 }, (_, index) => `r${109 - index}`),
  )
})

test('pages of a prefix follow one another in the order of code points, and have every match once', async () => {
  const expected = Array.from({ length: rows }, (_, index) => `r${index + 1}`).filter((each) => each.startsWith('r19'))
  assert.deepEqual(await pagesOf({ ...none, references: referencesWith('r19') }), expected.toSorted())
})

test('pages of a text that a partner uses again have every payment once, also one with the text as its reference', async () => {
  await db.run(sql`update transactions.transactions set reference = 'Rent'
    where partner_id = ${partnerId} and id = ${positionOf(1)}::uuid`)
  const expected = Array.from({ length: rows }, (_, index) => index + 1)
    .filter((number) => number % 4 === 1)
    .map((number) => (number === 1 ? 'Rent' : `r${number}`))
  assert.deepEqual(await pagesOf({ ...none, userReference: 'Rent' }), expected.toReversed())
  assert.deepEqual((await pagesOf({ ...none, references: referencesWith('Ren') })).toSorted(), expected.toSorted())
  await db.run(sql`update transactions.transactions set reference = 'r1'
    where partner_id = ${partnerId} and id = ${positionOf(1)}::uuid`)
})

test('pages of a range of amounts follow one another, the largest first', async () => {
  const seen = await pagesOf({ ...none, currency: 'EUR', amountMin: 11n, amountMax: 110n })
  assert.deepEqual(
    seen,
    Array.from({ length: 100 }, (_, index) => `r${110 - index}`),
  )
})

const amountOf = (amount: bigint) => ({ reference: null, money: { currency: 'EUR', amount } as const })
for (const search of [
  { reference: 'r7', money: null },
  { reference: 'own700', money: null },
  { reference: 'absent', money: null },
  { reference: null, endToEndId: 'absent', money: null },
  amountOf(7n),
  amountOf(0n),
])
  for (const period of [
    { from: null, before: null },
    { from: time(5), before: time(rows) },
  ])
    test(`a search for withdrawals reads few rows: ${asText({ ...search, ...period })}`, async () => {
      const read = await discardedRows((tx) => withdrawalsLike(tx, partnerId, { ...search, ...period }, 51))
      assert.ok(read <= 20, `${read} rows`)
    })
