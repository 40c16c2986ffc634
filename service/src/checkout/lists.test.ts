/** The list of sessions and its sums: filters and pages on a real service, and plans on many rows. */
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import { createSessions, type OpenedSession } from '../../../test/support/checkout.ts'
import { addPartner, ip } from '../../../test/support/composition.ts'
import { untilEnd, useModules } from '../../../test/support/fixture.ts'
import { discardedRows } from '../../../test/support/plans.ts'
import { createTestDatabase } from '../../../test/support/postgres.ts'
import { createLog, newId } from '../kernel/index.ts'
import { createDatabase, sql } from '../postgres/index.ts'
import { depositStatusesOf } from './rules.ts'
import { listSessions, type SessionFilter, sumSessions } from './store.ts'

suite('lists of sessions', async () => {
  const service = await useModules()
  const { checkout } = service
  const { open, settle } = createSessions(() => service)
  const credit = ({ partner, session }: OpenedSession, amount?: string) =>
    checkout.simulate(
      partner.partnerId,
      session.id,
      { step: 'credit', ...(amount !== undefined && { amount: rawNumber(amount) }) },
      ip,
    )
  const partner = await addPartner(service)
  const { partnerId, customer } = partner
  type Query = Parameters<typeof checkout.list>[1]
  const found = async (query: Query, all: readonly OpenedSession[]) => {
    const { data } = await checkout.list(partnerId, query)
    return data.map(({ id }) => all.findIndex(({ session }) => session.id === id))
  }
  const sums = async (query: Query = {}) => {
    const { data, capped } = await checkout.sums(partnerId, query)
    assert.equal(capped, false)
    return data.map(({ currency, count, amount }) => [currency, Number(count), amount])
  }

  // 0 is open, 1 has a part, 2 is with the bank, 3 is paid twice, 4 is paid, 5 ended and money came later, 6 failed, 7 is open in dollars.
  const all: OpenedSession[] = []
  for (let made = 0; made < 7; made += 1) all.push(await open(made === 1 ? { partialPayments: true } : {}, partner))
  all.push(await open({ currency: 'USD' }, partner))
  const at = (index: number): OpenedSession => all[index] ?? assert.fail()
  await credit(at(1), '20.00')
  await checkout.simulate(partnerId, at(2).session.id, { outcome: 'abandoned' }, ip)
  for (const paid of [3, 4]) await credit(at(paid))
  await settle()
  await credit(at(3))
  await checkout.expire(partnerId, at(5).session.id)
  for (let times = 0; times < 3; times += 1) await credit(at(5))
  await checkout.simulate(partnerId, at(6).session.id, { outcome: 'failed' }, ip)
  await settle()

  test('each filter returns its sessions, newest first, and filters can be combined', async () => {
    assert.deepEqual(await found({}, all), [7, 6, 5, 4, 3, 2, 1, 0])
    assert.deepEqual(await found({ status: 'Open' }, all), [7, 1, 0])
    assert.deepEqual(await found({ status: 'Processing' }, all), [2])
    assert.deepEqual(await found({ status: 'Completed' }, all), [4, 3])
    assert.deepEqual(await found({ status: 'Failed' }, all), [6])
    assert.deepEqual(await found({ status: 'Expired' }, all), [5])
    assert.deepEqual(await found({ hasLatePayments: 'true' }, all), [5, 3])
    assert.deepEqual(await found({ hasLatePayments: 'false' }, all), [7, 6, 4, 2, 1, 0])
    assert.deepEqual(await found({ hasLatePayments: 'true', status: 'Completed' }, all), [3])
    assert.deepEqual(await found({ hasLatePayments: 'false', status: 'Completed', customerId: customer.id }, all), [4])
    assert.deepEqual(await found({ status: 'Open', creditorReference: at(1).session.creditorReference }, all), [1])
    assert.deepEqual(await found({ status: 'Open', linkId: newId() }, all), [])
    const other = await addPartner(service)
    assert.deepEqual((await checkout.list(other.partnerId, { hasLatePayments: 'true' })).data, [])
  })

  test('the pages of each filter together contain each session exactly once, in order', async () => {
    for (const query of [
      {},
      { status: 'Open' },
      { hasLatePayments: 'true' },
      { createdFrom: '2000-01-01T00:00:00Z' },
    ] as const) {
      const whole = (await checkout.list(partnerId, query)).data.map(({ id }) => id)
      const seen: string[] = []
      for (let cursor: string | null | undefined; cursor !== null;) {
        const page: Awaited<ReturnType<typeof checkout.list>> = await checkout.list(partnerId, {
          ...{ ...query, limit: '1' },
          ...(cursor && { cursor }),
        })
        seen.push(...page.data.map(({ id }) => id))
        cursor = page.nextCursor
      }
      assert.deepEqual(seen, whole, JSON.stringify(query))
    }
  })

  test('sums by currency agree with the list, and an unknown customer has no sums', async () => {
    assert.deepEqual(await sums(), [
      ['EUR', 7, 7n * 4990n],
      ['USD', 1, 4990n],
    ])
    assert.deepEqual(await sums({ status: 'Completed' }), [['EUR', 2, 2n * 4990n]])
    assert.deepEqual(await sums({ hasLatePayments: 'true' }), [['EUR', 2, 2n * 4990n]])
    assert.deepEqual(await sums({ customerId: newId() }), [])
  })
})

suite('query plans of session lists', async () => {
  const rows = 20_000
  const partnerId = newId()
  const database = await createTestDatabase()
  const db = untilEnd(createDatabase({ url: database.url, connectionsMax: 2, log: createLog('silent') }))
  after(() => database.drop())
  const start = new Date('2026-01-01T00:00:00Z')
  const customerOf = (number: number) => `0198f000-0000-7000-8000-${number.toString(16).padStart(12, '0')}`
  const idOf = (number: number) => `0198e000-0000-7000-8000-${number.toString(16).padStart(12, '0')}`
  await db.run(sql`insert into access.partners (id, name, created_at) values (${partnerId}, 'Many', ${start})`)
  const ids = sql`('0198e000-0000-7000-8000-' || lpad(to_hex(number), 12, '0'))::uuid`
  const status = sql`case when number = 9 then 'Failed' when number % 100 = 0 then 'Created' when number % 101 = 0 then 'PartiallyPaid'
    when number % 3 = 0 then 'Expired' else 'Completed' end`
  await db.run(sql`
    insert into deposits.deposits (partner_id, id, operation, request_hash, transaction_id, reference, amount, currency, status, session_id,
      end_to_end_id, payment_method, payment_country, ip_address, expiry_date, created_at, updated_at)
    select ${partnerId}::uuid, ${ids}, 'createCheckoutSession', '', ${ids}, 'd' || number, 100, 'EUR', ${status}, ${ids}::text, '', 'SepaCreditTransfer',
      '', '', ${start}, ${start}, ${start} from generate_series(1, ${rows}::integer) as series (number)`)
  await db.run(sql`
    insert into checkout.sessions (partner_id, id, deposit_id, customer_id, token_hash, token_sealed, creditor_reference, payee, iban, created_at)
    select ${partnerId}::uuid, ${ids}, ${ids}, ('0198f000-0000-7000-8000-' || lpad(to_hex(number % 50), 12, '0'))::uuid,
      sha256(number::text::bytea), '', 'RF18' || lpad(number::text, 10, '0'), 'Shop', 'DE', ${start}::timestamptz + number * interval '1 second'
    from generate_series(1, ${rows}::integer) as series (number)`)
  await db.run(sql`
    insert into checkout.late_payments (partner_id, id, session_id, reason, currency, amount, received_at, choose_by)
    select ${partnerId}::uuid, gen_random_uuid(), ${ids}, 'AfterEnd', 'EUR', 1, ${start}, ${start}
    from generate_series(1, ${rows}::integer) as series (number), generate_series(1, 2) where number % 20 = 0`)
  await db.pool.query('analyze deposits.deposits, checkout.sessions, checkout.late_payments')
  const none: SessionFilter = {
    ...{ customerId: null, creditorReference: null, linkId: null, statuses: null, hasLate: null },
    ...{ createdFrom: null, createdTo: null },
  }
  const time = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second))
  const filters: readonly Partial<SessionFilter>[] = [
    {},
    { statuses: depositStatusesOf('Failed') },
    { statuses: depositStatusesOf('Open') },
    { statuses: depositStatusesOf('Processing') },
    { statuses: depositStatusesOf('Completed') },
    { hasLate: true },
    { hasLate: false },
    { customerId: customerOf(7) },
    { creditorReference: 'RF180000000007' },
    { createdFrom: time(10), createdTo: time(20) },
    { createdTo: time(rows / 2) },
    { hasLate: true, statuses: depositStatusesOf('Open') },
  ]
  for (const filter of filters)
    for (const afterId of [null, idOf(1_500)])
      test(`a page by ${JSON.stringify(filter)} ${afterId ? 'behind a cursor' : 'from the start'} reads few rows`, async () => {
        const request = { limit: 25, afterId }
        const read = await discardedRows(db, (tx) => listSessions(tx, partnerId, { ...none, ...filter }, request))
        // Of two filters PostgreSQL reads the one with fewer rows.
        assert.ok(read < (Object.keys(filter).length > 1 && !('createdTo' in filter) ? 5_000 : 200), `${read} rows`)
      })

  test('sums read no more rows than their limit', async () => {
    for (const filter of [{}, { statuses: depositStatusesOf('Open') }, { hasLate: true }, { createdFrom: time(10) }]) {
      const read = await discardedRows(db, (tx) => sumSessions(tx, partnerId, { ...none, ...filter }, 51))
      assert.ok(read < 400, `${JSON.stringify(filter)}: ${read} rows`)
    }
  })
})
