/** The list with enough rows to reveal a missing index. PostgreSQL's plan counts the rows that it reads and discards. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { createTestDatabase } from '../../../../test/support/postgres.ts'
import { untilEnd } from '../../../../test/support/fixture.ts'
import { createLog, newId } from '../../kernel/index.ts'
import { createDatabase, type Sql, sql, toStatement, type Tx } from '../../postgres/index.ts'
import { type CustomerFilter, list, type ListPosition } from './store.ts'

const rows = 20_000
const partnerId = newId()
const database = await createTestDatabase()
const { drop } = database
const db = untilEnd(createDatabase({ url: database.url, connectionsMax: 2, log: createLog('silent') }))
const start = new Date('2026-01-01T00:00:00Z')
await db.run(sql`insert into access.partners (id, name, created_at) values (${partnerId}, 'Many', ${start})`)
// Changed in the opposite order, so that the oldest customer has the last change.
await db.run(sql`
    insert into customers.customers (partner_id, id, service_id, partner_customer_identifier, email, customer_type, kyc_sealed,
      names_indexed_at, verification_state, verified_at, created_at, updated_at)
    select ${partnerId}::uuid, ('0198e000-0000-7000-8000-' || lpad(to_hex(number), 12, '0'))::uuid,
      'cus_' || lpad(number::text, 16, '0'), 'p' || number, 'c' || number || '@example.com',
      case when number = 7 then 'SoleTrader' else 'Individual' end, '\\x00'::bytea,
      ${start}::timestamptz + interval '1 year', case when number % 4000 = 0 then 'Invalid' else 'Complete' end,
      ${start}::timestamptz + interval '1 year',
      ${start}::timestamptz + number * interval '1 second',
      ${start}::timestamptz + (2 * ${rows}::integer - number) * interval '1 second'
    from generate_series(1, ${rows}::integer) as series (number)`)
// Token 1 is rare, and every second customer has token 2.
await db.run(sql`
    insert into customers.name_tokens (partner_id, token, customer_id)
    select partner_id, 1, id from customers.customers where partner_id = ${partnerId} and customer_type = 'SoleTrader'
    union all select partner_id, 2, id from customers.customers
    where partner_id = ${partnerId} and right(service_id, 1)::integer % 2 = 0`)
await db.pool.query('analyze customers.customers, customers.name_tokens')
after(() => drop())

const time = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second))
const numbersOf = (found: readonly { readonly serviceId: string }[]) =>
  found.map(({ serviceId }) => Number(serviceId.slice(4)))

/** Counts the rows that the plan of the list reads and discards, or sorts. */
async function wastedRows(filter: CustomerFilter, position: ListPosition | null = null): Promise<number> {
  const statements: Sql[] = []
  const tx = { ...db, rows: (statement: Sql) => (statements.push(statement), Promise.resolve([])) } as unknown as Tx
  await list(tx, partnerId, filter, position, 26)
  const { text, values } = toStatement(statements[0] ?? sql``)
  const plan = await db.pool.query<Record<'QUERY PLAN', string>>(`explain (analyze) ${text}`, [...values])
  const lines = plan.rows.map((row) => row['QUERY PLAN'])
  const discarded = lines.map((line) => Number(/Rows Removed by \w+(?: \w+)?: (\d+)/.exec(line)?.[1] ?? 0))
  const read = lines.map((line) => Number(/actual .*rows=(\d+)/.exec(line)?.[1] ?? 0))
  return discarded.reduce((sum, count) => sum + count, 0) + Math.max(...read)
}

const filters: readonly CustomerFilter[] = [
  {},
  { customerType: 'SoleTrader' },
  { customerType: 'Business' },
  { verificationState: 'Complete' },
  { verificationState: 'Invalid' },
  { verificationState: 'Incomplete' },
  { serviceId: 'cus_0000000000000007' },
  { partnerCustomerIdentifier: 'p7' },
  { email: 'C7@example.com' },
  { nameToken: '1' },
  { nameToken: '2' },
  { nameToken: '3' },
  { createdTo: time(5) },
  { createdTo: time(rows / 2) },
  { createdFrom: time(10), createdTo: time(20) },
  { createdFrom: time(rows + 10) },
  { updatedSince: time(0) },
  { updatedSince: time(2 * rows - 10) },
  { updatedSince: time(3 * rows) },
]
for (const filter of filters)
  test(`a page by ${JSON.stringify(filter)} reads only a few further rows`, async () => {
    assert.ok((await wastedRows(filter)) < 200)
  })

test('a page from the middle of a list reads few rows beyond its own, in every sort order', async () => {
  const [middle] = await list(db, partnerId, { serviceId: `cus_${String(rows / 2).padStart(16, '0')}` }, null, 1)
  assert.ok(middle)
  for (const filter of [
    {},
    { verificationState: 'Complete' },
    { nameToken: '2' },
    { createdTo: time(rows) },
    { updatedSince: time(0) },
  ] as const)
    assert.ok((await wastedRows(filter, middle)) < 200, JSON.stringify(filter))
})

test('pages of a filter by change contain each customer once, the latest change first', async () => {
  const filter = { updatedSince: time(2 * rows - 100) }
  const seen: number[] = []
  for (let position: ListPosition | null = null; ;) {
    const page = await list(db, partnerId, filter, position, 26)
    seen.push(...numbersOf(page))
    position = page.at(-1) ?? null
    if (page.length < 26) break
  }
  assert.deepEqual(
    seen,
    Array.from({ length: 100 }, (_, index) => index + 1),
  )
})

test('pages of a filter by name contain each customer once, newest first', async () => {
  const first = await list(db, partnerId, { nameToken: '2' }, null, 3)
  assert.deepEqual(numbersOf(first), [rows, rows - 2, rows - 4])
  assert.deepEqual(numbersOf(await list(db, partnerId, { nameToken: '2' }, first.at(-1) ?? null, 2)), [
    rows - 6,
    rows - 8,
  ])
})
