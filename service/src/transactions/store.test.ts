/** The list of transactions: plans on many rows, and windows against the plain definition. */
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import fc from 'fast-check'
import { createTestDatabase } from '../../../test/support/postgres.ts'
import { createLog, firstIdOf, hourMs, newId, nilId } from '../kernel/index.ts'
import { createDatabase, sql, type Tx } from '../postgres/index.ts'
import { prefixRange } from './rules.ts'
import {
  listTransactions,
  noFilter,
  sumTransactions,
  type TransactionFilter,
  transactionsChanged,
  findWithdrawals,
} from './store.ts'
import { addPartner } from '../../../test/support/composition.ts'
import { drawing } from '../../../test/support/drawing.ts'
import { discardedRows } from '../../../test/support/plans.ts'
import { untilEnd, useModules } from '../../../test/support/fixture.ts'
import { partReads } from '../deposits/index.ts'
import { windowsByPayers, findOppositeMovements, movementWindows } from './store-patterns.ts'

suite('query plans', async () => {
  const rows = 20_000
  const partnerId = newId()
  const beneficiaryId = '0198f000-0000-7000-8000-000000000000'
  const database = await createTestDatabase()
  const { drop } = database
  const db = untilEnd(createDatabase({ url: database.url, connectionsMax: 2, log: createLog('silent') }))
  const start = new Date('2026-01-01T00:00:00Z')
  await db.run(sql`insert into access.partners (id, name, created_at) values (${partnerId}, 'Many', ${start})`)
  await db.run(sql`
    insert into transactions.transactions (partner_id, id, reference, amount, currency, category, direction, method,
      party_type, type, status, beneficiary_id, idempotency_key, end_to_end_id, user_reference, website_reference, creditor, rail, timeline, created_at,
      updated_at)
    select ${partnerId}::uuid, ('0198e000-0000-7000-8000-' || lpad(to_hex(number), 12, '0'))::uuid, 'r' || number, number, 'EUR',
      'Withdrawal', 'Outward', 'Fiat', 'Partner', 'PartnerWithdraw', 'Completed',
      case when number = 7 then ${beneficiaryId}::uuid else '0198f000-0000-7000-8000-000000000001'::uuid end,
      'k' || number, 'e' || number, case when number % 100 = 0 then 'own' || number when number % 4 = 1 then 'Rent' else 'u' || number end,
      case when number = 7 then 'order 7' when number % 2 = 0 then 'order 8' end,
      case when number % 3 <> 0 then json_build_object('iban', 'DE' || case when number % 2 = 0 then 0 else number end)::text end,
      'Sepa', '[]'::jsonb, ${start}::timestamptz + number * interval '1 second',
      ${start}::timestamptz + number * interval '1 second'
    from generate_series(1, ${rows}::integer) as series (number)`)
  await db.pool.query('analyze transactions.transactions')
  after(() => drop())

  const none = noFilter
  const time = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second))

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
    { references: prefixRange('u1') },
    { references: prefixRange('Ren') },
    { references: prefixRange('Ren'), userReference: 'Rent' },
    { currency: 'GBP' },
    { currency: 'EUR', amountMin: 5n, amountMax: 9n },
    { currency: 'EUR', amountMin: 5n },
    { currency: 'EUR', amountMax: 9n },
    { currency: 'EUR', amountMin: 7n, amountMax: 7n },
    { account: 'DE7' },
    { account: 'DE0' },
    { account: 'DE0', createdTo: time(rows / 2) },
    { account: 'FR7' },
    { websiteReference: 'order 7' },
    { websiteReference: 'order 8' },
    { websiteReference: 'absent' },
    { amounts: [{ currency: 'EUR', amount: 7n }] },
    {
      amounts: [
        { currency: 'EUR', amount: 7n },
        { currency: 'USD', amount: 7n },
        { currency: 'EUR', amount: 9n },
      ],
    },
    { references: prefixRange('r1') },
    { references: prefixRange('r1999') },
    { references: prefixRange('absent') },
    { references: prefixRange('r1'), createdTo: time(2_000) },
  ]
  const asText = (filter: object) =>
    JSON.stringify(filter, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value))
  for (const filter of filters)
    for (const afterId of [null, positionOf(1_500)])
      test(`a page by ${asText(filter)} ${afterId ? 'behind a cursor' : 'from the start'} reads few rows`, async () => {
        const list = (tx: Tx) => listTransactions(tx, partnerId, { ...none, ...filter }, afterId, 26)
        assert.ok((await discardedRows(db, list)) < 200)
      })

  test('sums read no more rows than their limit, and agree with the rows', async () => {
    for (const filter of [
      { account: 'DE0' },
      { currency: 'EUR' as const },
      { createdFrom: time(10) },
      { account: 'DE7' },
    ]) {
      const read = await discardedRows(db, (tx) => sumTransactions(tx, partnerId, { ...none, ...filter }, 501))
      assert.ok(read < 1_600, `${asText(filter)}: ${read} rows`)
      const listed = await listTransactions(db, partnerId, { ...none, ...filter }, null, 501)
      const [sum] = await sumTransactions(db, partnerId, { ...none, ...filter }, 501)
      assert.deepEqual(sum, {
        ...{ direction: 'Outward', currency: 'EUR', count: BigInt(listed.length) },
        amount: listed.reduce((all, { amount }) => all + amount, 0n),
      })
    }
    assert.deepEqual(await sumTransactions(db, partnerId, { ...none, account: 'FR7' }, 501), [])
  })

  test('each filter finds its rows', async () => {
    const found = async (filter: Partial<TransactionFilter>) =>
      (await listTransactions(db, partnerId, { ...none, ...filter }, null, 26)).map(({ reference }) => reference)
    assert.deepEqual(await found({ account: 'DE7' }), ['r7'])
    assert.deepEqual(await found({ websiteReference: 'order 7' }), ['r7'])
    assert.deepEqual(
      await found({
        amounts: [
          { currency: 'EUR', amount: 7n },
          { currency: 'EUR', amount: 9n },
        ],
      }),
      ['r9', 'r7'],
    )
    assert.deepEqual(await found({ amounts: [{ currency: 'USD', amount: 7n }] }), [])
  })

  test('a page of changes reads few rows, from any position', async () => {
    for (const second of [0, 10, rows / 2, rows - 5, rows + 10]) {
      const page = { after: { updatedAt: time(second), id: nilId }, before: time(rows) }
      assert.ok((await discardedRows(db, (tx) => transactionsChanged(tx, partnerId, none, page, 26))) < 200)
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

  test('pages of a filter by time contain each transaction once, newest first', async () => {
    const seen = await pagesOf({ ...none, createdFrom: time(10), createdTo: time(110) })
    assert.deepEqual(
      seen,
      Array.from({ length: 100 }, (_, index) => `r${109 - index}`),
    )
  })

  test('pages of a prefix contain every match once, in the order of code points', async () => {
    const expected = Array.from({ length: rows }, (_, index) => `r${index + 1}`).filter((each) =>
      each.startsWith('r19'),
    )
    assert.deepEqual(await pagesOf({ ...none, references: prefixRange('r19') }), expected.toSorted())
  })

  test('pages of a repeated reference contain every payment once, including the payment whose reference is that text', async () => {
    await db.run(sql`update transactions.transactions set reference = 'Rent'
    where partner_id = ${partnerId} and id = ${positionOf(1)}::uuid`)
    const expected = Array.from({ length: rows }, (_, index) => index + 1)
      .filter((number) => number % 4 === 1)
      .map((number) => (number === 1 ? 'Rent' : `r${number}`))
    assert.deepEqual(await pagesOf({ ...none, userReference: 'Rent' }), expected.toReversed())
    assert.deepEqual((await pagesOf({ ...none, references: prefixRange('Ren') })).toSorted(), expected.toSorted())
    await db.run(sql`update transactions.transactions set reference = 'r1'
    where partner_id = ${partnerId} and id = ${positionOf(1)}::uuid`)
  })

  test('pages of a range of amounts contain each transaction once, the largest amount first', async () => {
    const seen = await pagesOf({ ...none, currency: 'EUR', amountMin: 11n, amountMax: 110n })
    assert.deepEqual(
      seen,
      Array.from({ length: 100 }, (_, index) => `r${110 - index}`),
    )
  })

  suite('search for incoming payments by payer', async () => {
    const payee = newId()
    await db.run(sql`insert into access.partners (id, name, created_at) values (${payee}, 'Paid', ${start})`)
    await db.run(sql`
      insert into transactions.transactions (partner_id, id, reference, amount, currency, category, direction, method, party_type, type, status,
        debtor, timeline, created_at, updated_at)
      select ${payee}::uuid, ('0198e000-0000-7000-8000-' || lpad(to_hex(number), 12, '0'))::uuid, 'p' || number, 1, 'EUR',
        case when number % 10 = 0 then 'Withdrawal' else 'Deposit' end, case when number % 10 = 0 then 'Outward' else 'Inward' end, 'Fiat',
        'Partner', 'PartnerDeposit', 'Completed', json_build_object('accountHolderName', case
          when number = 7 then 'Émile Müller-Lüdenscheidt' when number = 8 then '100% Sure' when number = 9 then 'Prince' when number % 2 = 0 then 'Grace Hopper'
          else 'Person' || number || ' Hoppenstedt' end)::text, '[]'::jsonb, ${start}::timestamptz + number * interval '1 second', ${start}
      from generate_series(1, ${rows}::integer) as series (number)`)
    await db.pool.query('analyze transactions.transactions')
    const found = async (payerName: string, filter: Partial<TransactionFilter> = {}) =>
      (await listTransactions(db, payee, { ...none, payerName, ...filter }, null, 26)).map(({ reference }) => reference)

    test('a name is found by its beginning and by its last word, in any case', async () => {
      // In a database of the locale C, `lower` of PostgreSQL 15 and 16 changes ASCII letters only.
      const locale = await db.row<{ lowers: boolean }>(sql`select lower('É') = 'é' as lowers`)
      const written = ['Émile', 'Émile m', 'Émile Müller-Lüdenscheidt']
      for (const text of locale?.lowers === true ? [...written, 'émile', 'ÉMILE M', 'müller'] : written)
        assert.deepEqual(await found(text), ['p7'], text)
      assert.deepEqual(await found('100%'), ['p8'])
      assert.deepEqual(await found('prince'), ['p9'], 'once, although both begin with it')
      for (const text of ['mile', '%', '_mile', 'uller', 'emile', ''])
        assert.ok(!(await found(text)).includes('p7'), text)
      assert.deepEqual(await found('grace', { createdFrom: time(4), createdTo: time(13) }), ['p12', 'p6', 'p4'])
      assert.deepEqual((await found('HOPPER')).slice(0, 2), ['p19998', 'p19996'], 'the newest payment of a payer first')
    })

    test('pages contain each payment once', async () => {
      const seen: string[] = []
      const filter = { ...none, payerName: 'hopp', createdTo: null }
      for (let afterId: string | null = null; ;) {
        const page: Awaited<ReturnType<typeof listTransactions>> = await listTransactions(
          db,
          payee,
          filter,
          afterId,
          501,
        )
        seen.push(...page.map(({ reference }) => reference))
        afterId = page.at(-1)?.id ?? null
        if (page.length < 501) break
      }
      const expected = Array.from({ length: rows }, (_, index) => index + 1).filter(
        (number) => number % 10 !== 0 && ![7, 8, 9].includes(number),
      )
      assert.deepEqual(seen.toSorted(), expected.map((number) => `p${number}`).toSorted())
    })

    for (const payerName of ['grace', 'hopp', 'person1999', 'absent', 'müller'])
      for (const afterId of [null, positionOf(1_501)])
        test(`a page by ${payerName} ${afterId ? 'behind a cursor' : 'from the start'} reads few rows`, async () => {
          const read = await discardedRows(db, (tx) => listTransactions(tx, payee, { ...none, payerName }, afterId, 26))
          assert.ok(read < 200, `${read} rows`)
        })

    test('sums of a payer read no more rows than their limit', async () => {
      const read = await discardedRows(db, (tx) => sumTransactions(tx, payee, { ...none, payerName: 'grace' }, 501))
      assert.ok(read < 1_600, `${read} rows`)
    })
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
        const read = await discardedRows(db, (tx) => findWithdrawals(tx, partnerId, { ...search, ...period }, 51))
        assert.ok(read <= 20, `${read} rows`)
      })
})

suite('monitoring windows', async () => {
  const service = await useModules()

  /** Few hours, amounts and accounts, so that rows meet at the edges of a window. */
  const movement = fc.record({
    hour: fc.nat(30),
    minor: fc.constantFrom(100n, 90n, 500n, 1000n),
    account: fc.constantFrom('A', 'B', 'C', null),
    isInward: fc.boolean(),
    isCustomer: fc.boolean(),
    isCounted: fc.boolean(),
    /** An amount in dollars is three times that in euros. `exchanged`: outward money is paid for in dollars; inward money has no exchange. */
    form: fc.constantFrom('plain', 'plain', 'exchanged', 'converted'),
  })
  type Moved = (typeof movement extends fc.Arbitrary<infer M> ? M : never) & { readonly id: string }

  const epochMs = Date.parse('2026-01-01T00:00:00Z')

  async function store(rows: readonly Moved[]) {
    const { partnerId, customer } = await addPartner(service)
    const list = rows.map(({ id, hour, minor, account, isInward, isCustomer, isCounted, form }) => ({
      id,
      ...sidesOf({ minor, form, isInward }),
      at: new Date(epochMs + hour * hourMs).toISOString(),
      direction: form === 'converted' ? 'Internal' : isInward ? 'Inward' : 'Outward',
      party: isCustomer ? 'Customer' : 'Partner',
      customer: isCustomer ? customer.id : null,
      status: isCounted ? 'Completed' : isInward ? 'Pending' : 'Cancelled',
      other: account === null || form === 'converted' ? null : JSON.stringify({ iban: account }),
    }))
    await service.db.run(sql`
    insert into transactions.transactions (partner_id, id, reference, amount, currency, category, direction, method, party_type, type, status,
      user_amount, user_currency, customer_id, creditor, debtor, created_at, updated_at, timeline)
    select ${partnerId}, id, id::text, minor, currency, case direction when 'Inward' then 'Deposit' when 'Outward' then 'Withdrawal' else 'Conversion' end, direction, 'Fiat',
      party, party || case direction when 'Inward' then 'Deposit' else 'Withdrawal' end, status, bought, bought_currency, customer, other, other, at, at, '[]'
    from json_to_recordset(${JSON.stringify(list)}::json)
      as made (id uuid, minor bigint, currency text, bought bigint, bought_currency text, at timestamptz, direction text, party text, customer uuid, status text, other text)`)
    return { partnerId, customerId: customer.id }
  }

  /** The columns of amounts, as JSON. */
  function sidesOf({ minor, form, isInward }: Pick<Moved, 'minor' | 'form' | 'isInward'>) {
    const [euros, dollars] = [Number(minor), Number(minor) * 3]
    const isBought = form === 'converted' ? isInward : form === 'exchanged' && !isInward
    if (isBought) return { minor: dollars, currency: 'USD', bought: euros, bought_currency: 'EUR' }
    if (form === 'converted') return { minor: euros, currency: 'EUR', bought: dollars, bought_currency: 'USD' }
    return { minor: euros, currency: 'EUR', bought: null, bought_currency: null }
  }

  /** Reports whether some window of this length with the row, which ends with a counted row, holds what is asked for. */
  const isIn = (
    row: Moved,
    counted: readonly Moved[],
    hours: number,
    holds: (window: readonly Moved[]) => boolean,
  ): boolean =>
    counted.some(
      (end) =>
        end.hour >= row.hour &&
        end.hour <= row.hour + hours &&
        holds(counted.filter(({ hour }) => hour <= end.hour && hour >= end.hour - hours)),
    )

  test('a transaction is found if and only if it is in a window with the count, the sum or the number of payers', async (t) => {
    const given = fc.record({
      isOverAll: fc.boolean(),
      rows: fc.array(movement, { maxLength: 40 }),
      hours: fc.integer({ min: 1, max: 8 }),
      countMin: fc.integer({ min: 1, max: 5 }),
      sumMin: fc.constantFrom(0n, 1000n, 2500n),
    })
    await fc.assert(
      fc.asyncProperty(given, async ({ rows: drawn, hours, countMin, sumMin, isOverAll }) => {
        const rows = drawn.toSorted((a, b) => a.hour - b.hour).map((row) => ({ ...row, id: newId() }))
        const { partnerId, customerId } = await store(rows)
        const ms = hours * hourMs
        const wide = { from: firstIdOf(new Date(0)), to: firstIdOf(new Date('2100-01-01')), sessionsFrom: nilId }
        const rates = [
          { currency: 'EUR', over: 1n, under: 1n },
          { currency: 'USD', over: 1n, under: 3n },
        ] as const
        const measure = { currency: 'EUR', ...(isOverAll ? { rates } : {}) } as const
        for (const isCustomer of [true, false]) {
          const own = rows.filter(
            (row) => row.isCounted && row.isCustomer === isCustomer && !(isOverAll && row.form === 'converted'),
          )
          const inward = own.filter(({ isInward }) => isInward)
          if (own.length === 0) continue
          const around = (list: readonly Moved[]) =>
            list.map(({ id }) => ({ id, customerId: isCustomer ? customerId : null, ...wide }))
          const ids = (found: readonly { readonly id: string }[]) => found.map(({ id }) => id).toSorted()
          if (inward.length > 0) {
            const what = { direction: 'Inward', measure, amountMin: null, amountMax: null, parts: partReads } as const
            const reach = { what, ms, countMin, sumMin }
            const windows = await movementWindows(service.db, partnerId, around(inward), reach)
            const holds = (window: readonly Moved[]) =>
              window.length >= countMin && window.reduce((sum, { minor }) => sum + minor, 0n) >= sumMin
            assert.deepEqual(ids(windows), ids(inward.filter((row) => isIn(row, inward, hours, holds))))
            for (const { count, sum } of windows) assert.ok(count >= BigInt(countMin) && sum >= sumMin)
            const known = inward.filter(({ account, form }) => account !== null && form !== 'converted')
            const payers = await windowsByPayers(service.db, partnerId, around(inward), {
              ...{ what, by: 'account', ms, countMin },
            })
            const pay = (window: readonly Moved[]) => new Set(window.map(({ account }) => account)).size >= countMin
            assert.deepEqual(ids(payers), ids(known.filter((row) => isIn(row, known, hours, pay))))
          }
          const moved = own.map(({ id, hour, minor, account, isInward, form }) => ({
            ...{ id, customerId: isCustomer ? customerId : null, ...wide, amount: minor },
            ...{ account: form === 'converted' ? null : account, createdAt: new Date(epochMs + hour * hourMs) },
            direction: isInward ? ('Inward' as const) : ('Outward' as const),
          }))
          const returns = await findOppositeMovements(service.db, partnerId, moved, {
            measure,
            percent: 90,
            ms,
            parts: partReads,
          })
          const isBack = (row: Moved, back: Moved) =>
            row.account !== null &&
            row.account === back.account &&
            row.form !== 'converted' &&
            back.form !== 'converted' &&
            Math.abs(row.hour - back.hour) <= hours &&
            row.isInward !== back.isInward &&
            back.minor * 100n >= row.minor * 90n &&
            row.minor * 100n >= back.minor * 90n
          assert.deepEqual(ids(returns), ids(own.filter((row) => own.some((back) => isBack(row, back)))))
        }
      }),
      drawing(t, 60),
    )
  })
})
