/** Rates: parsing, age, and the file of the ECB. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { type Currency, hourMs } from '../kernel/index.ts'
import { type Quotes, parseStoredRate, formatRate, parseRate, roundedRate } from './rate.ts'
import {
  sheetAgeMs,
  findImplausibleCurrency,
  findMidRate,
  quotesWithMidRate,
  parseQuotes,
  convertToReference,
  formatQuotes,
} from './service.ts'
import { readEcbSheet, sheetBytesMax } from './configured.ts'

test('a rate is parsed exactly from plain decimal text', () => {
  assert.deepEqual(parseRate('1.0823'), { digits: 10823n, scale: 4 })
  assert.deepEqual(parseRate('0.8532'), { digits: 8532n, scale: 4 })
  assert.deepEqual(parseRate('17000'), { digits: 17000n, scale: 0 })
  assert.deepEqual(parseRate('1000000'), { digits: 1_000_000n, scale: 0 })
  assert.deepEqual(parseRate('0.000001'), { digits: 1n, scale: 6 })
})

test('zero, signs, exponents, NaN and implausible rates are refused', () => {
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
    assert.equal(parseRate(text), undefined, text)
})

test('a formatted rate equals the parsed text', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 1n, max: 10n ** 12n }), fc.integer({ min: 0, max: 10 }), (digits, scale) => {
      assert.deepEqual(parseStoredRate(formatRate({ digits, scale })), { digits, scale })
    }),
  )
})

const positive = fc.bigInt({ min: 1n, max: 10n ** 15n })

test('a rounded rate has the requested digits, and is the nearest such rate', () => {
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
  assert.equal(formatRate(roundedRate(1n, 3n, 8, 'half-even')), '0.33333333')
  assert.equal(formatRate(roundedRate(2n, 3n, 8, 'half-even')), '0.66666667')
  assert.equal(formatRate(roundedRate(2n, 3n, 8, 'down')), '0.66666666')
  assert.equal(formatRate(roundedRate(5n, 4n, 8, 'down')), '1.25')
})

const quotes = {
  USD: { digits: 10823n, scale: 4 },
  GBP: { digits: 8532n, scale: 4 },
  EURC: { digits: 1n, scale: 0 },
}

test('the mid rate of a pair follows from both rates for one euro', () => {
  const text = (sell: 'EUR' | 'USD' | 'GBP', buy: 'EUR' | 'USD' | 'GBP') => {
    const rate = findMidRate(quotes, sell, buy)
    return rate && formatRate(rate)
  }
  assert.equal(text('EUR', 'USD'), '1.0823')
  assert.equal(text('USD', 'EUR'), '0.92395824')
  assert.equal(text('GBP', 'USD'), '1.2685185')
  assert.equal(findMidRate(quotes, 'EUR', 'USDC'), undefined)
})

test('a manually set rate is exactly the mid rate of its pair', () => {
  const rate = fc
    .record({ digits: fc.bigInt({ min: 1n, max: 99_999_999n }), scale: fc.integer({ min: 0, max: 7 }) })
    .map((each) => roundedRate(each.digits, 10n ** BigInt(each.scale), 8, 'half-even'))
  const currency = fc.constantFrom('EUR' as const, 'USD' as const, 'GBP' as const, 'EURC' as const)
  fc.assert(
    fc.property(rate, currency, currency, (wanted, base, quote) => {
      fc.pre(base !== quote)
      const made = { ...quotes, ...quotesWithMidRate(quotes, base, quote, wanted) }
      assert.deepEqual(findMidRate(parseQuotes(formatQuotes(made)), base, quote), wanted)
    }),
  )
  assert.equal(quotesWithMidRate(quotes, 'EUR', 'USDC', { digits: 1n, scale: 0 }), undefined)
})

test('the error for a rate that jumps names its currency', () => {
  const next = { ...quotes, USD: { digits: 108_230n, scale: 4 } }
  assert.equal(findImplausibleCurrency(next, quotes, 20), 'USD')
  assert.equal(findImplausibleCurrency(next, quotes, 900), undefined)
  assert.equal(findImplausibleCurrency({ ...quotes, GBP: { digits: 68n, scale: 2 } }, quotes, 20), 'GBP')
  assert.equal(findImplausibleCurrency(quotes, { GBP: { digits: 85n, scale: 2 } }, 20), undefined)
})

test('an amount is converted to a reference currency: rounded up, with tokens at their own rate or that of the currency they represent', () => {
  const asOf = new Date('2026-11-20T14:00:00Z')
  const at = { now: new Date('2026-11-21T09:00:00Z'), daysMax: 7 }
  const text = (amount: bigint, currency: Currency, reference: Currency = 'EUR', more: Quotes = {}) => {
    const found = convertToReference({ asOf, quotes: { ...quotes, ...more } }, { amount, currency }, reference, at)
    return found && `${found.amount} ${found.currency} at ${found.rate} of ${found.rateOn}`
  }
  assert.equal(text(10_000n, 'GBP'), '11721 EUR at 1.1720581 of 2026-11-20')
  assert.equal(text(1n, 'USD'), '1 EUR at 0.92395824 of 2026-11-20')
  assert.equal(text(0n, 'USD'), '0 EUR at 0.92395824 of 2026-11-20')
  assert.equal(text(1n, 'USDC'), '1 EUR at 0.92395824 of 2026-11-20')
  assert.equal(text(100_000_000n, 'USDC'), '9240 EUR at 0.92395824 of 2026-11-20')
  assert.equal(text(100_000_000n, 'USDC', 'USD'), '10000 USD at 1 of 2026-11-20')
  assert.equal(text(100_000_000n, 'EURC'), '10000 EUR at 1 of 2026-11-20')
  assert.equal(text(100_000_000n, 'USDC', 'EUR', { USDC: parseStoredRate('1.25') }), '8000 EUR at 0.8 of 2026-11-20')
  assert.equal(text(10_000n, 'EUR', 'GBP'), '8532 GBP at 0.8532 of 2026-11-20')
  const { GBP: _GBP, ...without } = quotes
  assert.equal(convertToReference({ asOf, quotes: without }, { amount: 1n, currency: 'GBP' }, 'EUR', at), undefined)
})

const hours = (from: string, to: string, publishes: 'always' | 'target_days' = 'target_days') =>
  sheetAgeMs(new Date(`${from}:00Z`), new Date(`${to}:00Z`), publishes) / hourMs

test('days without ECB rates do not add to the age of a sheet', () => {
  // Friday to Monday.
  assert.equal(hours('2026-11-20T14:00', '2026-11-23T14:00'), 24)
  // Maundy Thursday to the Tuesday after Easter, in three years.
  assert.equal(hours('2026-04-02T14:00', '2026-04-07T14:00'), 24)
  assert.equal(hours('2027-03-25T14:00', '2027-03-30T14:00'), 24)
  assert.equal(hours('2025-04-17T14:00', '2025-04-22T14:00'), 24)
  // 24 December to 29 December: Christmas, and a weekend.
  assert.equal(hours('2025-12-24T14:00', '2025-12-29T14:00'), 24)
  assert.equal(hours('2025-12-31T14:00', '2026-01-02T14:00'), 24)
  assert.equal(hours('2026-04-30T14:00', '2026-05-04T14:00'), 24)
  // Whit Monday is an ordinary day.
  assert.equal(hours('2026-05-22T14:00', '2026-05-25T14:00'), 24)
})

test('every other day adds to the age of a sheet, and so does a part of a day', () => {
  assert.equal(hours('2026-11-17T14:00', '2026-11-18T20:00'), 30)
  assert.equal(hours('2026-11-17T14:00', '2026-11-17T14:30'), 0.5)
  assert.equal(hours('2026-11-20T23:00', '2026-11-21T05:00'), 1)
  assert.equal(hours('2026-11-20T14:00', '2026-11-23T14:00', 'always'), 72)
})

test('the age of a future sheet is zero, and an old sheet has its full age', () => {
  assert.equal(hours('2026-11-17T15:00', '2026-11-17T14:00'), 0)
  assert.equal(hours('1970-01-01T00:00', '1980-01-01T00:00'), 3652 * 24)
})

const now = new Date('2026-11-20T16:00:00Z')

/** Sheet as the bank publishes it. */
const sheet = (
  rates = ['USD 1.0823', 'JPY 162.05', 'GBP 0.8532'],
  time = '2026-11-20',
) => `<?xml version="1.0" encoding="UTF-8"?>
<gesmes:Envelope xmlns:gesmes="http://www.gesmes.org/xml/2002-08-01" xmlns="http://www.ecb.int/vocabulary/2002-08-01/eurofxref">
	<gesmes:subject>Reference rates</gesmes:subject>
	<gesmes:Sender>
		<gesmes:name>European Central Bank</gesmes:name>
	</gesmes:Sender>
	<Cube>
		<Cube time='${time}'>
${rates.map((each) => `			<Cube currency='${each.split(' ')[0]}' rate='${each.split(' ')[1]}'/>`).join('\n')}
		</Cube>
	</Cube>
</gesmes:Envelope>`

test('a sheet has the time of its publication and the rates of our currencies', () => {
  const { asOf, quotes } = readEcbSheet(sheet(), now)
  assert.equal(asOf.toISOString(), '2026-11-20T14:00:00.000Z')
  assert.deepEqual(Object.keys(quotes), ['USD', 'GBP'])
  assert.equal(quotes.USD && formatRate(quotes.USD), '1.0823')
})

test('a currency that the sheet lacks has no rate', () => {
  assert.equal(readEcbSheet(sheet(['USD 1.0823']), now).quotes.GBP, undefined)
})

test('a truncated sheet is refused', () => {
  const text = sheet()
  for (let length = 0; length < text.length; length += 1)
    assert.throws(() => readEcbSheet(text.slice(0, length), now), /no usable sheet of rates/, String(length))
})

suite('a source with implausible rates is refused as a whole', () => {
  const lies: Readonly<Record<string, string>> = {
    'a rate of zero': sheet(['USD 0', 'GBP 0.85']),
    'a negative rate': sheet(['USD -1.08', 'GBP 0.85']),
    'a rate that is not a number': sheet(['USD NaN', 'GBP 0.85']),
    'a rate beyond the range of numbers': sheet(['USD 1e400', 'GBP 0.85']),
    'a rate of an unsupported currency': sheet(['USD 1.08', 'JPY 0']),
    'a currency twice': sheet(['USD 1.08', 'USD 1.09']),
    'a rate without a currency': sheet().replace("currency='USD' ", ''),
    'a currency without a rate': sheet().replace(" rate='1.0823'", ''),
    'no rates': sheet([]),
    'no date': sheet().replace(" time='2026-11-20'", ''),
    'two dates': sheet().replace('<Cube>', "<Cube time='2026-11-19'>"),
    'an invalid date': sheet(undefined, '2026-02-30'),
    'a date in another form': sheet(undefined, '20.11.2026'),
    'a future date': sheet(undefined, '2026-11-22'),
    'a document type': sheet().replace('?>', '?><!DOCTYPE a [<!ENTITY b "c">]>'),
    'an entity': sheet(['USD &b;']),
    'an entity that grows': sheet().replace(
      '?>',
      `?><!DOCTYPE a [<!ENTITY b0 "x">${Array.from({ length: 20 }, (_, at) => `<!ENTITY b${at + 1} "&b${at};&b${at};">`).join('')}]>`,
    ),
    'an error page': '<!doctype html><html><body><h1>503 Service Unavailable</h1></body></html>',
    'a page without a document type': '<html><body>Service unavailable</body></html>',
    'a text': 'Service unavailable',
    nothing: '',
    'content after the sheet': `${sheet()}<Cube/>`,
    JSON: '{"rates":{"USD":1.08}}',
    'too much': sheet(Array.from({ length: 3000 }, () => 'USD 1.08')),
    'too many elements': sheet().replace('<Cube>', `<Cube>${'<a/>'.repeat(600)}`),
    'deep nesting': sheet().replace('<Cube>', `<Cube>${'<a>'.repeat(20)}${'</a>'.repeat(20)}`),
    'a sheet that is too long': `${sheet()}${' '.repeat(sheetBytesMax)}`,
  }
  for (const [name, text] of Object.entries(lies))
    test(name, () => assert.throws(() => readEcbSheet(text, now), /no usable sheet of rates/))
})
