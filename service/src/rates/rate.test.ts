import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Currency } from '../kernel/index.ts'
import type { Quotes } from './port.ts'
import { rateOf, rateText, readRate, roundedRate } from './rate.ts'
import { implausibleIn, midRateOf, quotesByHand, readQuotes, referenceAmount, writeQuotes } from './service.ts'

test('a rate is read from plain decimal text, exactly', () => {
  assert.deepEqual(readRate('1.0823'), { digits: 10823n, scale: 4 })
  assert.deepEqual(readRate('0.8532'), { digits: 8532n, scale: 4 })
  assert.deepEqual(readRate('17000'), { digits: 17000n, scale: 0 })
  assert.deepEqual(readRate('1000000'), { digits: 1_000_000n, scale: 0 })
  assert.deepEqual(readRate('0.000001'), { digits: 1n, scale: 6 })
})

test('what is no rate is refused: zero, signs, exponents, names of no number, and what no currency is worth', () => {
  for (const text of [
    '',
    '0',
    '0.000',
    '-1.1',
    '+1.1',
    'NaN',
    'Infinity',
    '1e400',
    '1e1',
    '1,08',
    '.5',
    '1.',
    ' 1.1',
    '0x10',
    '1000000.1',
    '0.0000009',
    '9'.repeat(400),
    `1.${'0'.repeat(40)}1`,
    '１.１',
  ])
    assert.equal(readRate(text), undefined, text)
})

test('a rate is written as it is read', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 1n, max: 10n ** 12n }), fc.integer({ min: 0, max: 10 }), (digits, scale) => {
      assert.deepEqual(rateOf(rateText({ digits, scale })), { digits, scale })
    }),
  )
})

const positive = fc.bigInt({ min: 1n, max: 10n ** 15n })

test('a rounded rate has the digits that were asked for, and is as near as they allow', () => {
  fc.assert(
    fc.property(positive, positive, fc.constantFrom('down' as const, 'half-even' as const), (over, under, rounding) => {
      const { digits, scale } = roundedRate(over, under, 8, rounding)
      const unit = 10n ** BigInt(scale)
      // |digits / unit - over / under| <= half of a unit of the eighth digit, or a whole one below.
      const difference = digits * under - over * unit
      const size = (difference < 0n ? -difference : difference) * 10n ** 8n
      if (rounding === 'down') assert.ok(difference <= 0n)
      assert.ok(size * (rounding === 'down' ? 1n : 2n) <= over * unit * 10n + 10n ** 8n)
      assert.ok(digits % 10n !== 0n || scale === 0)
    }),
  )
  assert.equal(rateText(roundedRate(1n, 3n, 8, 'half-even')), '0.33333333')
  assert.equal(rateText(roundedRate(2n, 3n, 8, 'half-even')), '0.66666667')
  assert.equal(rateText(roundedRate(2n, 3n, 8, 'down')), '0.66666666')
  assert.equal(rateText(roundedRate(5n, 4n, 8, 'down')), '1.25')
})

const quotes = {
  USD: { digits: 10823n, scale: 4 },
  GBP: { digits: 8532n, scale: 4 },
  EURC: { digits: 1n, scale: 0 },
}

test('the mid rate of a pair follows from both rates for one euro', () => {
  const text = (sell: 'EUR' | 'USD' | 'GBP', buy: 'EUR' | 'USD' | 'GBP') => {
    const rate = midRateOf(quotes, sell, buy)
    return rate && rateText(rate)
  }
  assert.equal(text('EUR', 'USD'), '1.0823')
  assert.equal(text('USD', 'EUR'), '0.92395824')
  assert.equal(text('GBP', 'USD'), '1.2685185')
  assert.equal(midRateOf(quotes, 'EUR', 'USDC'), undefined)
})

test('a rate that is set by hand is exactly the mid rate of its pair', () => {
  const rate = fc
    .record({ digits: fc.bigInt({ min: 1n, max: 99_999_999n }), scale: fc.integer({ min: 0, max: 7 }) })
    .map((each) => roundedRate(each.digits, 10n ** BigInt(each.scale), 8, 'half-even'))
  const currency = fc.constantFrom('EUR' as const, 'USD' as const, 'GBP' as const, 'EURC' as const)
  fc.assert(
    fc.property(rate, currency, currency, (wanted, base, quote) => {
      fc.pre(base !== quote)
      const made = { ...quotes, ...quotesByHand(quotes, base, quote, wanted) }
      assert.deepEqual(midRateOf(readQuotes(writeQuotes(made)), base, quote), wanted)
    }),
  )
  assert.equal(quotesByHand(quotes, 'EUR', 'USDC', { digits: 1n, scale: 0 }), undefined)
})

test('a rate that jumps names its currency', () => {
  const next = { ...quotes, USD: { digits: 108_230n, scale: 4 } }
  assert.equal(implausibleIn(next, quotes, 20), 'USD')
  assert.equal(implausibleIn(next, quotes, 900), undefined)
  assert.equal(implausibleIn({ ...quotes, GBP: { digits: 68n, scale: 2 } }, quotes, 20), 'GBP')
  assert.equal(implausibleIn(quotes, { GBP: { digits: 85n, scale: 2 } }, 20), undefined)
})

test('an amount is counted in a reference currency: rounded up, tokens by their rate or as the currency they stand for', () => {
  const asOf = new Date('2026-11-20T14:00:00Z')
  const at = { now: new Date('2026-11-21T09:00:00Z'), daysMax: 7 }
  const text = (amount: bigint, currency: Currency, reference: Currency = 'EUR', more: Quotes = {}) => {
    const found = referenceAmount({ asOf, quotes: { ...quotes, ...more } }, { amount, currency }, reference, at)
    return found && `${found.amount} ${found.currency} at ${found.rate} of ${found.rateOn}`
  }
  assert.equal(text(10_000n, 'GBP'), '11721 EUR at 1.1720581 of 2026-11-20')
  assert.equal(text(1n, 'USD'), '1 EUR at 0.92395824 of 2026-11-20')
  assert.equal(text(0n, 'USD'), '0 EUR at 0.92395824 of 2026-11-20')
  assert.equal(text(1n, 'USDC'), '1 EUR at 0.92395824 of 2026-11-20')
  assert.equal(text(100_000_000n, 'USDC'), '9240 EUR at 0.92395824 of 2026-11-20')
  assert.equal(text(100_000_000n, 'USDC', 'USD'), '10000 USD at 1 of 2026-11-20')
  assert.equal(text(100_000_000n, 'EURC'), '10000 EUR at 1 of 2026-11-20')
  assert.equal(text(100_000_000n, 'USDC', 'EUR', { USDC: rateOf('1.25') }), '8000 EUR at 0.8 of 2026-11-20')
  assert.equal(text(10_000n, 'EUR', 'GBP'), '8532 GBP at 0.8532 of 2026-11-20')
  const { GBP: _GBP, ...without } = quotes
  assert.equal(referenceAmount({ asOf, quotes: without }, { amount: 1n, currency: 'GBP' }, 'EUR', at), undefined)
})
