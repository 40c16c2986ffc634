/** The list with enough rows to reveal a missing index. PostgreSQL's plan counts the rows that it reads and discards. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { createTestDatabase } from '../../../test/support/postgres.ts'
import { untilEnd } from '../../../test/support/fixture.ts'
import { createLog, newId } from '../kernel/index.ts'
import { createDatabase, type Sql, sql, toStatement, type Tx } from '../postgres/index.ts'
import { createDuplicateFinder } from './duplicates.ts'
import { listPayouts, type PayoutFilter, sumPayouts } from './store.ts'

const rows = 20_000
const partnerId = newId()
const customerId = newId()
const database = await createTestDatabase()
const { drop } = database
const db = untilEnd(createDatabase({ url: database.url, connectionsMax: 2, log: createLog('silent') }))
const start = new Date('2026-01-01T00:00:00Z')
await db.run(sql`insert into access.partners (id, name, created_at) values (${partnerId}, 'Many', ${start})`)
await db.run(sql`
    insert into payouts.payouts (partner_id, id, operation, idempotency_key, request_hash, transaction_id, reference,
      reserve_id, customer_id, amount, currency, creditor_name, creditor_account, creditor_country, rail, end_to_end_id,
      ip_address, remittance, status, created_at, updated_at)
    select ${partnerId}::uuid, payout.id, 'createFiatPayout', 'k' || number, '', payout.id, 'r' || number, payout.id,
      case when number % 5000 = 7 then ${customerId}::uuid else '0198f000-0000-7000-8000-000000000001'::uuid end, 100,
      case when number % 5000 = 9 then 'GBP' else 'EUR' end, 'Grace Hopper', '', 'DE', 'Sepa', 'e' || number, '', case when number % 4 = 1 then 'r2' else 'r' || number end, 'Completed',
      ${start}::timestamptz + number * interval '1 second', ${start}::timestamptz
    from generate_series(1, ${rows}::integer) as series (number)
    cross join lateral (select ('0198e000-0000-7000-8000-' || lpad(to_hex(number), 12, '0'))::uuid) as payout (id)`)
await db.pool.query('analyze payouts.payouts')
after(() => drop?.())

const none: PayoutFilter = {
  status: null,
  beneficiaryId: null,
  customerId: null,
  currency: null,
  reference: null,
  idempotencyKey: null,
  createdFrom: null,
  createdTo: null,
}
const time = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second))

/** The plan of the statement that a reader sends, and how many rows it reads and discards. */
async function planOf(
  read: (tx: Tx) => Promise<unknown>,
): Promise<{ readonly plan: string; readonly discarded: number }> {
  const statements: Sql[] = []
  const tx = { ...db, rows: (statement: Sql) => (statements.push(statement), Promise.resolve([])) } as unknown as Tx
  await read(tx)
  const { text, values } = toStatement(statements[0] ?? sql``)
  const plan = await db.pool.query<Record<'QUERY PLAN', string>>(`explain (analyze) ${text}`, [...values])
  const lines = plan.rows.map((row) => row['QUERY PLAN'])
  const removed = lines.map((line) => Number(/Rows Removed by \w+(?: \w+)?: (\d+)/.exec(line)?.[1] ?? 0))
  return { plan: lines.join('\n'), discarded: removed.reduce((sum, count) => sum + count, 0) }
}

const discardedRows = async (filter: Partial<PayoutFilter>, afterId: string | null): Promise<number> =>
  (await planOf((tx) => listPayouts(tx, partnerId, { ...none, ...filter }, afterId, 26))).discarded

const references = async (filter: Partial<PayoutFilter>) =>
  (await listPayouts(db, partnerId, { ...none, ...filter }, null, 26)).map(({ reference }) => reference)

const filters: readonly Partial<PayoutFilter>[] = [
  { status: 'Pending' },
  { reference: { text: 'r7', endToEndId: 'e7' } },
  { reference: { text: 'r2', endToEndId: 'e2' } },
  { reference: { text: 'r2', endToEndId: 'e2' }, createdTo: time(rows / 2) },
  { reference: { text: 'absent', endToEndId: null } },
  { customerId },
  { customerId: newId() },
  { currency: 'GBP' },
  { currency: 'USD' },
  { idempotencyKey: 'k7' },
  { createdTo: time(5) },
  { createdTo: time(rows / 2) },
  { createdFrom: time(10), createdTo: time(20) },
  { createdFrom: time(rows + 10) },
]
for (const filter of filters)
  test(`a page by ${JSON.stringify(filter)} discards few of the rows that it reads`, async () => {
    for (const afterId of [null, '0198e000-0000-7000-8000-000000003000'])
      assert.ok((await discardedRows(filter, afterId)) < 200)
  })

test('possible duplicates are read by account and amount, and of many equal payments the newest', async () => {
  // Every row has this account and this amount.
  const candidate = { account: '', amount: 100n, currency: 'EUR', reference: 'none has it' } as const
  const ask = (amount: bigint) =>
    planOf((tx) =>
      createDuplicateFinder({ duplicateDays: 0, scheduledPayouts: async () => [] })(
        tx,
        partnerId,
        [{ ...candidate, amount }],
        time(rows),
      ),
    )
  const [other, equal] = [await ask(101n), await ask(100n)]
  for (const { plan } of [other, equal]) assert.match(plan, /payouts_by_account/)
  assert.equal(other.discarded, 0)
  assert.ok(equal.discarded <= 1_000, String(equal.discarded))
})

test('each filter finds its payouts, newest first', async () => {
  assert.deepEqual(await references({ reference: { text: 'r7', endToEndId: 'e7' } }), ['r7'])
  const used = { text: 'r2', endToEndId: 'e2' }
  assert.deepEqual(await references({ reference: used, createdTo: time(10) }), ['r9', 'r5', 'r2', 'r1'])
  assert.deepEqual(await references({ reference: { text: 'absent', endToEndId: null } }), [])
  assert.deepEqual(await references({ customerId }), ['r15007', 'r10007', 'r5007', 'r7'])
  assert.deepEqual(await references({ currency: 'GBP', createdTo: time(10_009) }), ['r5009', 'r9'])
  assert.deepEqual(await references({ createdFrom: time(10), createdTo: time(13) }), ['r12', 'r11', 'r10'])
})

test('sums agree with the rows, up to the limit of rows', async () => {
  assert.deepEqual(await sumPayouts(db, partnerId, { ...none, currency: 'GBP' }, 501), [
    { currency: 'GBP', count: 4n, amount: 400n },
  ])
  assert.deepEqual(await sumPayouts(db, partnerId, { ...none, createdFrom: time(1) }, 501), [
    { currency: 'EUR', count: 501n, amount: 50_100n },
  ])
  assert.deepEqual(await sumPayouts(db, partnerId, { ...none, currency: 'USD' }, 501), [])
})

test('pages of a filter by time contain each payout once, newest first', async () => {
  const filter = { ...none, createdFrom: time(10), createdTo: time(110) }
  const seen: string[] = []
  for (let afterId: string | null = null; ;) {
    const page = await listPayouts(db, partnerId, filter, afterId, 26)
    seen.push(...page.map(({ reference }) => reference))
    afterId = page.at(-1)?.id ?? null
    if (page.length < 26) break
  }
  assert.deepEqual(
    seen,
    Array.from({ length: 100 }, (_, index) => `r${109 - index}`),
  )
})
