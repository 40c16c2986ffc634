/**
 * Random sequences of quotes, conversions and payouts on a real database: no money is created or lost, and the
 * positions follow from the quotes.
 */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { Refusal } from '../../service/src/kernel/api/index.ts'
import { type Currency, currencies, newId } from '../../service/src/kernel/index.ts'
import { sql } from '../../service/src/postgres/index.ts'
import { ip, pay, type Service, type TestPartner } from '../support/composition.ts'
import { drawing, weighted } from '../support/drawing.ts'
import { useModules } from '../support/fixture.ts'
import { addTrader, convert, quote, withTerms } from '../support/fx.ts'
import { checkLedger } from './ledger-audit.ts'

const service = await useModules()
const other = await service.anotherProcess()

const currency = fc.constantFrom(...(Object.keys(currencies) as Currency[]))
const amount = fc
  .integer({ min: 1, max: 60_000 })
  .map((cents) => `${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, '0')}`)
const step = fc.oneof(
  weighted(1, 'quote', { sell: currency, buy: currency, amount, bySell: fc.boolean(), held: fc.boolean() }),
  weighted(1, 'convert', { pick: fc.nat(100) }),
  weighted(1, 'pay', { amount }),
  weighted(1, 'payInUsd', { pick: fc.nat(100) }),
  weighted(1, 'wait', { seconds: fc.integer({ min: 1, max: 40 }) }),
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

const terms = {
  FX_FEE: new Map([
    ['EUR', { fixed: 3n, basisPoints: 7 }],
    ['USDC', { fixed: 11n, basisPoints: 0 }],
  ] as const),
}
const expected = new Set([
  'insufficient_funds',
  'validation_failed',
  'fx_quote_expired',
  'fx_quote_accepted',
  'beneficiary_currency_mismatch',
  // Payouts in tokens have a separate operation.
  'currency_not_supported',
])

/** Undefined if the step is refused for a reason that a random step may have. */
async function allowed<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    if (error instanceof Refusal && expected.has(error.code)) return undefined
    throw error
  }
}

async function addActor() {
  const partner = await addTrader(service, ['EUR', 'USD', 'USDC'])
  const account = { iban: 'DE89370400440532013000', currency: 'USD' }
  const { id } = await service.beneficiaries.create(partner.partnerId, { ...account, name: 'Grace Hopper' })
  return { partner, inUsd: id, quotes: [] as string[] }
}
type Actor = Awaited<ReturnType<typeof addActor>>

async function take({ partner, inUsd, quotes }: Actor, each: Step): Promise<void> {
  const traded = withTerms(quotes.length % 2 === 0 ? service : other, terms)
  switch (each.kind) {
    case 'quote': {
      const { sell, buy, amount: text, bySell, held } = each
      const given = bySell ? { sellAmount: text } : { buyAmount: text }
      const made = await allowed(quote(traded, partner, { sell, buy, ...given, kind: held ? 'held' : 'firm' }))
      if (made) quotes.push(made.row.id)
      return
    }
    case 'convert':
      if (quotes.length > 0) await allowed(convert(traded, partner, quotes[each.pick % quotes.length] ?? ''))
      return
    case 'pay':
      await allowed(pay(service, partner, each.amount))
      return
    case 'payInUsd': {
      const quoteId = quotes[each.pick % Math.max(1, quotes.length)]
      if (quoteId === undefined) return
      const body = { quoteId, beneficiaryId: inUsd, idempotencyKey: newId() }
      await allowed(service.payouts.createFx(partner.caller, body, ip))
      return
    }
    case 'wait':
      service.clock.advance(each.seconds * 1000)
      other.clock.advance(each.seconds * 1000)
      await service.rates.refreshStep()
  }
}

/** The sum of all accounts of each currency, which is zero. */
const sums = ({ db }: Service, { partnerId }: TestPartner) =>
  db.rows(sql`
    select currency, sum(posted) as posted from ledger.accounts where partner_id = ${partnerId}
    group by currency having sum(posted) <> 0`)

/** Compares the accounts `fx` and `fees` with the accepted quotes. */
async function positions({ db }: Service, { partnerId }: TestPartner) {
  const held = await db.rows<{ account: string; posted: bigint; reserved: bigint }>(sql`
    select name || ' ' || currency as account, posted, reserved from ledger.accounts
    where partner_id = ${partnerId} and name in ('fx', 'fees') and (posted <> 0 or reserved <> 0) order by account`)
  const explained = await db.rows<{ account: string; posted: bigint; reserved: bigint }>(sql`
    select account, sum(case when at_once then amount else 0 end)::bigint as posted,
      sum(case when at_once or amount > 0 then 0 else -amount end)::bigint as reserved
    from (
      select conversion.quote_id is not null as at_once, side.account, side.amount
      from fx.quotes as quote left join fx.conversions as conversion
        on conversion.partner_id = quote.partner_id and conversion.quote_id = quote.id
      cross join lateral (values ('fx ' || sell_currency, sell_amount - fee_amount), ('fees ' || sell_currency, fee_amount),
        ('fx ' || buy_currency, -buy_amount)) as side (account, amount)
      where quote.partner_id = ${partnerId} and quote.accepted_at is not null) as movements
    group by account order by account`)
  return [held, explained.filter(({ posted, reserved }) => posted !== 0n || reserved !== 0n)] as const
}

suite('exchanges', () => {
  test('no money is created or lost by quotes, conversions and payouts in any order, and they explain the positions', async (t) => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (steps) => {
        const actor = await addActor()
        for (const each of steps) await take(actor, each)
        assert.deepEqual(await sums(service, actor.partner), [])
        const [held, explained] = await positions(service, actor.partner)
        assert.deepEqual(held, explained)
        await checkLedger(service.db, actor.partner.partnerId)
      }),
      drawing(t, 25),
    )
  })

  test('each quote is accepted exactly once, even if two processes accept it concurrently', async () => {
    for (let round = 0; round < 8; round += 1) {
      const actor = await addActor()
      const { partner, inUsd } = actor
      const ids = await Promise.all(
        Array.from({ length: 6 }, async () => (await quote(service, partner, { sellAmount: '300.00' })).row.id),
      )
      // The balance of 1,000.00 covers three of the six quotes.
      const outcomes = await Promise.allSettled(
        ids.flatMap((id) => [
          convert(service, partner, id),
          convert(other, partner, id),
          other.payouts.createFx(partner.caller, { quoteId: id, beneficiaryId: inUsd, idempotencyKey: newId() }, ip),
          pay(other, partner, '1.00'),
        ]),
      )
      for (const outcome of outcomes)
        if (outcome.status === 'rejected')
          assert.ok(outcome.reason instanceof Refusal && expected.has(outcome.reason.code), String(outcome.reason))
      const accepted = await service.db.rows(sql`
        select id from fx.quotes where partner_id = ${partner.partnerId} and accepted_at is not null`)
      assert.equal(accepted.length, 3)
      const [held, explained] = await positions(service, partner)
      assert.deepEqual(held, explained)
      assert.deepEqual(await sums(service, partner), [])
      await checkLedger(service.db, partner.partnerId)
    }
  })

  test('exactly one of a conversion and a payout that concurrently accept a quote succeeds', async () => {
    const won = { conversions: 0, payouts: 0 }
    for (let round = 0; round < 12; round += 1) {
      const { partner, inUsd } = await addActor()
      const { row } = await quote(service, partner)
      const body = { quoteId: row.id, beneficiaryId: inUsd, idempotencyKey: newId() }
      const paying = () => other.payouts.createFx(partner.caller, body, ip)
      const converting = () => convert(service, partner, row.id)
      const [first, second] = round % 2 === 0 ? [converting, paying] : [paying, converting]
      const outcomes = await Promise.allSettled([first(), second()])
      const refused = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as unknown] : []))
      assert.equal(refused.length, 1)
      assert.ok(refused[0] instanceof Refusal && refused[0].code === 'fx_quote_accepted', String(refused[0]))
      const { acceptedBy } = (await service.fx.get(partner.partnerId, row.id)).row
      const { row: transaction } = await service.transactions.get(partner.partnerId, acceptedBy ?? '')
      won[transaction.category === 'Conversion' ? 'conversions' : 'payouts'] += 1
      await checkLedger(service.db, partner.partnerId)
    }
    assert.equal(won.conversions + won.payouts, 12)
  })
})
