/** Fields: amounts, cursors, times. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { type FieldErrorCode, type ProblemCode, rawNumber } from '@partner-payments/wire'
import fc from 'fast-check'
import { amountMajorMax, amountText, currencies, type Currency, isFiat, toJsonAmount } from '../money.ts'
import { parseAmount, parseCurrency } from './amounts.ts'
import { Refusal } from './refusal.ts'
import { createCursors } from './writer.ts'
import { newId, randomBytes } from '../ids.ts'
import { AssertionFailure } from '../index.ts'
import { parseTime } from './index.ts'

suite('amounts', () => {
  const currency = fc.constantFrom(...(Object.keys(currencies) as Currency[]))
  const unit = (code: Currency) => 10n ** BigInt(currencies[code].digits)
  const minor = currency.chain((code) =>
    fc.record({ code: fc.constant(code), amount: fc.bigInt({ min: 1n, max: amountMajorMax * unit(code) }) }),
  )
  const read = (text: string, code: Currency = 'EUR') => parseAmount(rawNumber(text), code, '/here')

  function refused(
    work: () => unknown,
    pointer: string,
    code: FieldErrorCode,
    problem: ProblemCode = 'validation_failed',
  ) {
    assert.throws(work, (error) => {
      assert.ok(error instanceof Refusal)
      assert.deepEqual([error.code, error.errors.map((one) => [one.pointer, one.code])], [problem, [[pointer, code]]])
      return true
    })
  }

  test('an amount that is formatted and parsed again is unchanged, in every currency', () => {
    fc.assert(
      fc.property(minor, ({ code, amount }) => {
        assert.equal(parseAmount(toJsonAmount(amount, code), code), amount)
        assert.equal(JSON.stringify(toJsonAmount(amount, code)), amountText(amount, code))
      }),
    )
  })

  test('every JSON spelling of an amount is parsed to the same amount', () => {
    fc.assert(
      fc.property(minor, fc.nat(12), ({ code, amount }, shift) => {
        const { digits } = currencies[code]
        // Moves the decimal point to the left and compensates with the exponent.
        const text = amount.toString().padStart(digits + shift + 1, '0')
        const at = text.length - digits - shift
        assert.equal(read(`${BigInt(text.slice(0, at))}.${text.slice(at)}e${shift}`, code), amount)
      }),
    )
  })

  test('the text of an amount has all digits of its currency, and a sign if it is negative', () => {
    assert.deepEqual(
      [0n, 1n, -1n, 1234n, -100n].map((amount) => amountText(amount, 'EUR')),
      ['0.00', '0.01', '-0.01', '12.34', '-1.00'],
    )
    assert.equal(amountText(1n, 'USDC'), '0.000001')
  })

  test('amounts at the limits are accepted', () => {
    const given: readonly (readonly [string, bigint])[] = [
      ['0.01', 1n],
      ['10000000', 1_000_000_000n],
      ['10000000.00', 1_000_000_000n],
      ['1e7', 1_000_000_000n],
      ['1.5E+1', 1500n],
      ['1e-2', 1n],
      ['0.1', 10n],
    ]
    for (const [text, amount] of given) assert.equal(read(text), amount, text)
    assert.equal(parseAmount(250, 'EUR'), 25_000n)
  })

  test('zero, negative, too large and too precise amounts are refused with their pointer', () => {
    for (const text of ['0', '0.00', '-0', '0e5', '-1', '-0.01', '10000000.01', '1e8', '1e99', '1e999', '1e-999'])
      refused(() => read(text), '/here', text === '1e-999' ? 'too_precise' : 'out_of_range')
    for (const text of ['0.001', '1.000', '12.345', '1e-3', '10.50e-1'])
      refused(() => read(text), '/here', 'too_precise')
    refused(() => read('0.0000001', 'USDC'), '/here', 'too_precise')
    refused(() => parseAmount(-5, 'EUR'), '/amount', 'out_of_range')
  })

  test('an amount with too many characters or too large an exponent is refused', () => {
    refused(() => read(`0.${'0'.repeat(100_000)}1`), '/here', 'out_of_range')
    refused(() => read('1e999999999'), '/here', 'out_of_range')
  })

  test('amounts that a double cannot represent are not rounded', () => {
    assert.equal(read('9999999.99'), 999_999_999n)
    assert.equal(read('9007199.254740', 'USDC'), 9_007_199_254_740n)
    assert.equal(read('0.29'), 29n)
  })

  test('unsupported currencies and codes that are no currency are refused with different codes', () => {
    assert.equal(parseCurrency('EUR'), 'EUR')
    refused(() => parseCurrency('JPY'), '/currency', 'invalid_value', 'currency_not_supported')
    for (const code of ['XXX', 'XTS', 'ABC', 'toString', '__proto__'])
      refused(() => parseCurrency(code, '/it'), '/it', 'invalid_value')
    assert.deepEqual([isFiat('EUR'), isFiat('USDC'), isFiat('constructor')], [true, false, false])
  })
})

suite('cursors', () => {
  const cursors = createCursors(randomBytes(32))
  const rows = Array.from({ length: 7 }, () => ({ id: newId() })).toReversed()
  const refused = (error: unknown) => error instanceof Refusal && error.errors[0]?.pointer === '/query/cursor'

  /** Returns a page as a store does: the rows after the cursor, one more than the limit. */
  const pageAfter = (query: { readonly limit?: string; readonly cursor?: string }) => {
    const request = cursors.read('list', query)
    const rest = rows.filter(({ id }) => request.afterId === null || id < request.afterId)
    return cursors.page('list', request, rest.slice(0, request.limit + 1))
  }

  test('the pages together contain every row once, for every limit', () => {
    for (let limit = 1; limit <= rows.length + 1; limit += 1) {
      const seen: string[] = []
      let page = pageAfter({ limit: String(limit) })
      for (;;) {
        seen.push(...page.data.map(({ id }) => id))
        assert.equal(page.hasMore, page.nextCursor !== null)
        if (page.nextCursor === null) break
        assert.equal(page.data.length, limit)
        page = pageAfter({ limit: String(limit), cursor: page.nextCursor })
      }
      assert.deepEqual(
        seen,
        rows.map(({ id }) => id),
      )
    }
  })

  test('the default limit is 25; an empty list has no cursor', () => {
    assert.deepEqual(cursors.read('list', {}), { limit: 25, afterId: null })
    const empty = { data: [], nextCursor: null, hasMore: false }
    assert.deepEqual(cursors.page('list', { limit: 25, afterId: null }, []), empty)
  })

  test('a cursor of another list or key, or changed or truncated, is refused', () => {
    const cursor = pageAfter({ limit: '2' }).nextCursor ?? ''
    assert.throws(() => cursors.read('other list', { cursor }), refused)
    assert.throws(() => createCursors(randomBytes(32)).read('list', { cursor }), refused)
    const bytes = Buffer.from(cursor, 'base64url')
    for (let at = 0; at < bytes.length; at += 1) {
      const changed = Buffer.from(bytes)
      changed.writeUInt8(changed.readUInt8(at) ^ 1, at)
      assert.throws(() => cursors.read('list', { cursor: changed.toString('base64url') }), refused, `byte ${at}`)
      const cut = bytes.subarray(0, at).toString('base64url')
      assert.throws(() => cursors.read('list', { cursor: cut }), refused, `cut at ${at}`)
    }
  })

  test('a text that is not a cursor is refused', () => {
    fc.assert(fc.property(fc.string(), (cursor) => assert.throws(() => cursors.read('list', { cursor }), refused)))
  })
})

test('every form of an RFC 3339 UTC time is parsed, to the millisecond', () => {
  const cases = [
    { text: '2026-11-22T09:30:00Z', read: '2026-11-22T09:30:00.000Z' },
    { text: '2026-11-22T09:30:00+00:00', read: '2026-11-22T09:30:00.000Z' },
    { text: '2026-11-22T09:30:00-00:00', read: '2026-11-22T09:30:00.000Z' },
    { text: '2026-11-22t09:30:00z', read: '2026-11-22T09:30:00.000Z' },
    { text: '2026-11-22T09:30:00.5Z', read: '2026-11-22T09:30:00.500Z' },
    { text: '2026-11-22T09:30:00.123456+00:00', read: '2026-11-22T09:30:00.123Z' },
    { text: '2026-11-22T09:30:00.999999999Z', read: '2026-11-22T09:30:00.999Z' },
    { text: `2026-11-22T09:30:00.${'7'.repeat(40)}Z`, read: '2026-11-22T09:30:00.777Z' },
    { text: '0001-01-01T00:00:00Z', read: '0001-01-01T00:00:00.000Z' },
    { text: '9999-12-31T23:59:59.999Z', read: '9999-12-31T23:59:59.999Z' },
  ]
  for (const { text, read } of cases) assert.equal(parseTime(text).toISOString(), read, text)
})

test('a text that has not passed the schema throws an AssertionFailure', () => {
  for (const text of ['', 'yesterday', '2026-11-22', '2026-13-01T00:00:00Z'])
    assert.throws(() => parseTime(text), AssertionFailure)
})
