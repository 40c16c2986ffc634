import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { type Currency, currencies } from '../kernel/index.ts'
import { findMidRate, type Rate, parseStoredRate } from '../rates/index.ts'
import {
  exchangeTransfers,
  type CurrencyPair,
  type QuotePrice,
  computePrice,
  rateWithMargin,
  quoteRefusal,
  quoteStatus,
} from './rules.ts'

const currency = fc.constantFrom(...(Object.keys(currencies) as Currency[]))
const pair = fc
  .tuple(currency, currency)
  .filter(([sell, buy]) => sell !== buy)
  .map(([sellCurrency, buyCurrency]): CurrencyPair => ({ sellCurrency, buyCurrency }))
const rate = fc
  .tuple(fc.bigInt({ min: 1n, max: 99_999_999n }), fc.integer({ min: 3, max: 8 }))
  .map(([digits, scale]): Rate => ({ digits, scale }))
const terms = fc.record({
  marginBasisPoints: fc.integer({ min: 0, max: 600 }),
  fee: fc.record({ fixed: fc.bigInt({ min: 0n, max: 500n }), basisPoints: fc.integer({ min: 0, max: 300 }) }),
})
const amount = fc.oneof(fc.bigInt({ min: 1n, max: 1_000n }), fc.bigInt({ min: 1n, max: 1_000_000_000n }))

const isPrice = (price: ReturnType<typeof computePrice>): price is QuotePrice => typeof price === 'object'

suite('rounding', () => {
  test('the rate is at most the mid rate minus the margin, and differs only after its eighth digit', () => {
    fc.assert(
      fc.property(rate, fc.integer({ min: 0, max: 9_998 }), (mid, points) => {
        const { digits, scale } = rateWithMargin(mid, points)
        // digits / 10^scale against mid.digits * (10000 - points) / (10^mid.scale * 10000).
        const [left, right] = [
          digits * 10n ** BigInt(mid.scale) * 10_000n,
          mid.digits * BigInt(10_000 - points) * 10n ** BigInt(scale),
        ]
        assert.ok(left <= right)
        assert.ok((right - left) * 10n ** 7n <= right)
      }),
    )
  })

  test('the bought amount is the exchanged amount at the rate, rounded down by less than one minor unit', () => {
    fc.assert(
      fc.property(pair, amount, rate, terms, (currencyPair, sellAmount, mid, agreed) => {
        const price = computePrice(currencyPair, { sellAmount }, mid, agreed)
        fc.pre(isPrice(price))
        const [over, under] = fraction(price.rate, currencyPair)
        const exchanged = (sellAmount - price.feeAmount) * over
        assert.equal(price.sellAmount, sellAmount)
        assert.ok(price.buyAmount * under <= exchanged)
        assert.ok((price.buyAmount + 1n) * under > exchanged)
        assert.ok(price.marginAmount >= 0n && price.feeAmount >= 0n)
      }),
    )
  })

  test('the sell amount of a requested buy amount is the smallest that buys it', () => {
    fc.assert(
      fc.property(pair, amount, rate, terms, (currencyPair, buyAmount, mid, agreed) => {
        const price = computePrice(currencyPair, { buyAmount }, mid, agreed)
        fc.pre(isPrice(price))
        const again = computePrice(currencyPair, { sellAmount: price.sellAmount }, mid, agreed)
        fc.pre(again !== 'too_large')
        assert.ok(isPrice(again) && again.buyAmount >= buyAmount && again.feeAmount === price.feeAmount)
        const less =
          price.sellAmount > 1n
            ? computePrice(currencyPair, { sellAmount: price.sellAmount - 1n }, mid, agreed)
            : 'too_small'
        assert.ok(!isPrice(less) || less.buyAmount < buyAmount)
        assert.ok(price.marginAmount >= 0n)
      }),
    )
  })

  test('an exchange and its reverse never make a profit, for any terms', () => {
    fc.assert(
      fc.property(pair, amount, rate, rate, terms, (there, sellAmount, one, two, agreed) => {
        const quotes = { USD: one, GBP: two, USDC: one, EURC: parseStoredRate('1.0001') }
        const [mid, backMid] = [midOf(quotes, there), midOf(quotes, reversed(there))]
        const out = computePrice(there, { sellAmount }, mid, agreed)
        fc.pre(isPrice(out))
        const back = computePrice(reversed(there), { sellAmount: out.buyAmount }, backMid, agreed)
        // Both mid rates are rounded to eight digits: without a margin, half a unit of the eighth digit twice.
        const tolerance = agreed.marginBasisPoints === 0 ? sellAmount / 10n ** 7n : 0n
        assert.ok(!isPrice(back) || back.buyAmount <= sellAmount + tolerance, JSON.stringify([out, back], text))
      }),
      { numRuns: 500 },
    )
  })

  test('an amount that buys nothing, or too much, has no price', () => {
    const free = { marginBasisPoints: 0, fee: { fixed: 0n, basisPoints: 0 } }
    const usdToEur: CurrencyPair = { sellCurrency: 'USD', buyCurrency: 'EUR' }
    assert.equal(computePrice(usdToEur, { sellAmount: 1n }, parseStoredRate('0.9'), free), 'too_small')
    const dear = { ...free, fee: { fixed: 100n, basisPoints: 0 } }
    assert.equal(computePrice(usdToEur, { sellAmount: 100n }, parseStoredRate('0.9'), dear), 'too_small')
    assert.equal(computePrice(usdToEur, { sellAmount: 1_000_000_000n }, parseStoredRate('1.1'), free), 'too_large')
    assert.equal(computePrice(usdToEur, { buyAmount: 1_000_000_000n }, parseStoredRate('0.9'), free), 'too_large')
    const price = computePrice(usdToEur, { sellAmount: 1_000_000_000n }, parseStoredRate('1'), free)
    assert.ok(isPrice(price) && price.buyAmount === 1_000_000_000n)
  })
})

const fraction = ({ digits, scale }: Rate, { sellCurrency, buyCurrency }: CurrencyPair) =>
  [
    digits * 10n ** BigInt(currencies[buyCurrency].digits),
    10n ** BigInt(scale + currencies[sellCurrency].digits),
  ] as const
const reversed = ({ sellCurrency, buyCurrency }: CurrencyPair): CurrencyPair => ({
  sellCurrency: buyCurrency,
  buyCurrency: sellCurrency,
})
const midOf = (quotes: Parameters<typeof findMidRate>[0], { sellCurrency, buyCurrency }: CurrencyPair): Rate =>
  findMidRate(quotes, sellCurrency, buyCurrency) ?? parseStoredRate('1')
const text = (_key: string, value: unknown) => (typeof value === 'bigint' ? value.toString() : value)

suite('the state of a quote', () => {
  const expiresAt = new Date('2026-01-01T00:00:45Z')
  const open = { id: 'q', expiresAt, acceptedBy: null }
  const before = new Date(expiresAt.getTime() - 1)

  test('is derived from its acceptance and the time', () => {
    assert.equal(quoteStatus(open, before), 'Open')
    assert.equal(quoteStatus(open, expiresAt), 'Expired')
    assert.equal(quoteStatus({ ...open, acceptedBy: 'X' }, expiresAt), 'Accepted')
    assert.equal(quoteRefusal(open, before), undefined)
    assert.equal(quoteRefusal(open, expiresAt)?.code, 'fx_quote_expired')
    assert.equal(quoteRefusal({ ...open, acceptedBy: 'X' }, before)?.code, 'fx_quote_accepted')
  })
})

test('the transfers of an exchange debit the sold and credit the bought amount over the position accounts', () => {
  const quote = {
    partnerId: 'p',
    sellCurrency: 'EUR',
    buyCurrency: 'USD',
    sellAmount: 100n,
    buyAmount: 120n,
    feeAmount: 1n,
  } as const
  const short = (use: Parameters<typeof exchangeTransfers>[1], fee = 1n) =>
    exchangeTransfers({ ...quote, feeAmount: fee }, use).map(
      ({ kind, debit, credit, currency: of, amount: minor }) => `${kind} ${debit} -> ${credit} ${minor} ${of}`,
    )
  assert.deepEqual(short({ kind: 'direct', creditOfBuy: 'balance', partyId: 'p1' }), [
    'direct balance -> fx 99 EUR',
    'direct balance -> fees 1 EUR',
    'direct fx -> balance 120 USD',
  ])
  assert.deepEqual(short({ kind: 'reserve', creditOfBuy: 'settlement.sandbox', partyId: 'p1' }, 0n), [
    'reserve balance -> fx 100 EUR',
    'reserve fx -> settlement.sandbox 120 USD',
  ])
})
