import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { checkLedger } from '../../../test/model/ledger-audit.ts'
import { addPartner } from '../../../test/support/composition.ts'
import { accountsOf, addTrader, convert, quote, quoteBody, withTerms } from '../../../test/support/fx.ts'
import { useModules } from '../../../test/support/fixture.ts'
import { refused } from '../../../test/support/refusals.ts'
import { Refusal } from '../kernel/api/index.ts'
import { newId } from '../kernel/index.ts'
import { sql } from '../postgres/index.ts'
const service = await useModules()
/** Another process on the same database. */
const other = await service.anotherProcess()
await service.rates.setByHand({ pair: { base: 'EUR', quote: 'USD', rate: { digits: 125n, scale: 2 } } })

suite('quotes', () => {
  test('a quote states both amounts, the mid rate, the rate, the margin and the fee', async () => {
    const partner = await addTrader(service)
    const traded = withTerms(service, { FX_FEE: new Map([['EUR', { fixed: 50n, basisPoints: 10 }]]) })
    const { row, status } = await quote(traded, partner)
    // 100.00 less a fee of 0.50 + 0.10 %, at 1.25 less 0.50 %.
    assert.equal(status, 'Open')
    assert.equal(row.feeAmount, 60n)
    assert.equal(row.midRate, '1.25')
    assert.equal(row.rate, '1.24375')
    assert.equal(row.buyAmount, 12362n)
    assert.equal(row.marginAmount, 12425n - 12362n)
    assert.equal(row.expiresAt.getTime() - row.createdAt.getTime(), 45_000)
  })

  test('a quote for a bought amount sells the smallest amount that buys it', async () => {
    const partner = await addTrader(service)
    const { row } = await quote(service, partner, { buyAmount: '124.37' })
    assert.equal(row.buyAmount, 12437n)
    assert.equal(row.sellAmount, 10000n)
    const { row: less } = await quote(service, partner, { sellAmount: '99.99' })
    assert.ok(less.buyAmount < 12437n)
  })

  test('a held quote is valid for 30 minutes, at a wider margin', async () => {
    const partner = await addTrader(service)
    const { row } = await quote(service, partner, { kind: 'held' })
    assert.equal(row.expiresAt.getTime() - row.createdAt.getTime(), 1_800_000)
    assert.equal(row.marginBasisPoints, 100)
    assert.equal(row.rate, '1.2375')
  })

  test('the margin of a pair applies in one direction', async () => {
    const partner = await addTrader(service)
    const traded = withTerms(service, { FX_MARGIN: { others: 50, pairs: new Map([['EUR/USD', 0]]) } })
    assert.equal((await quote(traded, partner)).row.rate, '1.25')
    assert.equal((await quote(traded, partner, { sell: 'USD', buy: 'EUR' })).row.rate, '0.796')
  })

  test('tokens are exchanged with their own digits', async () => {
    const partner = await addTrader(service)
    const { row } = await quote(service, partner, { buy: 'EURC', sellAmount: '0.01' })
    assert.ok(row.buyAmount > 9_900n && row.buyAmount < 10_000n, String(row.buyAmount))
    await assert.rejects(
      quote(service, partner, { sell: 'EURC', buy: 'EUR', sellAmount: '0.000001' }),
      refused('validation_failed'),
    )
  })

  test('invalid requests are refused with a pointer to the field', async () => {
    const { caller } = await addTrader(service)
    const cases: readonly (readonly [Parameters<typeof quoteBody>[0], string])[] = [
      [{ buy: 'EUR' }, '/buyCurrency'],
      [{ sellAmount: '1', buyAmount: '1' }, '/buyAmount'],
      [{ sellAmount: '0.001' }, '/sellAmount'],
      [{ sellAmount: '0' }, '/sellAmount'],
      [{ buyAmount: '0.001' }, '/buyAmount'],
      [{ sell: 'USD', buy: 'EUR', sellAmount: '0.01' }, '/sellAmount'],
      [{ buyAmount: '10000000', sell: 'USD', buy: 'EUR' }, '/buyAmount'],
      [{ sellAmount: '10000000' }, '/sellAmount'],
      [{ sellAmount: '10000000.01' }, '/sellAmount'],
      [{ customerId: newId() }, '/customerId'],
    ]
    for (const [fields, pointer] of cases)
      await assert.rejects(service.fx.quote(caller, quoteBody(fields)), (error: unknown) => {
        assert.ok(error instanceof Refusal, String(error))
        assert.deepEqual(
          error.errors.map((each) => each.pointer),
          [pointer],
        )
        return true
      })
    const neither = { sellCurrency: 'EUR', buyCurrency: 'USD' }
    await assert.rejects(service.fx.quote(caller, neither), refused('validation_failed'))
    const unknown = { ...quoteBody(), buyCurrency: 'JPY' }
    await assert.rejects(service.fx.quote(caller, unknown), refused('currency_not_supported'))
  })

  test('an idempotency key creates one quote, and is refused for another request', async () => {
    const { caller } = await addTrader(service)
    const [one, two] = await Promise.all([1, 2].map(() => service.fx.quote(caller, quoteBody(), 'quote-1')))
    assert.equal(one?.row.row.id, two?.row.row.id)
    assert.deepEqual([one?.replayed, two?.replayed].toSorted(), [false, true])
    const again = await other.fx.quote(caller, quoteBody(), 'quote-1')
    assert.deepEqual([again.row.row.id, again.replayed], [one?.row.row.id, true])
    await assert.rejects(
      service.fx.quote(caller, quoteBody({ kind: 'held' }), 'quote-1'),
      refused('idempotency_key_reused'),
    )
  })

  test('the rates of a base currency match its quotes', async () => {
    const partner = await addTrader(service)
    const { base, rates } = await service.fx.rates('USD')
    assert.equal(base, 'USD')
    assert.deepEqual(
      rates.map(({ currency }) => currency),
      ['EUR', 'GBP', 'USDC', 'EURC'],
    )
    const { row } = await quote(service, partner, { sell: 'USD', buy: 'EUR' })
    assert.equal(row.midRate, '0.8')
    assert.deepEqual(rates[0]?.midRate, { digits: 8n, scale: 1 })
    await assert.rejects(service.fx.rates('XTS'), refused('validation_failed'))
  })
})

suite('conversions', () => {
  test('a conversion is one entry over the position accounts, and a completed transaction', async () => {
    const partner = await addTrader(service)
    const fees = new Map([['EUR', { fixed: 50n, basisPoints: 0 }]] as const)
    const traded = withTerms(service, { FX_FEE: fees })
    const { row } = await quote(traded, partner, { customerId: partner.customer.id })
    const converted = await convert(traded, partner, row.id, { reference: 'CONV-1' })
    assert.deepEqual(await accountsOf(service, partner), {
      'balance EUR': 90_000n,
      'settlement.sandbox EUR': -100_000n,
      'fx EUR': 9_950n,
      'fees EUR': 50n,
      'balance USD': row.buyAmount,
      'fx USD': -row.buyAmount,
    })
    const { row: found, timeline } = await service.transactions.get(partner.partnerId, 'CONV-1')
    assert.equal(converted.row.reference, 'CONV-1')
    assert.deepEqual(
      [found.category, found.type, found.direction, found.status, found.method, found.partyType],
      ['Conversion', 'Conversion', 'Internal', 'Completed', 'Fiat', 'Customer'],
    )
    assert.deepEqual([found.amount, found.currency], [10_000n, 'EUR'])
    assert.deepEqual([found.userAmount, found.userCurrency], [row.buyAmount, 'USD'])
    assert.deepEqual(found.fxQuoteExpiresAt, row.expiresAt)
    assert.deepEqual(
      timeline.map(({ step, status }) => `${step} ${status}`),
      ['Created Pending', 'Settled Completed', 'Credited Completed'],
    )
    const events = await service.db.rows<{ type: string; data: string }>(sql`
      select type, data from events.events where partner_id = ${partner.partnerId} and reference = 'CONV-1'`)
    assert.deepEqual(
      events.map(({ type }) => type),
      ['transaction.status.changed'],
    )
    assert.match(events[0]?.data ?? '', /"transactionType":"Conversion"/)
    const accepted = await service.fx.get(partner.partnerId, row.id)
    assert.deepEqual([accepted.status, accepted.row.acceptedBy], ['Accepted', 'CONV-1'])
    await checkLedger(service.db, partner.partnerId)
  })

  test('a repeated key gets the first conversion, and another key or another request is refused', async () => {
    const partner = await addTrader(service)
    const { row } = await quote(service, partner)
    const first = await convert(service, partner, row.id, { idempotencyKey: 'c-1' })
    service.clock.advance(50_000)
    const again = await convert(service, partner, row.id, { idempotencyKey: 'c-1' })
    assert.deepEqual(again, { row: again.row, replayed: true })
    assert.equal(again.row.reference, first.row.reference)
    await assert.rejects(convert(service, partner, row.id), (error: unknown) => {
      assert.ok(error instanceof Refusal)
      assert.equal(error.code, 'fx_quote_accepted')
      assert.ok(error.detail.includes(first.row.reference))
      return true
    })
    await service.rates.refreshStep()
    const { row: next } = await quote(service, partner)
    await assert.rejects(
      convert(service, partner, next.id, { idempotencyKey: 'c-1' }),
      refused('idempotency_key_reused'),
    )
    assert.equal((await service.fx.get(partner.partnerId, next.id)).status, 'Open')
  })

  test('a quote is valid until just before its expiry time, and not at that time', async () => {
    const partner = await addTrader(service)
    const { row: one } = await quote(service, partner)
    service.clock.advance(44_999)
    await convert(service, partner, one.id)
    await service.rates.refreshStep()
    const { row: two } = await quote(service, partner)
    service.clock.advance(45_000)
    assert.equal((await service.fx.get(partner.partnerId, two.id)).status, 'Expired')
    await assert.rejects(convert(service, partner, two.id), refused('fx_quote_expired'))
    await service.rates.refreshStep()
  })

  test('a conversion without funds changes nothing, and the quote remains open', async () => {
    const partner = await addPartner(service)
    await service.rates.prepare()
    const { row } = await quote(service, partner)
    await assert.rejects(convert(service, partner, row.id, { idempotencyKey: 'k' }), refused('insufficient_funds'))
    assert.equal((await service.fx.get(partner.partnerId, row.id)).status, 'Open')
    await service.db.transaction((tx) =>
      service.deposits.creditPartner(tx, partner.partnerId, {
        debit: 'settlement.sandbox',
        currency: 'EUR',
        amount: 10_000n,
      }),
    )
    await convert(service, partner, row.id, { idempotencyKey: 'k' })
  })

  test('a reference that is in use is stored as the user reference', async () => {
    const partner = await addTrader(service)
    const ids = await Promise.all(
      [1, 2].map(async () => (await quote(service, partner, { sellAmount: '1.00' })).row.id),
    )
    const made = await Promise.all(ids.map((id) => convert(service, partner, id, { reference: 'SAME' })))
    const references = made.map(({ row }) => row.reference)
    assert.equal(new Set(references).size, 2)
    assert.ok(references.includes('SAME'))
  })
})

suite('races', () => {
  test('of many concurrent conversions of one quote in two processes, exactly one succeeds', async () => {
    for (let round = 0; round < 10; round += 1) {
      const partner = await addTrader(service)
      const { row } = await quote(service, partner)
      const outcomes = await Promise.allSettled(
        Array.from({ length: 8 }, (_, index) => convert(index % 2 === 0 ? service : other, partner, row.id)),
      )
      const won = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value.row.reference] : []))
      assert.equal(won.length, 1)
      for (const outcome of outcomes)
        if (outcome.status === 'rejected')
          assert.ok(
            outcome.reason instanceof Refusal && outcome.reason.detail.includes(won[0] ?? ''),
            String(outcome.reason),
          )
      assert.equal((await accountsOf(service, partner))['balance EUR'], 90_000n)
      await checkLedger(service.db, partner.partnerId)
    }
  })

  test('of many identical requests in two processes, one converts and all get its answer', async () => {
    const partner = await addTrader(service)
    const { row } = await quote(service, partner)
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        convert(index % 2 === 0 ? service : other, partner, row.id, { idempotencyKey: 'equal' }),
      ),
    )
    assert.equal(new Set(answers.map((answer) => answer.row.reference)).size, 1)
    assert.equal(answers.filter(({ replayed }) => !replayed).length, 1)
  })

  test('a conversion waits for another transaction that accepts the quote, and follows its outcome', async () => {
    const partner = await addTrader(service)
    for (const commits of [true, false]) {
      const { row } = await quote(service, partner, { sellAmount: '10.00' })
      const key = { partnerId: partner.partnerId, id: row.id }
      let converting: Promise<unknown> | undefined
      const accepting = other.db.transaction(async (tx) => {
        await other.fx.accept(tx, { ...key, reference: 'PAYOUT-1' })
        converting = convert(service, partner, row.id)
        converting.catch(() => undefined)
        await waitsForLock()
        if (!commits) throw new Error('rolled back')
      })
      if (commits) {
        await accepting
        await assert.rejects(converting ?? Promise.resolve(), refused('fx_quote_accepted'))
      } else {
        await assert.rejects(accepting)
        await converting
      }
    }
  })

  test('a conversion is refused if its quote expires while it waits for the lock', async () => {
    const partner = await addTrader(service)
    const { row } = await quote(service, partner)
    let converting: Promise<unknown> | undefined
    await other.db.transaction(async (tx) => {
      await tx.rows(sql`select id from fx.quotes where partner_id = ${partner.partnerId} and id = ${row.id} for update`)
      converting = convert(service, partner, row.id)
      converting.catch(() => undefined)
      await waitsForLock()
      service.clock.advance(45_000)
    })
    await assert.rejects(converting ?? Promise.resolve(), refused('fx_quote_expired'))
    await service.rates.refreshStep()
  })

  /** Waits until a statement on quotes waits for a lock. */
  async function waitsForLock(): Promise<void> {
    for (;;) {
      const waiting = await service.db.rows(sql`
        select pid from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like '%fx.lockQuotes%'`)
      if (waiting.length > 0) return
    }
  }
})

suite('outdated rates', () => {
  test('quotes are refused while the newest rate sheet is too old', async () => {
    const partner = await addTrader(service)
    await service.rates.refreshStep()
    service.clock.advance(71_000)
    await assert.rejects(quote(service, partner), refused('fx_rates_unavailable'))
    await assert.rejects(service.fx.rates(), refused('fx_rates_unavailable'))
    await service.rates.refreshStep()
    await quote(service, partner)
  })

  test('a valid quote is converted even if the rates have become too old', async () => {
    const partner = await addTrader(service)
    await service.rates.refreshStep()
    const { row } = await quote(service, partner, { kind: 'held' })
    service.clock.advance(1_799_000)
    await assert.rejects(quote(service, partner), refused('fx_rates_unavailable'))
    await convert(service, partner, row.id)
    await service.rates.refreshStep()
  })
})
