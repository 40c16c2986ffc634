/** The list on enough rows to show a missing index: PostgreSQL's plan counts the rows that it reads and discards. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createTestDatabase } from '../../../../test/support/postgres.ts'
import { createLog, newId } from '../../kernel/index.ts'
import { createDatabase, type Database, type Sql, sql, toStatement, type Tx } from '../../postgres/index.ts'
import { listTransactions, type TransactionFilter } from './store.ts'

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
      party_type, type, status, beneficiary_id, idempotency_key, timeline, created_at, updated_at)
    select ${partnerId}::uuid, ('0198e000-0000-7000-8000-' || lpad(to_hex(number), 12, '0'))::uuid, 'r' || number, 100, 'EUR',
      'Withdrawal', 'Outward', 'Fiat', 'Partner', 'PartnerWithdraw', 'Completed',
      case when number = 7 then ${beneficiaryId}::uuid else '0198f000-0000-7000-8000-000000000001'::uuid end,
      'k' || number, '[]'::jsonb, ${start}::timestamptz + number * interval '1 second', ${start}::timestamptz
    from generate_series(1, ${rows}::integer) as series (number)`)
  await db.pool.query('analyze transactions.transactions')
})
after(async () => {
  await db.close()
  await drop()
})

const none: TransactionFilter = {
  status: null,
  category: null,
  customerId: null,
  beneficiaryId: null,
  idempotencyKey: null,
  createdFrom: null,
  createdTo: null,
}
const time = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second))

/** How many rows the plan of the list reads and discards. */
async function discardedRows(filter: Partial<TransactionFilter>, afterId: string | null = null): Promise<number> {
  const statements: Sql[] = []
  const tx = { ...db, rows: (statement: Sql) => (statements.push(statement), Promise.resolve([])) } as unknown as Tx
  await listTransactions(tx, partnerId, { ...none, ...filter }, afterId, 26)
  const { text, values } = toStatement(statements[0] ?? sql``)
  const plan = await db.pool.query<Record<'QUERY PLAN', string>>(`explain (analyze) ${text}`, [...values])
  const lines = plan.rows.map((row) => row['QUERY PLAN'])
  return lines.reduce((sum, line) => sum + Number(/Rows Removed by \w+(?: \w+)?: (\d+)/.exec(line)?.[1] ?? 0), 0)
}

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
]
for (const filter of filters)
  test(`a page by ${JSON.stringify(filter)} discards few of the rows that it reads`, async () => {
    assert.ok((await discardedRows(filter)) < 200)
  })

test('pages of a filter by time follow one another', async () => {
  const filter = { ...none, createdFrom: time(10), createdTo: time(110) }
  const seen: string[] = []
  for (let afterId: string | null = null; ;) {
    const page = await listTransactions(db, partnerId, filter, afterId, 26)
    seen.push(...page.map(({ reference }) => reference))
    afterId = page.at(-1)?.id ?? null
    if (page.length < 26) break
  }
  assert.deepEqual(
    seen,
    Array.from({ length: 100 }, (_, index) => `r${109 - index}`),
  )
})
